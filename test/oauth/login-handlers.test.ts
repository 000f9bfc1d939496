import { inspect } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  createLoginHandlers,
  InvalidArgumentError,
  LoginError,
  type LoginHandlersOptions,
  type LoginStartOptions,
  PublicOAuthApp,
} from '../../src/oauth/index.ts'
import { rejection } from '../helpers/client.ts'
import {
  redirectUri,
  type Site,
  type SiteOptions,
  secret,
  siteUrl,
  startService,
  untilCallback,
} from './helpers/site.ts'

const older = 'the secret of last year, 32 characters or more'

const { sandbox, makeSite } = await startService()
beforeEach(() => sandbox.clearRequests())

const tokenRequests = () => sandbox.requests.filter(({ path }) => path.startsWith('/api/oauth/token'))
const start = (query = '') => new Request(`${siteUrl}/login${query}`)

describe('a login through the handlers', () => {
  test('passes the token, the request and the requested path to onConnected, and redirects to that path', async () => {
    const seen: unknown[] = []
    const onConnected: LoginHandlersOptions['onConnected'] = (token, { request, returnTo }) => {
      seen.push(token.scope, new URL(request.url).pathname, returnTo)
    }
    const { at, response } = await makeSite({ handlers: { onConnected } })
      .browser()
      .go(`${siteUrl}/login?return_to=/inbox%3Ftab%3Dopen`)
    expect(at).toBe(`${siteUrl}/inbox?tab=open`)
    expect(await response.text()).toBe('page /inbox')
    expect(seen).toEqual(['conversations:read messages:write', '/login/callback', '/inbox?tab=open'])
  })

  test.each([
    ['the path that the app chose for this login, over the one in the start URL', '?return_to=/a', '/contacts?page=2'],
    ['the default path if none was requested', '', undefined],
    ['the default path if the one in the start URL leaves the site', '?return_to=/.//evil.example', undefined],
    ['the default path if the start URL has two', '?return_to=/a&return_to=/b', undefined],
  ])('returns to %s', async (_title, query, returnTo) => {
    const { browser } = makeSite({ handlers: { returnTo: '/home' }, start: { returnTo } })
    expect((await browser().go(`${siteUrl}/login${query}`)).at).toBe(siteUrl + (returnTo ?? '/home'))
  })

  test.each([
    () => Response.redirect(`${siteUrl}/chosen`, 302),
    async () => new Response('stored', { status: 201, headers: { 'set-cookie': 'session=1', 'x-app': 'yes' } }),
    () => new Response(null, { status: 200 }),
    () => new Response(null, { status: 599, statusText: 'Odd' }),
  ])('sends the response of onConnected, and clears the cookie', async (onConnected) => {
    const visitor = makeSite({ handlers: { onConnected } }).browser()
    const response = await visitor.request(await untilCallback(visitor))
    const expected = await onConnected()
    expect([response.status, response.statusText]).toEqual([expected.status, expected.statusText])
    expect(response.headers.get('x-app')).toBe(expected.headers.get('x-app'))
    expect(response.headers.getSetCookie().at(-1)).toMatch(/^__Host-support_login\..*Max-Age=0/)
    expect([...visitor.cookies.keys()]).toEqual(expected.headers.has('set-cookie') ? ['session'] : [])
  })

  test.each([
    ['sec-purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;prerender'],
    ['purpose', 'prefetch'],
    ['x-moz', 'prefetch'],
  ])('does not start for a speculative request (%s: %s)', async (name, value) => {
    const response = await makeSite().login.start(new Request(`${siteUrl}/login`, { headers: { [name]: value } }))
    expect(response.status).toBe(503)
    expect(response.headers.getSetCookie()).toEqual([])
    expect(response.headers.get('location')).toBeNull()
    expect(response.headers.get('vary')).toBe('sec-purpose')
  })

  test('can be finished by another server, also with a newer secret and behind a proxy that terminates TLS', async () => {
    const first = makeSite({ handlers: { secret: older } })
    const second = makeSite({ handlers: { secret: [secret, older] } })
    const visitor = first.browser()
    const callback = await untilCallback(visitor)
    const headers = { cookie: visitor.cookieHeader(new URL(callback)) }
    await second.serve(new Request(callback.replace(siteUrl, 'http://10.0.0.7:8080'), { headers }))
    expect([first.tokens.length, second.tokens.length]).toEqual([0, 1])
  })

  test('sends only responses that are not cached and send no referrer', async () => {
    const visitor = makeSite().browser()
    const callback = await untilCallback(visitor)
    for (const [address, method] of [
      [`${siteUrl}/login`, 'GET'],
      [`${siteUrl}/login`, 'PUT'],
      [callback, 'POST'],
      [`${callback}x`, 'GET'],
      [callback, 'GET'],
    ] as const) {
      const { headers } = await visitor.request(address, { method })
      expect([headers.get('cache-control'), headers.get('referrer-policy')]).toEqual(['no-store', 'no-referrer'])
    }
  })

  test.each([
    ['/login', { GET: 303, POST: 303, HEAD: 405, PUT: 405, DELETE: 405 }, 'GET, POST'],
    ['/login/callback', { GET: 400, HEAD: 405, POST: 405, PUT: 405 }, 'GET'],
  ])('%s supports its methods only: %j', async (path, statuses, allow) => {
    for (const [method, status] of Object.entries(statuses)) {
      const response = await makeSite().browser().request(`${siteUrl}${path}`, { method })
      expect(response.status).toBe(status)
      if (status !== 405) continue
      expect(response.headers.get('allow')).toBe(allow)
      expect(response.headers.getSetCookie()).toEqual([])
    }
  })
})

describe('with a failing onConnected', () => {
  const failure = new Error('the database is away')
  const onConnected = () => Promise.reject(failure)

  test.each([
    ['without onError', undefined],
    ['with an onError that only observes', () => {}],
  ])('the handler throws the error %s, and never sends the code again', async (_title, onError) => {
    const { browser, serve } = makeSite({ handlers: { onConnected, onError } })
    const visitor = browser()
    const callback = await untilCallback(visitor)
    const cookie = visitor.cookieHeader(new URL(callback))
    await expect(visitor.request(callback)).rejects.toBe(failure)
    const again = await serve(new Request(callback, { headers: { cookie } }))
    expect(again.status).toBe(400)
    expect(await again.text()).toContain('<h1>Not connected</h1>')
    expect(again.headers.getSetCookie()).toEqual([expect.stringContaining('Max-Age=0')])
    expect(tokenRequests()).toHaveLength(1)
  })

  test.each<[string, unknown, unknown]>([
    ['an error', failure, failure],
    ['a LoginError of its own', new LoginError('x', { reason: 'invalid_grant', hint: 'y' }), expect.any(LoginError)],
    ['a value that is not an error', 'text', expect.objectContaining({ cause: 'text' })],
  ])('onError gets %s with status 500, and its page clears the cookie', async (_title, thrown, received) => {
    const seen: unknown[] = []
    const onError: LoginHandlersOptions['onError'] = (error, { status }) => {
      seen.push(error, status)
      return new Response('our page', { status })
    }
    const visitor = makeSite({ handlers: { onConnected: () => Promise.reject(thrown), onError } }).browser()
    const { response } = await visitor.go(`${siteUrl}/login`)
    expect([response.status, await response.text()]).toEqual([500, 'our page'])
    expect(seen).toEqual([received, 500])
    expect(visitor.cookies.size).toBe(0)
  })

  const odd = ['200', 199, 600].map((status) => ({ status, headers: new Headers() }))
  const none = ['text', null, 7, {}, Response.error(), { status: 200 }, { status: 200, headers: {} }, ...odd]
  test.each(none)('a result that is not a Response is an error: %j', async (result) => {
    const { browser, errors } = makeSite({ handlers: { onConnected: () => result as never } })
    const expected = expect.objectContaining({ name: 'InvalidArgumentError', argument: 'onConnected' })
    await expect(browser().go(`${siteUrl}/login`)).rejects.toEqual(expected)
    expect(errors).toEqual([expected])
  })
})

test('an onError gets data and returnTo, or the defaults if the login is unknown, and can replace the page', async () => {
  const seen: unknown[] = []
  const onError: LoginHandlersOptions['onError'] = (_error, { data, returnTo, status }) => {
    seen.push({ data, returnTo, status })
    return new Response('our page', { status: 418 })
  }
  const handlers = { returnTo: '/home', parameters: { auto: 'deny' }, onError }
  const visitor = makeSite({ start: { data: 'u_1' }, handlers }).browser()
  await visitor.go(`${siteUrl}/login?return_to=/a`)
  const { response } = await visitor.go(`${redirectUri}?code=1&state=2`)
  expect(seen).toEqual([
    { data: 'u_1', returnTo: '/a', status: 403 },
    { data: undefined, returnTo: '/home', status: 400 },
  ])
  expect([response.status, await response.text()]).toEqual([418, 'our page'])
  expect(response.headers.get('referrer-policy')).toBe('no-referrer')
})

const wrongSecret = { clientSecret: 'a-wrong-secret' }
const untrusted = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
const unheard = { onError: undefined }
const rejectedApp = { name: 'LoginError', reason: 'invalid_client', remedy: 'fix', status: 401 }
test.each<[string, SiteOptions, object[]]>([
  ['the error of a misconfigured app', { app: wrongSecret, handlers: unheard }, [rejectedApp]],
  ['an error that a browser brought back', { handlers: { ...unheard, scope: ['x:y'] } }, [{ code: 'invalid_scope' }]],
  [
    'an error of the connection that must be fixed',
    { app: { fetch: () => Promise.reject(untrusted) }, handlers: unheard },
    [{ name: 'NetworkError', remedy: 'fix' }],
  ],
  ['nothing if another login can succeed', { handlers: { ...unheard, parameters: { auto: 'deny' } } }, []],
  ['nothing if there is an onError', { app: wrongSecret }, []],
])('the operator sees on the console %s', async (_title, options, errors) => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => printed.mockRestore())
  await makeSite(options).browser().go(`${siteUrl}/login`)
  expect(printed.mock.calls).toMatchObject(errors.map((error) => [error]))
  expect(inspect(printed.mock.calls)).not.toContain('a-wrong-secret')
})

describe('attacks on a login', () => {
  test.each<[string, string, (site: ReturnType<Site>) => Promise<unknown>]>([
    [
      'a callback in another browser',
      'transaction_missing',
      async ({ browser }) => browser().go(await untilCallback(browser())),
    ],
    [
      'a changed cookie',
      'transaction_invalid',
      async ({ browser }) => {
        const visitor = browser()
        const callback = await untilCallback(visitor)
        for (const cookie of visitor.cookies.values()) {
          const { value } = cookie
          cookie.value = value.slice(0, -9) + (value.at(-9) === 'A' ? 'B' : 'A') + value.slice(-8)
        }
        await visitor.go(callback)
        expect(visitor.cookies.size).toBe(0)
      },
    ],
  ])('reject %s as %s before sending anything', async (_title, reason, attack) => {
    const site = makeSite()
    await attack(site)
    expect(site.errors).toMatchObject([{ reason }])
    expect(site.tokens).toEqual([])
    expect(tokenRequests()).toEqual([])
  })

  test('exchange the code once for concurrent callbacks with one cookie, even through two handlers', async () => {
    const [first, second] = [makeSite(), makeSite()]
    const visitor = first.browser()
    const callback = await untilCallback(visitor)
    const headers = { cookie: visitor.cookieHeader(new URL(callback)) }
    const responses = await Promise.all(
      [first, first, second].map(({ serve }) => serve(new Request(callback, { headers }))),
    )
    const statuses = responses.map(({ status }) => status)
    // Those that end after the login was completed go on, too. The others have failed.
    expect(statuses).toContain(303)
    expect(statuses.filter((status) => status === 303 || status === 400)).toHaveLength(3)
    const errors = [...first.errors, ...second.errors]
    expect(errors).toHaveLength(statuses.filter((status) => status === 400).length)
    for (const error of errors) expect(error).toMatchObject({ reason: 'transaction_used' })
    expect(tokenRequests()).toHaveLength(1)
  })
})

describe('the options of one login', () => {
  const requested = (response: Response) => {
    const { searchParams } = new URL(response.headers.get('location') ?? '')
    return { scope: searchParams.get('scope'), actor: searchParams.get('actor'), prompt: searchParams.get('prompt') }
  }
  const usual = { scope: 'conversations:read messages:write', actor: 'self', prompt: 'none' }

  test.each<[LoginStartOptions | undefined, object]>([
    [{ scope: 'contacts:read' }, { scope: 'contacts:read' }],
    [{ actor: 'app' }, { actor: 'app' }],
    [{ parameters: {} }, { prompt: null }],
    [{ scope: undefined, data: 1 }, {}],
    [undefined, {}],
  ])('override those of the handlers, one by one: %j', async (options, expected) => {
    const { login } = makeSite({ handlers: { parameters: { prompt: 'none' } } })
    expect(requested(await login.start(start(), options))).toEqual({ ...usual, ...expected })
    expect(requested(await login.start(start()))).toEqual(usual)
  })

  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  const tooLong = `/${'x'.repeat(1_024)}`

  test.each<[string, unknown]>([
    ...['https://evil.example', '//evil.example', 'inbox', tooLong, 7, null].map((returnTo): [string, unknown] => [
      'returnTo',
      { returnTo },
    ]),
    ['scope', { scope: null }],
    ['scope', { scope: [] }],
    ['actor', { actor: null }],
    ['actor', { actor: 'owner' }],
    ['parameters', { parameters: { state: 'mine' } }],
    ['scopes', { actor: 'app', scopes: [] }],
    ['options', null],
    ['options', 'app'],
    ...[() => {}, 1n, Symbol('id'), { id: 'u_1', map: new Map() }, cyclic, Number.NaN, 'x'.repeat(3_500)].map(
      (data): [string, unknown] => ['data', { data }],
    ),
  ])('are rejected for %s', async (argument, options) => {
    const starting = makeSite().login.start(start(), options as never)
    // The argument of an error about `data` has the path of the value.
    const named = expect.stringMatching(new RegExp(`^${argument}(\\.|$)`))
    await expect(starting).rejects.toMatchObject({ name: 'InvalidArgumentError', argument: named })
  })

  test.each([{ params: Promise.resolve({}) }, () => {}, {}])(
    'ignore the second argument of a framework',
    async (given) => {
      expect((await makeSite().login.start(start(), given as never)).status).toBe(303)
    },
  )

  test.each([
    { userId: 'user_0123456789', tags: ['a', null, 2.5, true], optional: undefined },
    Object.assign(Object.create(null), { userId: 'user_0123456789' }),
    'x'.repeat(1_022),
    null,
    0,
    false,
    [],
  ])('pass data to onConnected without revealing it or the return path: %j', async (data) => {
    const onConnected = vi.fn()
    const visitor = makeSite({ handlers: { onConnected }, start: { data } }).browser()
    await visitor.go(`${siteUrl}/login?return_to=/a-private-path`)
    const expected = { data: JSON.parse(JSON.stringify(data)), returnTo: '/a-private-path' }
    expect(onConnected).toHaveBeenCalledExactlyOnceWith(expect.anything(), expect.objectContaining(expected))
    expect(visitor.visited.slice(1, -1).join()).not.toMatch(/user_0123456789|a-private-path/)
  })

  /** Finishes the login that a response of `start` began. */
  async function finish(login: ReturnType<typeof createLoginHandlers>, response: Response) {
    const [cookie = ''] = response.headers.getSetCookie()
    const consent = await fetch(response.headers.get('location') ?? '', { redirect: 'manual' })
    const headers = { cookie: cookie.slice(0, cookie.indexOf(';')) }
    await login.callback(new Request(consent.headers.get('location') ?? '', { headers }))
  }

  test('are copied when start is called, so that a reused object does not mix up two users', async () => {
    const seen: unknown[] = []
    const { login } = makeSite({ handlers: { onConnected: (_token, { data }) => void seen.push(data) } })
    const options = { scope: ['contacts:read'], parameters: { prompt: 'none' }, data: { userId: '' } }
    const startFor = (userId: string) => {
      options.data.userId = userId
      return login.start(start(), options)
    }
    const [alice, mallory] = [startFor('alice'), startFor('mallory')]
    options.data.userId = 'x'.repeat(2_000)
    options.scope.push('messages:write')
    options.parameters.prompt = 'consent'
    for (const response of [await alice, await mallory]) {
      expect(requested(response)).toEqual({ scope: 'contacts:read', actor: 'self', prompt: 'none' })
      await finish(login, response)
    }
    expect(seen).toEqual([{ userId: 'alice' }, { userId: 'mallory' }])
  })
})

describe('createLoginHandlers rejects', () => {
  test.each<[string, Partial<LoginHandlersOptions>]>([
    ['secret', { secret: 'short' }],
    ['secret', { secret: [] }],
    ['scope', { scope: [] }],
    ['actor', { actor: 'owner' as never }],
    ['parameters', { parameters: { state: 'mine' } }],
    ['parameters', { parameters: ['prompt=consent'] as never }],
    ['returnTo', { returnTo: '//evil.example' }],
    ['returnTo', { returnTo: `/${'漢'.repeat(511)}` }],
    ...['a b', '', 'x'.repeat(65)].map((cookieName): [string, object] => ['cookieName', { cookieName }]),
    ['onConnected', { onConnected: undefined as never }],
    ['onConnected', { onConnected: '/connected' as never }],
    ['onError', { onError: true as never }],
    ['onConnect', { onConnect: () => {} } as never],
    ['scopes', { scopes: ['conversations:read'] } as never],
    ...['secret', 'scope', 'actor', 'parameters', 'returnTo', 'cookieName', 'onConnected', 'onError'].map(
      (name): [string, object] => [name, { [name]: null }],
    ),
  ])('the option %s with the value %j', (argument, handlers) => {
    expect(() => makeSite({ handlers })).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument }))
  })

  test.each([undefined, null, 'options', []])('the options %j', (options) => {
    const { app } = makeSite()
    expect(() => createLoginHandlers(app, options as never)).toThrow(expect.objectContaining({ argument: 'options' }))
  })

  test('an app that has no finishLogin', () => {
    const publicApp = new PublicOAuthApp({ baseUrl: sandbox.url, clientId: 'app_abc123', redirectUri })
    for (const app of [publicApp, undefined, null, {}]) {
      const options = { secret, scope: 'conversations:read', onConnected: () => {} }
      expect(() => createLoginHandlers(app as never, options)).toThrow(expect.objectContaining({ argument: 'app' }))
    }
  })

  test('a redirect URI that is not http(s)', () => {
    expect(() => makeSite({ app: { redirectUri: 'com.example.app:/callback' } })).toThrow(InvalidArgumentError)
  })
})

const url = `${redirectUri}?code=secret-code`
test.each<[string, unknown]>([
  ['a Node request', { method: 'GET', url: '/login/callback?code=secret-code&state=1', headers: {} }],
  ['a relative URL', { method: 'GET', url: '/login/callback?code=secret-code', headers: new Headers() }],
  ['no URL', { method: 'GET', headers: new Headers() }],
  ['a URL object', { method: 'GET', url: new URL(url), headers: new Headers() }],
  ['no headers', { method: 'GET', url }],
  ['plain headers', { method: 'GET', url, headers: {} }],
  ['a string', '/login/callback?code=secret-code'],
  ['null', null],
  ['no argument', undefined],
])('the handlers reject %s instead of a web request, without quoting it', async (_title, request) => {
  const { login } = makeSite()
  for (const handler of [login.start, login.callback]) {
    const error = (await rejection(handler(request as never))) as InvalidArgumentError
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'request' })
    expect(error.message).toContain('`toNodeListener`')
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain('secret-code')
  }
})
