import { beforeEach, describe, expect, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts'
import { call, exchange, freshCode, openPage, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const me = '/api/oauth/v1/me'
const contacts = '/api/oauth/v1/contacts'

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})

const open = (sandbox: Sandbox, path = '/') => openPage(sandbox.url + path)

/** Sends a form of the console and returns its redirect, without following it. */
function submit(sandbox: Sandbox, path: string, fields: Record<string, string>, headers: HeadersInit = {}) {
  const body = new URLSearchParams(fields)
  return fetch(`${sandbox.url}/_sandbox/${path}`, { method: 'POST', body, headers, redirect: 'manual' })
}

const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, part = '']) => part)
const requests = (html: string) => matches(html.replaceAll('<wbr>', ''), /<summary>[^\n]*\n<code>([^<]+)<\/code>/g)

describe('the console', () => {
  test('is a page that runs only its own script and style', async () => {
    const response = await fetch(sandbox.url)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=UTF-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'same-origin',
      'x-frame-options': 'DENY',
    })
    expect(response.headers.has('strict-transport-security')).toBe(false)
    const html = await response.text()
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?! type="module" src="\/_sandbox\/reload\.js"><)/)
    const files = new Set(matches(html, /(?:src|href)="(\/_sandbox\/[^"]+)"/g))
    expect(files.size).toBe(3)
    for (const path of files) expect((await fetch(sandbox.url + path)).status, path).toBe(200)
    expect((await fetch(sandbox.url, { method: 'HEAD' })).status).toBe(200)
  })

  test('escapes what users, apps and requests choose', async () => {
    const hostile = `"'><img src=x onerror=alert(1)>`
    const sandbox = await start({ app: { name: hostile } })
    const token = sandbox.issueToken({ actor: 'self' })
    const id = sandbox.state.conversations[0]?.id
    await call(sandbox, token, 'POST', `/api/oauth/v1/conversations/${id}/messages`, { body_html: hostile })
    await call(sandbox, token, 'POST', '/api/oauth/v1/tasks', { title: hostile })
    await call(sandbox, token, 'GET', `${me}?${hostile}=${hostile}`)
    const { html, text } = await open(sandbox, `/?organization=${hostile}`)
    expect(html).not.toContain('<img src=x')
    expect(text.split(hostile).length).toBeGreaterThan(5)
  })

  test('is not part of the service: no records, faults, rate limit and CORS headers', async () => {
    const sandbox = await start({ rateLimit: '1/h' })
    sandbox.faults.add({ status: 503 })
    for (const path of ['/', '/_sandbox/reload.js', '/_sandbox/nowhere', '/_sandbox/icon.svg']) {
      const response = await fetch(sandbox.url + path)
      expect(response.status, path).toBe(path.endsWith('nowhere') ? 404 : 200)
      expect(response.headers.has('access-control-allow-origin')).toBe(false)
    }
    expect([sandbox.requests.length, sandbox.faults.pending]).toEqual([0, 1])
    for (const path of ['/api', '/_sandboxes', '/favicon.ico', '//']) await fetch(sandbox.url + path)
    expect(sandbox.requests.map(({ status }) => status)).toEqual([503, 404, 404, 404])
    expect((await createSandbox().fetch('http://localhost/')).status).toBe(404)
  })

  test('shows the credentials, and tokens that work', async () => {
    const sandbox = await start({ tokens: { self: 'swot_fixed_self' } })
    const { html, text } = await open(sandbox)
    const { clientId, clientSecret, redirectUris } = sandbox.app
    for (const value of [sandbox.url, clientId, clientSecret, ...redirectUris]) expect(text).toContain(` ${value} `)
    const tokens = matches(html, /<code class="value">(swot_\w+)</g)
    expect(tokens[0]).toBe('swot_fixed_self')
    const actors = await Promise.all(tokens.map(async (token) => (await call(sandbox, token, 'GET', me)).body.actor))
    expect(actors).toEqual(['self', 'app'])
  })

  test('shows no secret that is not there to copy', async () => {
    const code = await freshCode(sandbox)
    const { body } = await exchange(sandbox, { code })
    const issued = sandbox.issueToken()
    const secrets = [code, body.access_token, issued, 'swot_never_issued']
    for (const token of secrets.slice(1)) await call(sandbox, token, 'GET', `${me}?access_token=${token}`)
    const { text } = await open(sandbox)
    expect(text).toContain('Operation token')
    for (const secret of secrets) expect(text).not.toContain(secret)
  })
})

describe('the requests', () => {
  test('are listed newest first, with status, fault and ignored names', async () => {
    const self = sandbox.issueToken({ actor: 'self' })
    await call(sandbox, self, 'POST', contacts, { phone: 1 })
    sandbox.failNext({ status: 503, latency: 1 })
    await call(sandbox, sandbox.issueToken(), 'GET', contacts)
    sandbox.failNext({ drop: 'after-effect' })
    await call(sandbox, self, 'GET', contacts).catch(() => {})
    const { html, text } = await open(sandbox)
    expect(requests(html)).toEqual([`GET ${contacts}`, `GET ${contacts}`, `POST ${contacts}`])
    expect(text).toContain(`dropped GET ${contacts} drop=after-effect`)
    expect(text).toContain(`503 GET ${contacts} status=503,latency=1`)
    expect(text).toContain(`422 POST ${contacts} ignored: phone`)
  })
})

describe('the data', () => {
  test('is that of the first organization, or of the selected one', async () => {
    const [first, second] = sandbox.state.organizations
    for (const { id } of [first, second].filter((each) => each !== undefined)) {
      const { html, text } = await open(sandbox, `/?organization=${id}`)
      const { conversations, contacts, members, tasks, segments } = sandbox.state.of(id)
      const shown = matches(html, /<details id="(cnv_\w+)"/g)
      expect(shown).toEqual(conversations.map((each) => each.id))
      for (const item of [...contacts, ...members, ...tasks, ...segments]) expect(text).toContain(item.id)
      expect(html).toMatch(new RegExp(`organization=${id}#data" aria-current="true"`))
    }
  })
})

const forms: readonly [path: string, fields: Record<string, string>][] = [
  ['tokens/revoke', { id: 'token_1' }],
  ['tokens', { actor: 'app' }],
  ['messages', { conversation: 'cnv_1', text: 'Hello' }],
]

describe('a form of the console', () => {
  test.each([
    ['an Origin of another site', { origin: 'https://evil.example' }],
    ['an Origin of another port', { origin: 'http://127.0.0.1:1' }],
    ['an opaque Origin', { origin: 'null' }],
    ['Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }],
    ['Sec-Fetch-Site: none', { 'sec-fetch-site': 'none' }],
  ])('is refused with %s', async (_, headers) => {
    const before = sandbox.state.tokens
    for (const [path, fields] of forms) expect((await submit(sandbox, path, fields, headers)).status, path).toBe(403)
    expect(sandbox.state.tokens).toBe(before)
  })

  test.each(forms)('is refused as JSON, as text, as a link and with a preflight: %s', async (path, fields) => {
    for (const type of ['application/json', 'text/plain', 'multipart/form-data']) {
      expect((await submit(sandbox, path, fields, { 'content-type': type })).status, type).toBe(400)
    }
    expect((await fetch(`${sandbox.url}/_sandbox/${path}`)).status).toBe(404)
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const preflight = await fetch(`${sandbox.url}/_sandbox/${path}`, { method: 'OPTIONS', headers })
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('is accepted from its own page, up to 64 KiB', async () => {
    const headers = { origin: sandbox.url, 'sec-fetch-site': 'same-origin' }
    const [{ id } = { id: '' }] = sandbox.state.conversations
    const send = (text: string) => submit(sandbox, 'messages', { conversation: id, text }, headers)
    expect((await send('x'.repeat(60_000))).status).toBe(303)
    expect((await send('x'.repeat(70_000))).status).toBe(413)
  })
})
