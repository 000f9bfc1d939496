import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { call, openPage, sendRaw, useSandboxes } from './helpers.ts'

const start = useSandboxes()

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})

/** Starts a login in the console and returns the authorization request. */
async function startLogin(sandbox: Sandbox, actor: string, scope: string): Promise<URL> {
  const body = new URLSearchParams([['actor', actor], ...scope.split(' ').map((name) => ['scope', name])])
  const response = await fetch(`${sandbox.url}/_sandbox/login/start`, { method: 'POST', body, redirect: 'manual' })
  expect(response.status).toBe(303)
  return new URL(response.headers.get('location') ?? '', sandbox.url)
}

/** Returns the redirect of the service after a person decided on the consent page. */
async function decide(sandbox: Sandbox, request: URL, changes: Record<string, string> = {}): Promise<string> {
  const consent = await fetch(request)
  expect(consent.status).toBe(200)
  const fields = [...(await consent.text()).matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
  const form = new URLSearchParams(fields.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]))
  form.set('target_organization_id', sandbox.state.organization.id)
  for (const [name, value] of Object.entries({ decision: 'allow', role: 'admin', ...changes })) form.set(name, value)
  const url = `${sandbox.url}/api/oauth/authorize/consent`
  const response = await fetch(url, { method: 'POST', body: form, redirect: 'manual' })
  return response.headers.get('location') ?? ''
}

const tokenIn = (html: string) => /<code id="token" class="value">(swot_\w+)</.exec(html)?.[1]

describe('a login in the console', () => {
  test('runs the whole flow with PKCE and ends on a page with the facts of the token', async () => {
    const request = await startLogin(sandbox, 'self', 'conversations:read messages:write')
    expect(Object.fromEntries(request.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'app_sandbox',
      redirect_uri: `${sandbox.url}/_sandbox/callback`,
      scope: 'conversations:read messages:write',
      state: expect.stringMatching(/^[\w-]{22}$/),
      actor: 'self',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    const page = await openPage(await decide(sandbox, request))
    const owner = sandbox.state.members[0]
    expect(page.status).toBe(200)
    expect(page.text).toContain('Access was granted')
    expect(page.text).toContain(`Acts as ${owner?.user.name} (admin), ${owner?.user.email}`)
    expect(page.text).toContain(`Organization ${sandbox.state.organization.display_name}`)
    expect(page.text).toContain('Granted scopes conversations:read messages:write')
    expect(page.text).not.toContain('Not granted')
    const response = await call(sandbox, tokenIn(page.html), 'GET', '/api/oauth/v1/me')
    expect(response.body).toMatchObject({ actor: 'self', scopes: ['conversations:read', 'messages:write'] })

    const received = sandbox.requests.map(({ operation, status }) => `${operation} ${status}`)
    expect(received).toEqual(['authorize 200', 'authorizeConsent 303', 'token 200', 'getMe 200', 'getMe 200'])
    const sent = sandbox.requests[2]?.body as Record<string, string>
    const challenge = createHash('sha256')
      .update(sent.code_verifier ?? '')
      .digest('base64url')
    expect(challenge).toBe(request.searchParams.get('code_challenge'))
    for (const secret of [sent.code, sent.code_verifier, sent.client_secret]) expect(page.html).not.toContain(secret)
  })

  test('keeps its result and its token when the browser reloads or repeats the redirect', async () => {
    const location = await decide(sandbox, await startLogin(sandbox, 'self', 'contacts:read'))
    const { html } = await openPage(location)
    expect((await openPage(location)).html).toBe(html)
    expect((await call(sandbox, tokenIn(html), 'GET', '/api/oauth/v1/me')).status).toBe(200)
    expect(sandbox.requests.filter(({ operation }) => operation === 'token')).toHaveLength(1)
  })

  test('ends on a page after Deny', async () => {
    const request = await startLogin(sandbox, 'self', 'contacts:read')
    const { status, text, html } = await openPage(await decide(sandbox, request, { decision: 'deny' }))
    expect(status).toBe(200)
    expect(text).toContain('Access was denied')
    expect(html).toContain('href="/#login"')
    expect(sandbox.state.tokens).toBe(0)
  })

  test.each([
    ['an error', { status: 503 }, 'The code exchange failed: 503 server_error: The sandbox injected this error.'],
    ['a dropped connection', { drop: 'after-effect' }, 'The code exchange failed: The connection was dropped.'],
    ['HTML', { garbage: true }, 'The code exchange failed: The body is not valid JSON.'],
    ['an array', { status: 200, body: [] }, 'The code exchange failed: The body is not a JSON object.'],
    ['no token', { status: 200, body: {} }, 'The code exchange failed: The response has no valid token.'],
  ] as const)('ends on a page after a code exchange with %s', async (_, fault, message) => {
    const location = await decide(sandbox, await startLogin(sandbox, 'self', 'contacts:read'))
    sandbox.faults.add({ path: '/api/oauth/token', ...fault })
    const { text } = await openPage(location)
    expect(text.replaceAll(' .', '.')).toContain(message)
    expect(text).toContain('Try again')
  })

  test('shows the token even if the call of /me fails', async () => {
    const location = await decide(sandbox, await startLogin(sandbox, 'self', 'contacts:read'))
    sandbox.faults.add({ path: '/api/oauth/v1/me', status: 500 })
    const { html, text } = await openPage(location)
    expect(text).toContain('The call failed: 500 server_error: The sandbox injected this error.')
    expect((await call(sandbox, tokenIn(html), 'GET', '/api/oauth/v1/me')).status).toBe(200)
  })

  test('ends on a page if the app does not declare the scope', async () => {
    const sandbox = await start({ app: { scopes: ['contacts:read'] } })
    const { status, text } = await openPage(String(await startLogin(sandbox, 'self', 'tasks:read')))
    expect(status).toBe(200)
    expect(text).toContain('invalid_scope: The app does not declare the scope tasks:read.')
  })

  const unknown = ['', '?state=unknown&code=x', '?error=access_denied']

  test.each(unknown)('ends on a page if it is unknown: %s', async (query) => {
    const { status, text } = await openPage(`${sandbox.url}/_sandbox/callback${query}`)
    expect(status).toBe(404)
    expect(text).toContain('This login is unknown')
    expect(text).toContain('Open the console')
  })

  test('escapes what the redirect contains', async () => {
    const state = (await startLogin(sandbox, 'self', 'contacts:read')).searchParams.get('state') ?? ''
    const query = new URLSearchParams({ state, error: '<script>alert(1)</script>', error_description: '"><img src=x>' })
    const { html } = await openPage(`${sandbox.url}/_sandbox/callback?${query}`)
    expect(html).not.toMatch(/<script>|<img src=x>/)
    expect(html).toContain('&lt;script&gt;')
  })

  test('returns to the own address that the console was opened at', async () => {
    const url = sandbox.url.replace('127.0.0.1', 'localhost')
    const request = await startLogin({ ...sandbox, url }, 'self', 'contacts:read')
    expect(request.searchParams.get('redirect_uri')).toBe(`${url}/_sandbox/callback`)
    expect((await openPage(await decide(sandbox, request))).text).toContain('Access was granted')
    expect(sandbox.app.redirectUris.slice(2)).toEqual([`${url}/_sandbox/callback`])
  })

  test.each([
    ['sandbox.example:8443', 'http://sandbox.example:8443'],
    ['127.0.0.1:1', undefined],
  ])('that is started at the host %s returns to its own address', async (host, origin) => {
    const sandbox = await start({ allowedHosts: ['sandbox.example'] })
    const form = 'actor=app&scope=tasks:read'
    const head = `POST /_sandbox/login/start HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n`
    const type = 'content-type: application/x-www-form-urlencoded'
    const response = await sendRaw(sandbox, `${head}${type}\r\ncontent-length: ${form.length}\r\n\r\n${form}`)
    const location = /^location: (.+)$/im.exec(response.toString())?.[1] ?? ''
    const redirectUri = new URL(location, sandbox.url).searchParams.get('redirect_uri')
    expect(redirectUri).toBe(`${origin ?? sandbox.url}/_sandbox/callback`)
  })

  test('registers the callbacks of only so many names of this machine', async () => {
    const { port } = new URL(sandbox.url)
    const before = [...sandbox.app.redirectUris]
    for (let count = 1; count <= 30; count += 1) {
      const form = 'actor=app&scope=tasks:read'
      const head = `POST /_sandbox/login/start HTTP/1.1\r\nhost: n${count}.localhost:${port}\r\nconnection: close\r\n`
      const type = 'content-type: application/x-www-form-urlencoded'
      await sendRaw(sandbox, `${head}${type}\r\ncontent-length: ${form.length}\r\n\r\n${form}`)
    }
    const added = Array.from({ length: 10 }, (_, index) => `http://n${index + 21}.localhost:${port}/_sandbox/callback`)
    expect(sandbox.app.redirectUris).toEqual([...before, ...added])
  })

  test('needs a scope, and keeps the actor', async () => {
    const body = new URLSearchParams({ actor: 'app' })
    const { text, html } = await openPage(`${sandbox.url}/_sandbox/login/start`, { method: 'POST', body })
    expect(text).toContain('Select at least one scope.')
    expect(html).toContain('value="app" checked')
  })

  test('of an app is forgotten after 100 newer ones', async () => {
    const first = await startLogin(sandbox, 'app', 'contacts:read')
    const second = await startLogin(sandbox, 'app', 'contacts:read')
    for (let count = 0; count < 99; count += 1) await startLogin(sandbox, 'self', 'contacts:read')
    expect((await openPage(await decide(sandbox, first))).text).toContain('This login is unknown')
    expect((await openPage(await decide(sandbox, second))).text).toMatch(/Access was granted.* Acts as The app/)
  })
})
