import { describe, expect, test } from 'vitest'
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.ts'
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
    expect(headers.get('access-control-expose-headers')).toBe(allowed && 'retry-after,x-request-id,x-sandbox-ignored')
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

  const local = 'http://localhost:5173'
  const refused = [403, 403]
  const given = [200, 303]

  test.each<[title: string, headers: Record<string, string>, cors: SandboxOptions['cors'], statuses: number[]]>([
    ['any page', { origin }, undefined, refused],
    ['an opaque origin', { origin: 'null' }, undefined, refused],
    ['any page without CORS', { origin }, false, refused],
    ['a page that is not listed', { origin: 'https://other.example' }, [origin], refused],
    ['a local page', { origin: local }, undefined, given],
    ['a local page without CORS', { origin: local }, false, given],
    ['any page if all are allowed', { origin }, true, given],
    ['a listed page', { origin }, [origin], given],
    ['a program', {}, false, given],
    ['the page itself behind a proxy', { origin, 'sec-fetch-site': 'same-origin' }, false, given],
    ['a cross-site page', { origin, 'sec-fetch-site': 'cross-site' }, false, refused],
    ['a same-site page', { origin, 'sec-fetch-site': 'same-site' }, false, refused],
    ['a page of no site', { origin, 'sec-fetch-site': 'none' }, false, refused],
  ])('of %s with %j and the option cors %j gets %j', async (_, headers, cors, statuses) => {
    const responses = await consent(await start(cors === undefined ? {} : { cors }), headers)
    expect(responses.map(({ status }) => status)).toEqual(statuses)
    if (statuses !== refused) return
    for (const response of responses) expect(await response.text()).not.toContain('code_')
  })
})
