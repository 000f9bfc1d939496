import fc from 'fast-check'
import { defineOperation, InvalidArgumentError, type Operation } from 'support-workspace-sdk'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { invalidArgument, json, makeClient, page, rejection, scripted, token } from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'

const item = { data: { id: '1' } }

/** Returns the URL that a client with these options sends its request to. */
async function urlOf(options: Parameters<typeof makeClient>[0]) {
  const fetch = scripted(json({}))
  await makeClient({ ...options, fetch }).me()
  return fetch.requests[0]?.url
}

describe('baseUrl', () => {
  test.each([
    ['https://api.test', 'https://api.test'],
    ['https://api.test//', 'https://api.test'],
    ['https://API.test:443', 'https://api.test'],
    ['https://api.test:8443', 'https://api.test:8443'],
    ['https://api.test/a/b///', 'https://api.test/a/b'],
    ['https://api.test?', 'https://api.test'],
    ['https://api.test/support#', 'https://api.test/support'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['http://127.0.0.1', 'http://127.0.0.1'],
    ['http://[::1]:80', 'http://[::1]'],
    ['http://workspace.localhost', 'http://workspace.localhost'],
  ])('%s sends requests to %s', async (baseUrl, expected) => {
    expect(await urlOf({ baseUrl })).toBe(`${expected}/api/oauth/v1/me`)
  })

  test.each([
    ['text that is not a URL', 'api.test'],
    ['an empty string', ''],
    ['another scheme', 'ftp://api.test'],
    ['a javascript: URL', 'javascript:alert(1)'],
    ['a user name', 'https://user@api.test'],
    ['a password', 'https://:hunter2@api.test'],
    ['a query', 'https://api.test?x=1'],
    ['a fragment', 'https://api.test#x'],
    ['plain http', 'http://api.test'],
    ['plain http on a host that looks like loopback', 'http://127.0.0.1.evil.test'],
    ['plain http on a host that starts like loopback', 'http://localhost.evil.test'],
    ['plain http on the unspecified address', 'http://0.0.0.0'],
    ['a tab in its host, which `URL` drops', 'https://api.supportwire.app\t.evil.test'],
    ['a number', 1],
    ['an object that prints as an address', { toString: () => 'https://api.test' }],
  ])('does not accept %s', (_, baseUrl) => {
    const message = expect.stringMatching(/^(?!.*hunter2)/s)
    expect(() => makeClient({ baseUrl: baseUrl as string })).toThrow(
      expect.objectContaining({ name: 'InvalidArgumentError', argument: 'baseUrl', message }),
    )
  })

  test.each([
    ['https://api.test/api/oauth/v1', 'https://api.test'],
    ['https://api.test/api/oauth/v1/', 'https://api.test'],
    ['https://api.test/api/oauth', 'https://api.test'],
    ['https://api.test/support/api/oauth/v2', 'https://api.test/support'],
  ])('%s is refused, and the message has the right one: %s', (baseUrl, right) => {
    expect(() => makeClient({ baseUrl })).toThrow(`which is added to it. Pass "${right}".`)
  })

  test('can be plain http on any host with allowInsecureHttp', async () => {
    const options = { baseUrl: 'http://api.test', allowInsecureHttp: true }
    expect(await urlOf(options)).toBe('http://api.test/api/oauth/v1/me')
  })
})

describe('the query', () => {
  test('omits undefined and null, keeps all other values, and repeats the name for an array', async () => {
    const fetch = scripted(json(page([])))
    const query = { limit: 5, after: undefined, before: null, q: '', zero: 0, no: false, tag: ['a', 'b'], none: [] }
    await makeClient({ fetch }).conversations.list(query)
    expect(fetch.queries()[0]).toBe('?limit=5&q=&zero=0&no=false&tag=a&tag=b')
  })

  test('arrives unchanged with any characters', async () => {
    const fetch = scripted(json(page([])))
    const { conversations } = makeClient({ fetch })
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(
          fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => !['limit', 'after', 'before'].includes(name)),
          fc.string({ unit: 'grapheme' }),
        ),
        async (query) => {
          await conversations.list(query)
          const url = new URL(fetch.requests.at(-1)?.url ?? '')
          expect([...url.searchParams]).toEqual(Object.entries(query))
          expect(url.href).toBe(`https://api.test/api/oauth/v1/conversations${url.search}`)
        },
      ),
    )
  })

  test.each([
    ['an object', {}],
    ['a date', new Date(0)],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['half a surrogate pair', '\ud800'],
    ['a nested array', [['a']]],
    ['a bigint', 1n],
  ])('with %s is rejected before a request is sent', async (_, value) => {
    const extraQuery = { field: value as string }
    const error = await invalidArgument(({ conversations }) => conversations.list({}, { extraQuery }))
    expect(error).toHaveProperty('argument', 'field')
  })
})

describe('a path parameter', () => {
  test('arrives as one segment with any characters', async () => {
    const fetch = scripted(json(item))
    const { members } = makeClient({ fetch })
    const ids = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.constantFrom('a/b', 'a?b', 'a#b', 'a%2fb', '%2e%2e', '%', '//evil.test', '/\\evil.test', 'https://evil.test'),
      fc.constantFrom('@evil.test', '...', '\t', '\n', ' ', ';', 'ä', '{id}', '\u202e', '../..', '..\\..'),
    )
    await fc.assert(
      fc.asyncProperty(
        ids.filter((id) => id !== '.' && id !== '..'),
        async (id) => {
          await members.get(id)
          const url = new URL(fetch.requests.at(-1)?.url ?? '')
          const segments = url.pathname.split('/')
          expect(url.origin + segments.slice(0, -1).join('/')).toBe('https://api.test/api/oauth/v1/users')
          expect(decodeURIComponent(segments.at(-1) ?? '')).toBe(id)
          expect(url.search + url.hash).toBe('')
        },
      ),
    )
  })

  test.each([
    ['an empty string', ''],
    ['"."', '.'],
    ['".."', '..'],
    ['half a surrogate pair', 'a\udc00'],
    ['undefined', undefined],
    ['a number', 7],
    ['null', null],
  ])('is rejected before a request is sent when it is %s', async (_, id) => {
    const error = await invalidArgument(({ members }) => members.get(id as string))
    expect(error).toHaveProperty('argument', 'id')
  })
})

const escapes = [
  ...'//evil.test/x /\\evil.test/x \\\\evil.test https://evil.test/x evil.test @evil.test/x .evil.test/x'.split(' '),
  ...':8080/x /.. /api/../../x /api/%2e%2e/x /api/%2E./x /api/./x /api?x=1 /api#x /..\u0001 /x\u007f'.split(' '),
  ...['/\t/evil.test', '/\n/evil.test', '\t//evil.test', ''],
]

describe('a path that could leave the base URL', () => {
  test.each(escapes)('is rejected by defineOperation, and by request() before a request is sent: %j', async (path) => {
    expect(() => defineOperation({ id: 'x', method: 'GET', path: path as '/' })).toThrow(InvalidArgumentError)
    await invalidArgument((client) => client.request('GET', path as '/'))
  })

  test('never reaches another origin, for any mix of special characters', async () => {
    const fetch = scripted(json({}))
    const client = makeClient({ baseUrl: 'https://api.test/prefix', fetch })
    const pieces = fc.constantFrom('\t', ' ', ...'/ \\ . .. %2e @ : evil.test a { } ? #'.split(' '))
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 8 }), async (parts) => {
        const operation: Operation = { id: 'x', method: 'GET', path: parts.join('') as '/', envelope: 'any' }
        const before = fetch.requests.length
        await client.call(operation, {} as never).then(undefined, () => {})
        for (const { url } of fetch.requests.slice(before)) expect(url).toMatch(/^https:\/\/api\.test\/prefix\//)
      }),
      { numRuns: 500 },
    )
  })
})

describe('headers', () => {
  test('include the token, ask for JSON, and let the call override the client', async () => {
    const fetch = scripted(json({}))
    await makeClient({ fetch, headers: { 'X-App': 'a', 'x-client': 'c' } }).me({ headers: { 'x-app': 'b' } })
    expect(Object.fromEntries(fetch.requests[0]?.headers ?? [])).toEqual({
      accept: 'application/json',
      authorization: `Bearer ${token}`,
      'user-agent': expect.stringMatching(/^support-workspace-sdk\/\d+\.\d+\.\d+ Node\.js\/\d+$/),
      'x-app': 'b',
      'x-client': 'c',
    })
  })

  describe('as a function', () => {
    test('are asked for before each attempt, after those of the client, and checked', async () => {
      const fetch = scripted(json({}, 503), json({}))
      let asked = 0
      const headers = async () => ({ 'x-span': `span-${++asked}`, 'x-none': undefined })
      jitter(0)
      await makeClient({ fetch, headers: () => ({ 'x-span': 'client', 'x-tenant': 'a' }) }).me({ headers })
      const names = ['x-span', 'x-tenant', 'x-none']
      const sent = fetch.requests.map(({ headers }) => names.map((name) => headers.get(name)).join())
      expect(sent).toEqual(['span-1,a,', 'span-2,a,'])
    })

    test.each<[string, () => unknown, object]>([
      ['returns authorization', () => ({ authorization: 'Bearer other' }), { argument: 'headers' }],
      ['returns nothing', () => undefined, { argument: 'headers' }],
      ['returns a function', () => () => ({}), { argument: 'headers' }],
      ['stalls', () => new Promise(() => {}), { name: 'TimeoutError', remedy: 'retry' }],
    ])('that %s reject the call before anything is sent', async (_, headers, expected) => {
      const fetch = scripted(json({}))
      const call = makeClient({ fetch, headers: headers as never, timeout: 20 }).me()
      expect(await rejection(call)).toMatchObject({ ...expected, outcome: 'not-sent' })
      expect(fetch.requests).toEqual([])
    })
  })

  test("omit undefined values and keep the caller's accept and user-agent", async () => {
    const fetch = scripted(json({}))
    const headers = { accept: 'application/vnd.test+json', 'user-agent': 'mine', 'x-none': undefined }
    await makeClient({ fetch, headers }).me({ headers: { 'x-other': undefined } })
    const sent = fetch.requests[0]?.headers
    const names = ['accept', 'user-agent', 'x-none', 'x-other']
    expect(names.map((name) => sent?.get(name))).toEqual(['application/vnd.test+json', 'mine', null, null])
  })

  test.each([
    [{ name: 'my-sync' }, 'my-sync'],
    [{ name: 'my-sync', version: '1.4.2' }, 'my-sync/1.4.2'],
    [{ name: 'my-sync', url: 'https://example.com' }, 'my-sync (https://example.com)'],
    [{ name: 'my-sync', version: '1.4.2', url: 'https://example.com' }, 'my-sync/1.4.2 (https://example.com)'],
    [{ name: 'my-sync', version: null, url: null }, 'my-sync'],
  ])('include an appInfo of %j', async (appInfo, text) => {
    const fetch = scripted(json({}))
    await makeClient({ fetch, appInfo: appInfo as never }).me()
    expect(fetch.requests[0]?.headers.get('user-agent')).toMatch(/ Node\.js\/\d+ \S.*$/)
    expect(fetch.requests[0]?.headers.get('user-agent')?.replace(/^.* Node\.js\/\d+ /, '')).toBe(text)
  })

  const navigators = [undefined, {}, { userAgent: 7 }, { userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' }]
  test.each(navigators)('have no user-agent in a browser or an unknown runtime: %j', async (navigator) => {
    vi.stubGlobal('navigator', navigator)
    onTestFinished(() => void vi.unstubAllGlobals())
    const fetch = scripted(json({}))
    await makeClient({ fetch, appInfo: { name: 'my-sync' } }).me()
    expect(fetch.requests[0]?.headers.has('user-agent')).toBe(false)
  })

  test.each([
    {},
    { name: 'a b' },
    { name: 'a\r\nx: y' },
    { name: 'a', url: 'x)y' },
    { name: 'a', version: 'ö' },
    { name: ['a'] },
    null,
    7,
    { name: 'a', version: Symbol('1') },
    { name: Symbol('a') },
    { name: 'a', url: Symbol('u') },
  ])('do not accept an appInfo of %j', (appInfo) => {
    expect(() => makeClient({ appInfo: appInfo as never })).toThrow('`appInfo`')
  })

  test.each([
    ['a Headers object', new Headers({ 'x-app': 'a' })],
    ['an array of pairs', Object.entries({ 'x-app': 'a', 'x-none': undefined })],
  ])('can be %s', async (_, headers) => {
    const fetch = scripted(json({}))
    await makeClient({ fetch, headers: headers as never }).me()
    expect(fetch.requests[0]?.headers.get('x-app')).toBe('a')
    expect(fetch.requests[0]?.headers.has('x-none')).toBe(false)
  })
})

describe('the body', () => {
  test.each([null, false, 0, ''])('is sent as JSON when it is %j', async (body) => {
    const fetch = scripted(json({}))
    await makeClient({ fetch }).request('POST', '/x', { body })
    expect(await fetch.requests[0]?.text()).toBe(JSON.stringify(body))
    expect(fetch.requests[0]?.headers.get('content-type')).toBe('application/json')
  })

  test('is empty, without a content type, if a write has none', async () => {
    const fetch = scripted(json({}))
    await makeClient({ fetch }).request('POST', '/x')
    expect(await fetch.requests[0]?.text()).toBe('')
    expect(fetch.requests[0]?.headers.has('content-type')).toBe(false)
  })

  test('of a GET is rejected before a request is sent', async () => {
    const error = await invalidArgument((client) => client.request('GET', '/x', { body: {} }))
    expect(error).toHaveProperty('argument', 'body')
  })

  test('is sent as the caller wrote it, even if the schema reads the fields in another order', async () => {
    const fetch = scripted(json(item))
    await makeClient({ fetch }).messages.create('c1', { custom: 1, body_html: 'x' } as never)
    expect(await fetch.requests[0]?.text()).toBe('{"custom":1,"body_html":"x"}')
  })

  test('is checked by the schema of the operation, and the error names the field but not its value', async () => {
    const error = await invalidArgument(({ messages }) => messages.create('c1', { body_html: 12345 as never }))
    expect(String(error)).toContain('messages.create: `body.body_html` is invalid: expected string, received number.')
    expect(String(error)).not.toContain('12345')
  })
})
