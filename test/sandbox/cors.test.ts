import { describe, expect, test } from 'vitest'
import type { Sandbox, SandboxOptions } from '../../src/sandbox.ts'
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
  test.each<[from: string, cors: SandboxOptions['cors'], allowed: string | null]>([
    ['http://localhost:5173', undefined, 'http://localhost:5173'],
    ['http://app.localhost:3000', undefined, 'http://app.localhost:3000'],
    ['http://127.0.0.1:8080', undefined, 'http://127.0.0.1:8080'],
    ['http://[::1]:3000', undefined, 'http://[::1]:3000'],
    [origin, undefined, null],
    ['http://localhost.evil.example', undefined, null],
    ['http://evil-localhost', undefined, null],
    ['http://[::10]', undefined, null],
    ['null', undefined, null],
    [origin, [origin], origin],
    ['https://other.example', [origin], null],
    [origin, true, '*'],
    [origin, false, null],
  ])('for a page of %s with the option cors %j allows %s, also in errors', async (from, cors, allowed) => {
    const { status, headers } = await ask(await start(cors === undefined ? {} : { cors }), from)
    expect(status).toBe(401)
    expect(headers.get('access-control-allow-origin')).toBe(allowed)
    expect(headers.get('access-control-expose-headers')).toBe(allowed && 'retry-after,x-request-id')
    expect(headers.get('vary')).toBe(typeof cors === 'boolean' ? null : 'Origin')
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

  test('has no preflights if it is off', async () => {
    expect((await preflight(await start({ cors: false }))).status).toBe(405)
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
