import { describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox.ts'
import { useSandboxes } from './helpers.ts'

const start = useSandboxes()
const origin = 'https://app.example'

const ask = (sandbox: Sandbox, from = origin) => fetch(`${sandbox.url}/api/oauth/v1/me`, { headers: { origin: from } })
const preflight = (sandbox: Sandbox) =>
  fetch(`${sandbox.url}/api/oauth/v1/contacts`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
  })

describe('CORS', () => {
  test('lets any origin read responses, including errors', async () => {
    const response = await ask(await start())
    expect(response.status).toBe(401)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-expose-headers')).toBe('retry-after, x-request-id')
  })

  test('allows a token and JSON in a preflight', async () => {
    const response = await preflight(await start())
    expect(response.status).toBe(204)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': 'authorization, content-type',
    })
  })

  test('lets pages read injected faults, which preflights do not use up', async () => {
    const sandbox = await start()
    sandbox.failNext({ status: 429, retryAfter: 1 })
    expect((await preflight(sandbox)).status).toBe(204)
    const response = await ask(sandbox)
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([429, '*'])
  })

  test('applies a fault for OPTIONS to a preflight', async () => {
    const sandbox = await start()
    sandbox.faults.add({ status: 500, method: 'OPTIONS' })
    expect((await preflight(sandbox)).status).toBe(500)
  })

  test('lets only the listed origins read responses', async () => {
    const sandbox = await start({ cors: [origin] })
    const listed = await ask(sandbox)
    expect(listed.headers.get('access-control-allow-origin')).toBe(origin)
    expect(listed.headers.get('vary')).toBe('Origin')
    const other = await ask(sandbox, 'https://other.example')
    expect(other.headers.has('access-control-allow-origin')).toBe(false)
    expect(other.headers.get('vary')).toBe('Origin')
  })

  test('sends no CORS headers if CORS is off', async () => {
    const sandbox = await start({ cors: false })
    expect((await ask(sandbox)).headers.has('access-control-allow-origin')).toBe(false)
    expect((await preflight(sandbox)).status).toBe(405)
  })
})

test.each([{ origin }, { 'access-control-request-method': 'POST' }])(
  'does not treat an OPTIONS request with only %j as a preflight',
  async (headers) => {
    const sandbox = await start()
    const init = { method: 'OPTIONS', headers: headers as Record<string, string> }
    expect((await sandbox.fetch(`${sandbox.url}/api/oauth/v1/contacts`, init)).status).toBe(405)
  },
)

test('sends no CORS headers to a request without an origin', async () => {
  const sandbox = await start()
  const response = await fetch(`${sandbox.url}/api/oauth/v1/me`)
  expect(response.headers.has('access-control-allow-origin')).toBe(false)
})
