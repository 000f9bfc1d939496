import { describe, expect, test } from 'vitest'
import type { ConsoleState } from '../../src/sandbox/console/console-state.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox.ts'
import { call, exchange, freshCode, useSandboxes, verifier } from './helpers.ts'

const start = useSandboxes()
const me = '/api/oauth/v1/me'

const state = async (sandbox: Sandbox, query = ''): Promise<ConsoleState> =>
  (await fetch(`${sandbox.url}/_sandbox/state${query}`)).json()

function post(sandbox: Sandbox, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  return fetch(`${sandbox.url}/_sandbox/${path}`, { ...init, body: JSON.stringify(body) })
}

/** The requests that only the console's own script may send, each with a valid body. */
const actions: readonly [path: string, body: Record<string, string>][] = [
  ['revoke', { id: 'token_1' }],
  ['tokens', { actor: 'app' }],
  ['faults', { status: '503' }],
  ['faults/remove', { id: '1' }],
  ['login/start', { actor: 'self', scope: 'contacts:read' }],
]

describe('the console', () => {
  test('is a page that runs only its own script and style', async () => {
    const sandbox = await start()
    const response = await fetch(sandbox.url)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'",
    )
    const html = await response.text()
    expect(html).toContain('<h1>Sandbox app</h1>')
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?! src="\/_sandbox\/console\.js" defer><)/)
    const files = [...html.matchAll(/(?:src|href)="(\/_sandbox\/[^"]+)"/g)].map(([, path]) => path)
    expect(new Set(files)).toEqual(new Set(['/_sandbox/icon.svg', '/_sandbox/console.css', '/_sandbox/console.js']))
    for (const path of files) expect((await fetch(sandbox.url + path)).status, path).toBe(200)
    const head = await fetch(sandbox.url, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  test('escapes the name of the app', async () => {
    const sandbox = await start({ app: { name: '<img src=x onerror=alert(1)>' } })
    const html = await (await fetch(sandbox.url)).text()
    expect(html).not.toContain('<img src=x')
    expect(html).toContain('&#60;img src=x')
  })

  test('is not part of the service: no records, faults, rate limit and CORS headers', async () => {
    const sandbox = await start({ rateLimit: '1/h' })
    sandbox.faults.add({ status: 503 })
    for (const path of ['/', '/_sandbox/state', '/_sandbox/console.js', '/_sandbox/nowhere', '/_sandbox/icon.svg']) {
      const response = await fetch(sandbox.url + path)
      expect(response.status, path).toBe(path.endsWith('nowhere') ? 404 : 200)
      expect(response.headers.has('access-control-allow-origin')).toBe(false)
    }
    expect(sandbox.requests).toEqual([])
    expect(sandbox.faults.pending).toBe(1)
  })

  test('leaves every other path to the service', async () => {
    const sandbox = await start()
    for (const path of ['/api', '/_sandboxes', '/favicon.ico', '//']) {
      const response = await fetch(sandbox.url + path)
      expect([response.status, (await response.json()).error], path).toEqual([404, 'not_found'])
    }
    expect(sandbox.requests).toHaveLength(4)
  })

  test('is served only over HTTP', async () => {
    const sandbox = createSandbox()
    for (const path of ['/', '/_sandbox/state']) expect((await sandbox.fetch(sandbox.url + path)).status).toBe(404)
  })
})

describe('the state in the console', () => {
  test('has the credentials, tokens that work, and the data', async () => {
    const sandbox = await start({ conversations: 30 })
    const { app, tokens, organizations, data } = await state(sandbox)
    const { name, clientId, clientSecret, redirectUris } = sandbox.app
    expect(app).toEqual({ name, clientId, clientSecret, redirectUris })
    for (const { actor, value } of tokens) {
      expect((await call(sandbox, value, 'GET', me)).body).toMatchObject({ actor, scopes: sandbox.app.scopes })
    }
    expect(tokens.map(({ actor }) => actor)).toEqual(['self', 'app'])
    expect((await state(sandbox)).tokens).toEqual(tokens)
    expect(organizations.map(({ id }) => id)).toEqual(sandbox.state.organizations.map(({ id }) => id))
    expect(data.tables.map(({ name, total }) => [name, total])).toEqual([
      ['Conversations', 30],
      ['Contacts', 5],
      ['Team members', 6],
      ['Tasks', 5],
      ['Segments', 3],
    ])
    const ids = sandbox.state.conversations.slice(0, 12).map(({ id }) => id)
    expect(data.tables[0]?.rows.map(([id]) => id)).toEqual(ids)
  })

  test('has the data of the selected organization', async () => {
    const sandbox = await start()
    const other = sandbox.state.organizations[1]?.id ?? ''
    const { data } = await state(sandbox, `?organization=${other}`)
    expect(data.organization).toBe(other)
    expect(data.tables[0]?.rows[0]?.[0]).toBe(sandbox.state.of(other).conversations[0]?.id)
  })

  test('shows the fixed tokens', async () => {
    const sandbox = await start({ tokens: { self: 'swot_fixed_self', app: 'swot_fixed_app' } })
    expect((await state(sandbox)).tokens.map(({ value }) => value)).toEqual(['swot_fixed_self', 'swot_fixed_app'])
  })

  test('contains no secret that is not there to copy', async () => {
    const sandbox = await start()
    const code = await freshCode(sandbox, { state: 'a-secret-state' })
    const { body } = await exchange(sandbox, { code })
    const issued = sandbox.issueToken()
    for (const token of [body.access_token, issued, 'swot_never_issued']) {
      await call(sandbox, token, 'GET', `${me}?access_token=${token}`)
    }
    const text = JSON.stringify(await state(sandbox))
    expect(text).toContain('POST')
    for (const secret of [code, 'a-secret-state', verifier, body.access_token, issued, 'swot_never_issued', 'Bearer']) {
      expect(text).not.toContain(secret)
    }
  })

  test('lists requests with status, scope, actor and fault, newest first', async () => {
    let now = Date.parse('2026-02-03T04:05:06Z')
    const sandbox = await start({ now: () => now })
    const path = '/api/oauth/v1/contacts'
    await call(sandbox, sandbox.issueToken({ actor: 'self' }), 'GET', path)
    now += 1_000
    sandbox.failNext({ status: 503, latency: 1 })
    await call(sandbox, sandbox.issueToken(), 'POST', path, { email: 'new@customer.example' })
    sandbox.failNext({ drop: 'after-effect' })
    await call(sandbox, sandbox.issueToken(), 'GET', path).catch(() => {})
    const scope = 'contacts:read'
    expect((await state(sandbox)).requests).toEqual([
      { at: now, method: 'GET', path, scope, actor: 'app', fault: 'drop=after-effect' },
      {
        at: now,
        method: 'POST',
        path,
        status: 503,
        scope: 'contacts:write',
        actor: 'app',
        fault: 'status=503,latency=1',
      },
      { at: now - 1_000, method: 'GET', path, status: 200, scope, actor: 'self' },
    ])
  })

  test('keeps the last 100 requests and the last 50 connections', async () => {
    const sandbox = await start()
    for (let count = 0; count < 101; count += 1) await sandbox.fetch(`${sandbox.url}/${count}`)
    await sandbox.fetch(`${sandbox.url}/favicon.ico`)
    for (let count = 0; count < 60; count += 1) sandbox.issueToken()
    const { requests, connections, moreConnections } = await state(sandbox)
    expect([requests.length, requests[0]?.path, requests.at(-1)?.path]).toEqual([100, '/100', '/1'])
    // With the two tokens that the console shows.
    expect([connections.length, moreConnections]).toEqual([50, 12])
  })
})

describe('Revoke', () => {
  test('revokes the token of a connection', async () => {
    const sandbox = await start()
    const { body } = await exchange(sandbox, { code: await freshCode(sandbox, { actor: 'self' }) })
    const kept = sandbox.issueToken()
    const { connections } = await state(sandbox)
    const connection = connections.find(({ fromLogin }) => fromLogin)
    expect(connection).toMatchObject({
      app: 'Sandbox app',
      organization: sandbox.state.organization.display_name,
      actor: 'self',
      person: `${sandbox.state.members[0]?.user.name} (admin)`,
      scopes: ['conversations:read', 'contacts:read'],
    })
    expect((await call(sandbox, body.access_token, 'GET', me)).status).toBe(200)
    expect((await post(sandbox, 'revoke', { id: connection?.id })).status).toBe(200)
    expect((await call(sandbox, body.access_token, 'GET', me)).body.error).toBe('invalid_token')
    expect((await call(sandbox, kept, 'GET', me)).status).toBe(200)
    expect((await state(sandbox)).connections.map(({ id }) => id)).not.toContain(connection?.id)
    expect((await post(sandbox, 'revoke', { id: connection?.id })).status).toBe(404)
  })

  test.each([
    ['a fixed token is issued again with its value', { self: 'swot_fixed' }, true],
    ['a random token is replaced by another', {}, false],
  ])('%s', async (_, tokens, isSame) => {
    const sandbox = await start({ tokens })
    const before = (await state(sandbox)).tokens[0]
    sandbox.revokeAll()
    expect((await state(sandbox)).tokens[0]).toMatchObject({ value: before?.value, valid: false })
    await post(sandbox, 'tokens', { actor: 'self' })
    const after = (await state(sandbox)).tokens[0]
    expect(after?.valid).toBe(true)
    expect(after?.value === before?.value).toBe(isSame)
    expect((await call(sandbox, after?.value, 'GET', me)).body.actor).toBe('self')
  })
})

describe('the fault form', () => {
  test('injects a fault, lists it and removes it', async () => {
    const sandbox = await start()
    const token = sandbox.issueToken()
    const status = async (path: string) => (await call(sandbox, token, 'GET', path)).status
    await post(sandbox, 'faults', {
      status: '503',
      'retry-after': '7',
      path: '/cont',
      times: '2',
      after: '1',
      method: 'GET',
    })
    const fault = 'status=503,retry-after=7'
    expect((await state(sandbox)).faults).toEqual([{ id: 1, fault, match: 'GET /cont', skips: 1, times: 2 }])
    const statuses = [await status('/api/oauth/v1/contacts'), await status(me), await status('/api/oauth/v1/contacts')]
    expect(statuses).toEqual([200, 200, 503])
    expect((await state(sandbox)).faults).toMatchObject([{ skips: 0, times: 1 }])
    expect((await post(sandbox, 'faults/remove', { id: '1' })).status).toBe(200)
    expect(await status('/api/oauth/v1/contacts')).toBe(200)
    expect((await post(sandbox, 'faults/remove', { id: '1' })).status).toBe(404)
  })

  test('lists the faults of tests too', async () => {
    const sandbox = await start()
    sandbox.faults.add({ drop: 'mid-body', path: /\/messages$/, times: Infinity })
    sandbox.faults.add({ status: 429, retryAfter: new Date(0), effect: true, path: me })
    expect((await state(sandbox)).faults).toEqual([
      { id: 1, fault: 'drop=mid-body', match: '/messages$', skips: 0, times: 'all' },
      { id: 2, fault: 'status=429,retry-after=1970-01-01T00:00:00.000Z,effect', match: me, skips: 0, times: 1 },
    ])
  })

  test.each([
    [{ status: 'x' }, 'The fault option `status` must be an integer from 200 to 599, not "x".'],
    [{ status: '503', times: '0' }, 'The fault option `times` must be an integer of at least 1 or "all", not "0".'],
    [{}, 'A fault must have one of `status`, `drop`, `truncate`, `garbage`, `drip` and `latency`.'],
    [{ status: 503 }, '`status` must be a string.'],
  ])('rejects %j', async (fields, message) => {
    const sandbox = await start()
    const response = await post(sandbox, 'faults', fields)
    expect([response.status, (await response.json()).error_description]).toEqual([400, message])
    expect(sandbox.faults.pending).toBe(0)
  })
})

describe('the live log', () => {
  test('gets an event when it opens, and one for each request and change', async () => {
    const sandbox = await start()
    const response = await fetch(`${sandbox.url}/_sandbox/events`)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const next = async () => (await reader?.read())?.value
    expect(await next()).toBe('data: changed\n\n')
    await call(sandbox, undefined, 'GET', me)
    expect(await next()).toBe('data: changed\n\n')
    await post(sandbox, 'tokens', { actor: 'app' })
    expect(await next()).toBe('data: changed\n\n')
    await reader?.cancel()
  })

  test('does not keep the sandbox from closing', async () => {
    const sandbox = await start()
    const response = await fetch(`${sandbox.url}/_sandbox/events`)
    await sandbox.close()
    await expect(response.text()).rejects.toThrow('terminated')
  })
})

describe('a page of another origin', () => {
  test.each([
    ['an Origin of another site', { origin: 'https://evil.example' }],
    ['an Origin of another port', { origin: 'http://127.0.0.1:1' }],
    ['an opaque Origin', { origin: 'null' }],
    ['Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }],
  ])('cannot read or change anything with %s', async (_, headers) => {
    const sandbox = await start()
    const tokens = sandbox.state.tokens
    for (const [path, body] of actions) expect((await post(sandbox, path, body, headers)).status, path).toBe(403)
    for (const path of ['/_sandbox/state', '/_sandbox/events']) {
      expect((await fetch(sandbox.url + path, { headers })).status, path).toBe(403)
    }
    expect([sandbox.state.tokens, sandbox.faults.pending]).toEqual([tokens, 0])
  })

  test.each(actions)('cannot send %s as a form, as a link, or with a preflight', async (path, body) => {
    const sandbox = await start()
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
      expect((await post(sandbox, path, body, { 'content-type': type })).status).toBe(400)
    }
    expect((await fetch(`${sandbox.url}/_sandbox/${path}`)).status).toBe(405)
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const preflight = await fetch(`${sandbox.url}/_sandbox/${path}`, { method: 'OPTIONS', headers })
    expect(preflight.status).toBe(405)
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
})

test('the console accepts the request of its own script', async () => {
  const sandbox = await start()
  const headers = { origin: sandbox.url, 'sec-fetch-site': 'same-origin' }
  expect((await post(sandbox, 'tokens', { actor: 'self' }, headers)).status).toBe(200)
  expect((await post(sandbox, 'tokens', { actor: 'nobody' }, headers)).status).toBe(400)
})
