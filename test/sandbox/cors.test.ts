import { describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox.ts'
import { authorizeParameters, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const origin = 'https://app.example'

const ask = (sandbox: Sandbox, from = origin) => fetch(`${sandbox.url}/api/oauth/v1/me`, { headers: { origin: from } })
const preflight = (sandbox: Sandbox) =>
  fetch(`${sandbox.url}/api/oauth/v1/contacts`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
  })

describe('CORS', () => {
  test.each([
    ['http://localhost:5173', true],
    ['https://localhost', true],
    ['http://app.localhost:3000', true],
    ['http://127.0.0.1:8080', true],
    ['http://[::1]:3000', true],
    ['https://app.example', false],
    ['http://192.168.1.5:3000', false],
    ['http://localhost.evil.example', false],
    ['http://127.0.0.1.evil.example', false],
    ['http://evil-localhost', false],
    ['http://[::10]', false],
    ['null', false],
  ])('by default lets pages of %s read responses: %s', async (from, isAllowed) => {
    const response = await ask(await start(), from)
    expect(response.status).toBe(401)
    expect(response.headers.get('access-control-allow-origin')).toBe(isAllowed ? from : null)
    expect(response.headers.get('access-control-expose-headers')).toBe(isAllowed ? 'retry-after,x-request-id' : null)
    expect(response.headers.get('vary')).toBe('Origin')
  })

  test('lets any origin read responses with `true`, including errors', async () => {
    const response = await ask(await start({ cors: true }))
    expect(response.status).toBe(401)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-expose-headers')).toBe('retry-after,x-request-id')
  })

  test('allows a token and JSON in a preflight', async () => {
    const response = await preflight(await start({ cors: true }))
    expect(response.status).toBe(204)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET,POST,PATCH,DELETE',
      'access-control-allow-headers': 'authorization,content-type',
    })
  })

  test('lets pages read injected faults, which preflights do not use up', async () => {
    const sandbox = await start({ cors: true })
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

describe('consent', () => {
  const consent = (sandbox: Sandbox, headers: Record<string, string>) => {
    const decision = { target_organization_id: sandbox.state.organization.id, decision: 'allow' }
    const body = JSON.stringify({ ...Object.fromEntries(authorizeParameters()), ...decision })
    const form = new URLSearchParams(JSON.parse(body))
    const url = `${sandbox.url}/api/oauth/authorize/consent`
    return Promise.all([
      sandbox.fetch(url, { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } }),
      sandbox.fetch(url, { method: 'POST', body: form, headers }),
    ])
  }

  test.each([
    ['https://app.example', undefined],
    ['null', undefined],
    ['https://app.example', false],
    ['https://other.example', [origin]],
  ] as const)('cannot be given by a page of %s with the option cors: %j', async (from, cors) => {
    const sandbox = await start(cors === undefined ? {} : { cors })
    for (const response of await consent(sandbox, { origin: from })) {
      expect(response.status).toBe(403)
      expect(await response.text()).not.toContain('code_')
    }
  })

  test.each([
    ['http://localhost:5173', undefined],
    ['http://localhost:5173', false],
    ['https://app.example', true],
    ['https://app.example', [origin]],
  ] as const)('can be given by a page of %s with the option cors: %j', async (from, cors) => {
    const sandbox = await start(cors === undefined ? {} : { cors })
    expect((await consent(sandbox, { origin: from })).map(({ status }) => status)).toEqual([200, 303])
  })

  test('can be given by a program, and on the page itself behind a proxy', async () => {
    const sandbox = await start({ cors: false })
    for (const headers of [{}, { origin: 'https://proxy.example', 'sec-fetch-site': 'same-origin' }]) {
      expect((await consent(sandbox, headers)).map(({ status }) => status)).toEqual([200, 303])
    }
  })

  test.each(['cross-site', 'same-site', 'none'])('cannot be given by a page of another site (%s)', async (site) => {
    const sandbox = await start({ cors: false })
    const responses = await consent(sandbox, { origin, 'sec-fetch-site': site })
    expect(responses.map(({ status }) => status)).toEqual([403, 403])
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
