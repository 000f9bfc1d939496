import { readdirSync, readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts'
import { call, exchange, freshCode, openPage, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const me = '/api/oauth/v1/me'

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
const connections = (html: string): string[] => matches(html, /<tr id="(token_\w+)"/g)
const requests = (html: string): string[] => matches(html.replaceAll('<wbr>', ''), /<code>([A-Z]+ [^<]+)<\/code><\/a>/g)

test('no template interpolates an attribute without quotes, which would be an injection', () => {
  const files = readdirSync('src/sandbox', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))
  const texts = files.map((path) => readFileSync(`src/sandbox/${path}`, 'utf8'))
  const templates = texts.filter((text) => text.includes("from 'hono/html'"))
  expect(templates.length).toBeGreaterThan(5)
  expect(templates.flatMap((text) => text.match(/(<\w[^<>]*\s|html` )[\w-]+=\$\{.*/g) ?? [])).toEqual([])
})

describe('the console', () => {
  test('is a page that runs only its own scripts and style', async () => {
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
    expect(html).not.toMatch(
      /<style|\sstyle=|\son\w+=|<script(?! (type="module" src="\/_sandbox\/console\.js"|src="\/_sandbox\/idiomorph\.js" defer)><)/,
    )
    const files = new Set(matches(html, /(?:src|href)="(\/_sandbox\/[^"]+)"/g))
    expect(files.size).toBe(4)
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
    const query = new URLSearchParams({ fault: `status=${hostile}`, row: `${id}`, request: 'request-3' })
    for (const path of [`/?${query}`, '/?list=Tasks', `/?list=${hostile}&page=${hostile}&before=${hostile}`]) {
      expect((await open(sandbox, path)).html).not.toContain('<img src=x')
    }
    expect((await open(sandbox, `/?${query}`)).text.split(hostile).length).toBeGreaterThan(5)
  })

  test('is not part of the service: no records, faults, rate limit and CORS headers', async () => {
    const sandbox = await start({ rateLimit: '1/h' })
    sandbox.faults.add({ status: 503 })
    for (const path of ['/', '/_sandbox/console.js', '/_sandbox/nowhere', '/_sandbox/icon.svg']) {
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
    for (const token of [body.access_token, issued, 'swot_never_issued']) {
      await call(sandbox, token, 'GET', `${me}?access_token=${token}`)
    }
    for (let id = 1; id <= 5; id += 1) {
      const { text } = await open(sandbox, `/?request=request-${id}`)
      expect(text).toContain('Operation')
      for (const secret of secrets) expect(text).not.toContain(secret)
    }
  })
})

describe('the requests', () => {
  const path = '/api/oauth/v1/contacts'

  test('are listed newest first, with status, error, fault, scope, actor and organization', async () => {
    const self = sandbox.issueToken({ actor: 'self' })
    const name = sandbox.state.organization.display_name
    await call(sandbox, self, 'POST', path, {})
    sandbox.failNext({ status: 503, latency: 1 })
    await call(sandbox, sandbox.issueToken(), 'GET', path)
    sandbox.failNext({ drop: 'after-effect' })
    await call(sandbox, self, 'GET', path).catch(() => {})
    const { html, text } = await open(sandbox)
    expect(requests(html)).toEqual(['GET /contacts', 'GET /contacts', 'POST /contacts'])
    // The organization is named once.
    expect(text).toMatch(new RegExp(`dropped GET /contacts drop=after-effect contacts:read ${name} as self`))
    expect(text).toMatch(/503 GET \/contacts server_error status=503,latency=1 contacts:read as app/)
    expect(text).toMatch(/422 POST \/contacts \w+ contacts:write as self/)
  })

  test('open with the query, the error, the bodies and the duration', async () => {
    await call(sandbox, sandbox.issueToken({ actor: 'self' }), 'POST', `${path}?dry=1&dry=2`, { email: 7 })
    const { text } = await open(sandbox, '/?request=request-1')
    expect(text).toContain(`Operation createContact Path ${path} Query dry=1&dry=2 Error validation_failed `)
    expect(text).toMatch(
      /Duration \d+\.\d ms .* Request body \{ "email": 7 \} .* Response body \{ "error": "validation_/,
    )
  })

  test('open with the headers, shortened, and a command that sends them again', async () => {
    const target = `${sandbox.url}${path}?email=it%27s`
    const authorizations = [`Bearer ${sandbox.issueToken()}`, 'Bearer of_another_service', 'Basic b2Y6YW5vdGhlcg==']
    sandbox.faults.add({ status: 429, retryAfter: 7, times: 3 })
    for (const authorization of authorizations) {
      const headers = { authorization, 'user-agent': 'mine/1.0', 'content-type': 'application/json' }
      await fetch(target, { method: 'POST', headers, body: `{"name":"it's"}` })
    }
    for (const [index, shown] of ['Bearer swot_', 'Bearer …', 'Basic …'].entries()) {
      const { html, text } = await open(sandbox, `/?request=request-${index + 1}`)
      expect(text).toContain(`authorization: ${shown}`)
      for (const header of ['user-agent: mine/1.0', 'retry-after: 7', 'x-request-id: ']) expect(text).toContain(header)
      for (const authorization of authorizations) expect(text).not.toContain(authorization)
      const [command = ''] = matches(html, /data-copy="(curl -X [^"]+)"/g)
      const unescaped = command.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&')
      expect(unescaped).toBe(
        `curl -X POST '${target}' -H "Authorization: Bearer $SUPPORT_WORKSPACE_TOKEN"` +
          ` -H 'Content-Type: application/json' --data-raw '{"name":"it'\\''s"}'`,
      )
    }
  })

  test('say that a response was not received, or not as a whole', async () => {
    for (const drop of ['after-effect', 'mid-headers', 'mid-body'] as const) {
      sandbox.failNext({ drop })
      await call(sandbox, sandbox.issueToken(), 'GET', path).catch(() => {})
    }
    for (const [id, label] of [
      [1, 'Response body, never received {'],
      [2, 'Response body, never received {'],
      [3, 'Response body, not received as a whole {'],
    ] as const) {
      expect((await open(sandbox, `/?request=request-${id}`)).text).toContain(label)
    }
  })

  test('stay open while newer ones arrive, until the log has them no longer', async () => {
    await call(sandbox, sandbox.issueToken(), 'GET', path)
    for (let count = 1; count <= 60; count += 1) await sandbox.fetch(`${sandbox.url}/${count}`)
    const address = '/?request=request-1'
    for (const query of ['', '&before=20', '&errors=1', '&path=/nowhere']) {
      const { text, html } = await open(sandbox, address + query)
      expect(text, query).toContain('Operation listContacts')
      expect(html.match(/id="request-1"/g)).toHaveLength(1)
    }
    expect((await submit(sandbox, 'requests/clear', {})).status).toBe(303)
    expect(sandbox.requests).toEqual([])
    const { text } = await open(sandbox, address)
    expect(text).toContain('request-1 is no longer in the log. No requests yet')
  })

  test('can be filtered by path, organization and error, in each of their pages', async () => {
    const [first, second] = sandbox.state.organizations
    const tokens = [first, second].map((each) => sandbox.issueToken({ organization: each?.id ?? '' }))
    for (const token of tokens) for (const target of [me, path, '/nowhere']) await call(sandbox, token, 'GET', target)
    const shown = async (query: string) => requests((await open(sandbox, `/?${query}`)).html)
    expect(await shown('path=contacts')).toEqual(['GET /contacts', 'GET /contacts'])
    expect(await shown('errors=1')).toEqual(['GET /nowhere', 'GET /nowhere'])
    expect(await shown(`in=${second?.display_name.toUpperCase()}`)).toHaveLength(3)
    expect(await shown(`in=${second?.id}&errors=1`)).toEqual(['GET /nowhere'])
    expect((await open(sandbox, '/?path=other')).text).toContain('No requests with these filters.')
    const { html } = await open(sandbox, '/?path=contacts&list=Tasks')
    expect(matches(html, /<form action="\/#requests"[^>]*>(?:<input type="hidden" name="(\w+)")/g)).toEqual(['list'])
    expect(html).toContain('<input name="path" value="contacts"')
  })

  test('have pages that stay while more requests arrive', async () => {
    for (let count = 1; count <= 60; count += 1) await sandbox.fetch(`${sandbox.url}/${count}`)
    const first = await open(sandbox)
    await sandbox.fetch(`${sandbox.url}/61`)
    await sandbox.fetch(`${sandbox.url}/favicon.ico`)
    const [older = ''] = matches(first.html, /href="(\/\?before=[^"]+)">Older/g)
    const second = await open(sandbox, older)
    const [last = ''] = matches(second.html, /href="(\/\?before=[^"]+)">Older/g)
    const third = await open(sandbox, last)
    const shown = [first, second, third].flatMap(({ html }) => requests(html))
    expect(shown).toEqual(Array.from({ length: 60 }, (_, index) => `GET /${60 - index}`))
    expect([third.text.includes('Older'), third.text.includes('Newest')]).toEqual([false, true])
  })
})

describe('the data', () => {
  test('has the lists of the selected organization, in pages', async () => {
    const sandbox = await start({ conversations: 40 })
    const other = sandbox.state.organizations[1]?.id ?? ''
    const ids = (html: string) => matches(html, /<tr id="((?:cnv|con)_\w+)"/g)
    const conversations = sandbox.state.conversations.map(({ id }) => id)
    expect(ids((await open(sandbox)).html)).toEqual(conversations.slice(0, 15))
    const last = await open(sandbox, '/?page=3')
    expect(ids(last.html)).toEqual(conversations.slice(30))
    expect(last.text).toContain('31 to 40 of 40 Previous ')
    const contacts = sandbox.state.of(other).contacts.map(({ id }) => id)
    // The newest first, unlike the service.
    expect(ids((await open(sandbox, `/?organization=${other}&list=Contacts&page=99`)).html)).toEqual(
      contacts.toReversed(),
    )
  })

  test('has the newest tasks first', async () => {
    for (const title of ['First', 'Second']) {
      await call(sandbox, sandbox.issueToken({ actor: 'self' }), 'POST', '/api/oauth/v1/tasks', { title })
    }
    expect((await open(sandbox, '/?list=Tasks')).text).toMatch(/"title":"Second".*"title":"First"/)
  })

  test('isolates the direction of names, as the other sections do', async () => {
    await call(sandbox, sandbox.issueToken({ actor: 'self' }), 'GET', me)
    const { html } = await open(sandbox, `/?row=${sandbox.state.conversations[0]?.id}`)
    const { organization, members, conversations } = sandbox.state
    for (const name of [organization.display_name, members[0]?.user.name, conversations[0]?.user.name]) {
      expect(html).toContain(`<bdi>${name}</bdi>`)
      expect(html.replaceAll(`<bdi>${name}</bdi>`, '').replaceAll(/aria-label="[^"]*"/g, '')).not.toContain(name)
    }
  })

  test('is searched for one of more than 50 organizations', async () => {
    const sandbox = await start({ organizations: 60, conversations: 0 })
    const names = (html: string) => matches(html, /organization=[^"]*#data"[^>]*><bdi>([^<]+)</g)
    const all = await open(sandbox)
    expect(names(all.html)).toHaveLength(50)
    expect(all.text).toContain('10 more. Find them by name or id.')
    const last = sandbox.state.organizations.at(-1)
    const found = await open(sandbox, `/?find=${last?.display_name.toLowerCase()}`)
    expect(names(found.html)).toEqual([sandbox.state.organization.display_name, last?.display_name])
    expect((await open(await start({ organizations: 50, conversations: 0 }))).html).not.toContain('name="find"')
  })

  test('takes a message of the customer', async () => {
    const { id, user } = sandbox.state.conversations[1]!
    const before = sandbox.state.messages(id).length
    const text = `It's <b>urgent</b>`
    const response = await submit(sandbox, 'messages', { conversation: id, text })
    expect(response.headers.get('location')).toBe(`/?row=${id}#${id}`)
    const messages = sandbox.state.messages(id)
    expect(messages).toHaveLength(before + 1)
    expect(messages[0]).toMatchObject({ user, body_html: '<p>It&#39;s &lt;b&gt;urgent&lt;/b&gt;</p>' })
    expect((await submit(sandbox, 'messages', { conversation: 'cnv_other', text })).status).toBe(400)
    expect((await submit(sandbox, 'messages', { conversation: id, text: '' })).status).toBe(303)
    expect(sandbox.state.messages(id)).toHaveLength(before + 1)
  })

  test('opens a conversation with its messages and notes, newest first', async () => {
    const token = sandbox.issueToken({ actor: 'self' })
    const id = sandbox.state.conversations[2]?.id
    const path = `/api/oauth/v1/conversations/${id}`
    await call(sandbox, token, 'POST', `${path}/notes`, { body_html: '<p>A note</p>' })
    await call(sandbox, token, 'POST', `${path}/messages`, { body_html: '<p>Late</p>' })
    const { text } = await open(sandbox, `/?row=${id}`)
    expect(text).toMatch(/ note api, [\d :-]+ UTC <p>A note<\/p>/)
    for (const { body_html } of sandbox.state.messages(id ?? '')) expect(text).toContain(body_html)
  })
})

describe('the connections', () => {
  test('are revoked one by one, with those of the console apart', async () => {
    const { body } = await exchange(sandbox, { code: await freshCode(sandbox, { actor: 'self' }) })
    const kept = sandbox.issueToken()
    const { html, text } = await open(sandbox)
    const [, login = '', ...own] = connections(html)
    const owner = `${sandbox.state.members[0]?.user.name} (admin)`
    expect(text).toContain(`self ${owner} conversations:read contacts:read`)
    expect([own.length, html.indexOf('Used by this console') < html.indexOf(own[0] ?? '')]).toEqual([2, true])
    const headers = { referer: `${sandbox.url}/?page=2&fault=status%3Dx` }
    const response = await submit(sandbox, 'connections/revoke', { id: login }, headers)
    expect([response.status, response.headers.get('location')]).toEqual([303, '/?page=2#connections'])
    expect((await call(sandbox, body.access_token, 'GET', me)).body.error).toBe('invalid_token')
    expect((await call(sandbox, kept, 'GET', me)).status).toBe(200)
    expect((await submit(sandbox, 'connections/revoke', { id: login })).status).toBe(303)
  })

  test('name their organization once', async () => {
    for (let count = 0; count < 3; count += 1) sandbox.issueToken()
    const { html } = await open(sandbox)
    const section = html.slice(html.indexOf('id="connections"'), html.indexOf('id="data"'))
    expect(matches(section, /<bdi>([^<]+)<\/bdi><\/th>/g)).toEqual([sandbox.state.organization.display_name])
  })

  test('have pages', async () => {
    for (let count = 0; count < 20; count += 1) sandbox.issueToken()
    const pages = [await open(sandbox), await open(sandbox, '/?connections=2')]
    expect(pages.map(({ html }) => connections(html).length)).toEqual([15 + 2, 5 + 2])
  })

  test.each([
    ['a fixed token is issued again with its value', { self: 'swot_fixed' }, true],
    ['a random token is replaced by another', {}, false],
  ])('%s', async (_, tokens, isSame) => {
    const sandbox = await start({ tokens })
    const token = async () => matches((await open(sandbox)).html, /<code class="value">(swot_\w+)</g)[0]
    const before = await token()
    sandbox.revokeAll()
    expect((await open(sandbox)).text).toContain(`actor=self revoked ${before} Issue again`)
    await submit(sandbox, 'tokens', { actor: 'self' })
    expect((await token()) === before).toBe(isSame)
    expect((await call(sandbox, await token(), 'GET', me)).body.actor).toBe('self')
  })
})

describe('the fault form', () => {
  test('injects a fault, lists it and removes it', async () => {
    const token = sandbox.issueToken()
    const status = async (path: string) => (await call(sandbox, token, 'GET', path)).status
    const selection = { path: '/contacts', times: '2', after: '1', method: 'GET' }
    const fields = { kind: 'status', status: '503', 'retry-after': '7', drop: 'mid-body', ...selection }
    expect((await submit(sandbox, 'faults', fields)).headers.get('location')).toBe('/?#faults')
    const listed = 'status=503,retry-after=7 GET /contacts, 2 more times, after 1 more Remove'
    expect((await open(sandbox)).text).toContain(listed)
    const contacts = '/api/oauth/v1/contacts'
    expect([await status(contacts), await status(me), await status(contacts)]).toEqual([200, 200, 503])
    expect((await open(sandbox)).text).toContain('GET /contacts, 1 more time Remove')
    await submit(sandbox, 'faults/remove', { id: '1' })
    expect([await status(contacts), sandbox.faults.pending]).toEqual([200, 0])
    await submit(sandbox, 'faults', { kind: 'drop', drop: 'after-effect', status: '503', times: 'all' })
    expect((await open(sandbox)).text).toContain('drop=after-effect any request, every time')
    // It lists the faults of tests too.
    sandbox.faults.add({ drop: 'mid-body', path: /\/messages$/, times: Infinity })
    expect((await open(sandbox)).text).toContain('drop=mid-body /messages$, every time')
  })

  test('has every field of the command line, and examples that fill it in', async () => {
    const { html } = await open(sandbox)
    const fields = matches(html.slice(html.indexOf('class="fault-form"')), /<(?:input|select) name="([\w-]+)"/g)
    const kinds = matches(html, /<option value="([\w-]*)"/g)
    const flags =
      'status retry-after effect late-effect drop truncate garbage drip stall latency method path times after probability seed'
    expect(flags.split(' ').filter((name) => !fields.includes(name) && !kinds.includes(name))).toEqual([])
    const effect = { kind: 'status', status: '503', effect: 'true', seed: '7', probability: '1', 'late-effect': '' }
    await submit(sandbox, 'faults', effect)
    await submit(sandbox, 'faults', { kind: 'drip', drip: '16/500' })
    const { text } = await open(sandbox)
    expect(text).toContain('status=503,effect any request')
    expect(text).toContain('drip=16/500 any request')
    sandbox.faults.clear()
    const examples = matches(html, /href="(\/\?fault=[^"]+)"/g)
    expect(examples.length).toBeGreaterThan(4)
    for (const address of examples) {
      const filled = new URL(address.replaceAll('&amp;', '&'), sandbox.url).searchParams.get('fault') ?? ''
      expect((await open(sandbox, address)).html).not.toContain('aria-invalid')
      await submit(sandbox, 'faults', Object.fromEntries(new URLSearchParams(filled)))
    }
    expect(sandbox.faults.pending).toBe(examples.length)
  })

  test.each([
    [{ kind: 'status', status: 'x', latency: '5' }, 'status', 'Must be an integer from 200 to 599, not "x".'],
    [{ kind: 'status', status: '503', times: '0' }, 'times', 'Must be an integer of at least 1 or "all", not "0".'],
    [{ kind: 'latency', latency: '' }, undefined, 'A fault must have one of `status`, `drop`, '],
    [{ kind: 'drop', drop: 'never' }, 'drop', 'Must be '],
    [{ kind: 'drip', drip: '16' }, 'drip', 'Must be a number of bytes and milliseconds, such as "16/500", not "16".'],
    [{ kind: 'status', status: '503', 'late-effect': 'x' }, 'late-effect', 'Must be '],
  ])('shows what is wrong with %j at the field, and keeps what was typed', async (fields, field, message) => {
    const location = (await submit(sandbox, 'faults', fields)).headers.get('location')
    const { html, text } = await open(sandbox, location ?? '')
    expect(text).toContain(message)
    expect(matches(html, /<(?:input|select) name="([\w-]+)"[^>]*aria-invalid="true"/g)).toEqual(
      field === undefined ? [] : [field],
    )
    for (const value of Object.values(fields).slice(1, 3))
      if (value !== 'never') expect(html).toContain(`value="${value}"`)
    expect(sandbox.faults.pending).toBe(0)
  })
})

describe('the events', () => {
  test('are sent when the stream opens, and for each request and change', async () => {
    const response = await fetch(`${sandbox.url}/_sandbox/events`)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const next = async () => (await reader?.read())?.value
    expect(await next()).toBe('data: changed\nretry: 2000\n\n')
    await call(sandbox, undefined, 'GET', me)
    expect(await next()).toBe('data: changed\nretry: 2000\n\n')
    await submit(sandbox, 'tokens', { actor: 'app' })
    expect(await next()).toBe('data: changed\nretry: 2000\n\n')
    await reader?.cancel()
  })

  test('do not keep the sandbox from closing', async () => {
    const response = await fetch(`${sandbox.url}/_sandbox/events`)
    await sandbox.close()
    await expect(response.text()).rejects.toThrow('terminated')
  })
})

const forms: readonly [path: string, fields: Record<string, string>][] = [
  ['connections/revoke', { id: 'token_1' }],
  ['tokens', { actor: 'app' }],
  ['faults', { kind: 'status', status: '503' }],
  ['faults/remove', { id: '1' }],
  ['login/start', { actor: 'self', scope: 'contacts:read' }],
  ['requests/clear', {}],
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
  ])('is refused with %s, as the events are', async (_, headers) => {
    const before = sandbox.state.tokens
    for (const [path, fields] of forms) expect((await submit(sandbox, path, fields, headers)).status, path).toBe(403)
    expect([sandbox.state.tokens, sandbox.faults.pending]).toEqual([before, 0])
    expect((await fetch(`${sandbox.url}/_sandbox/events`, { headers: { ...headers } })).status).toBe(403)
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

  test('is accepted from its own page, up to 4 kB', async () => {
    const headers = { origin: sandbox.url, 'sec-fetch-site': 'same-origin' }
    expect((await submit(sandbox, 'faults', { kind: 'garbage' }, headers)).status).toBe(303)
    expect((await submit(sandbox, 'faults', { kind: 'status', path: '/'.repeat(1_200) }, headers)).status).toBe(303)
    expect((await submit(sandbox, 'faults', { kind: 'x'.repeat(4_096) }, headers)).status).toBe(413)
    expect(sandbox.faults.pending).toBe(1)
  })
})
