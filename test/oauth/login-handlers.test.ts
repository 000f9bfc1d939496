import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type AccessToken,
  createLoginHandlers,
  InvalidArgumentError,
  knownScopes,
  LoginError,
  type LoginHandlersOptions,
  OAuthApp,
  type OAuthAppOptions,
  PublicOAuthApp,
} from '../../src/oauth.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox.ts'
import { rejection } from '../helpers/client.ts'
import { Browser } from './helpers/browser.ts'

const secret = 'a secret of this app, 32 characters or more'
const older = 'the secret of last year, 32 characters or more'
const site = 'https://app.example'
const redirectUri = `${site}/login/callback`

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ autoConsent: 'allow' })
  sandbox.registerRedirectUri(redirectUri)
  sandbox.registerRedirectUri('http://localhost:3000/login/callback')
})
afterAll(() => sandbox.close())
beforeEach(() => sandbox.clearRequests())

interface Setup {
  readonly app?: Partial<OAuthAppOptions>
  readonly handlers?: Partial<LoginHandlersOptions>
}

/** A site with a login, and the results of its logins. */
function makeSite({ app: appOptions = {}, handlers = {} }: Setup = {}) {
  const { clientId, clientSecret } = sandbox.app
  const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri, ...appOptions })
  const tokens: AccessToken[] = []
  const errors: Error[] = []
  const login = createLoginHandlers(app, {
    secret,
    scope: ['conversations:read', 'messages:write'],
    actor: 'self',
    onConnected: (token) => void tokens.push(token),
    onError: (error) => void errors.push(error),
    ...handlers,
  })
  const serve = (request: Request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/login') return login.start(request)
    return pathname === '/login/callback' ? login.callback(request) : new Response(`page ${pathname}`)
  }
  return { app, login, tokens, errors, serve, browser: () => new Browser({ [new URL(app.redirectUri).origin]: serve }) }
}

const isCallback = (address: string) => address.includes('/login/callback?')
const tokenRequests = () => sandbox.requests.filter(({ path }) => path.startsWith('/api/oauth/token'))

/** Follows a login up to the callback, and returns the callback URL without requesting it. */
async function untilCallback(browser: Browser, start = `${site}/login`): Promise<string> {
  return (await browser.go(start, isCallback)).at
}

describe('a login through the handlers', () => {
  test('passes the token to onConnected and redirects to the requested path', async () => {
    const { tokens, browser } = makeSite()
    const { at, response } = await browser().go(`${site}/login?return_to=/inbox%3Ftab%3Dopen`)
    expect(at).toBe(`${site}/inbox?tab=open`)
    expect(await response.text()).toBe('page /inbox')
    expect(tokens.map((token) => token.scope)).toEqual(['conversations:read messages:write'])
    expect(tokens[0]?.accessToken).toMatch(/^swot_/)
  })

  test('returns to the path that the app chose for this login, over the one in the start URL', async () => {
    const { login, serve, tokens } = makeSite({ handlers: { returnTo: '/home' } })
    const withReturnTo = (request: Request) =>
      new URL(request.url).pathname === '/contacts'
        ? login.start(request, { returnTo: '/contacts?page=2', scope: ['contacts:read'] })
        : serve(request)
    const visitor = new Browser({ [site]: (request) => (tokens.length === 0 ? withReturnTo(request) : serve(request)) })
    const { at } = await visitor.go(`${site}/contacts?return_to=/elsewhere`)
    expect(at).toBe(`${site}/contacts?page=2`)
    expect(tokens.map((token) => token.scope)).toEqual(['contacts:read'])
  })

  test.each([['https://evil.example'], ['//evil.example'], ['inbox'], [`/${'x'.repeat(1_024)}`], [7], [null]])(
    'refuses to start with %j as the path to return to',
    async (returnTo) => {
      const start = makeSite().login.start(new Request(`${site}/login`), { returnTo: returnTo as string })
      expect(await rejection(start)).toMatchObject({ name: 'InvalidArgumentError', argument: 'returnTo' })
    },
  )

  test('also starts with POST', async () => {
    const { browser } = makeSite()
    const response = await browser().request(`${site}/login`, { method: 'POST' })
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toContain('/api/oauth/authorize?')
  })

  test('redirects to the default path if none was requested', async () => {
    const { browser } = makeSite({ handlers: { returnTo: '/welcome' } })
    expect((await browser().go(`${site}/login`)).at).toBe(`${site}/welcome`)
  })

  test('sends the response of onConnected, and clears the cookie', async () => {
    const results = [
      () => Response.redirect(`${site}/chosen`, 302),
      async () =>
        new Response('stored', {
          status: 201,
          statusText: 'Stored',
          headers: [
            ['set-cookie', 'session=1'],
            ['x-app', 'yes'],
          ],
        }),
    ]
    for (const onConnected of results) {
      const { browser } = makeSite({ handlers: { onConnected } })
      const visitor = browser()
      const response = await visitor.request(await untilCallback(visitor))
      expect([302, 201]).toContain(response.status)
      expect(response.headers.getSetCookie().at(-1)).toMatch(/^__Host-support_login\..*Max-Age=0/)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect([...visitor.cookies.keys()].filter((name) => name.startsWith('__Host-'))).toEqual([])
      if (response.status === 201) {
        expect(response.statusText).toBe('Stored')
        expect(response.headers.get('x-app')).toBe('yes')
        expect(visitor.cookies.get('session')?.value).toBe('1')
      }
    }
  })

  test.each([200, 599])('sends a response of onConnected with the status %i', async (status) => {
    const { browser } = makeSite({ handlers: { onConnected: () => new Response(null, { status }) } })
    expect((await browser().go(`${site}/login`)).response.status).toBe(status)
  })

  test('passes the request and the return path to onConnected', async () => {
    const seen: unknown[] = []
    const onConnected: LoginHandlersOptions['onConnected'] = (_token, { request, returnTo }) => {
      seen.push(new URL(request.url).pathname, returnTo)
    }
    await makeSite({ handlers: { onConnected } }).browser().go(`${site}/login?return_to=/a`)
    expect(seen).toEqual(['/login/callback', '/a'])
  })

  describe('with a failing onConnected', () => {
    const failure = new Error('the database is away')
    const onConnected = () => Promise.reject(failure)

    test('passes the error to onError with status 500, and clears the cookie', async () => {
      const seen: unknown[] = []
      const onError: LoginHandlersOptions['onError'] = (error, { status }) => void seen.push(error, status)
      const visitor = makeSite({ handlers: { onConnected, onError } }).browser()
      const { response } = await visitor.go(`${site}/login`)
      expect(seen).toEqual([failure, 500])
      expect(response.status).toBe(500)
      expect(await response.text()).not.toContain('database')
      expect(visitor.cookies.size).toBe(0)
    })

    test('throws to the framework without onError, and never sends the code again', async () => {
      const { browser, serve } = makeSite({ handlers: { onConnected, onError: undefined } })
      const visitor = browser()
      const callback = await untilCallback(visitor)
      const cookie = visitor.cookieHeader(new URL(callback))
      await expect(visitor.request(callback)).rejects.toBe(failure)
      const again = await serve(new Request(callback, { headers: { cookie } }))
      expect(again.status).toBe(400)
      expect(again.headers.getSetCookie()).toEqual([expect.stringContaining('Max-Age=0')])
      expect(tokenRequests()).toHaveLength(1)
    })

    test.each([
      ['rejects', () => Promise.reject(new Error('the log is away'))],
      [
        'throws',
        () => {
          throw new Error('the log is away')
        },
      ],
    ])('rejects with the error of an onError that %s, which is called once', async (_title, fail) => {
      const seen: unknown[] = []
      const onError: LoginHandlersOptions['onError'] = (error) => {
        seen.push(error)
        return fail()
      }
      const { browser } = makeSite({ handlers: { onConnected, onError } })
      const visitor = browser()
      const callback = await untilCallback(visitor)
      await expect(visitor.request(callback)).rejects.toThrow('the log is away')
      expect(seen).toEqual([failure])
    })

    test.each([
      ['a LoginError that it throws', new LoginError('x', { reason: 'invalid_grant', hint: 'y' }), LoginError],
      ['a value that is not an error', 'text', Error],
    ])('responds with status 500 to %s', async (_title, thrown, type) => {
      const seen: unknown[] = []
      const onError: LoginHandlersOptions['onError'] = (error, { status }) => void seen.push(error, status)
      const { browser } = makeSite({ handlers: { onConnected: () => Promise.reject(thrown), onError } })
      const { response } = await browser().go(`${site}/login`)
      expect(response.status).toBe(500)
      expect(seen).toEqual([expect.any(type), 500])
      if (seen[0] !== thrown) expect(seen[0]).toMatchObject({ cause: thrown })
    })

    test('reports a result that is not a Response', async () => {
      const headers = new Headers()
      const statuses = ['200', 199, 600].map((status) => ({ status, headers }))
      const unusable = [{ status: 200 }, { status: 200, headers: {} }, ...statuses]
      for (const result of ['text', null, 7, {}, Response.error(), ...unusable]) {
        const { browser, errors } = makeSite({ handlers: { onConnected: () => result as never } })
        expect((await browser().go(`${site}/login`)).response.status).toBe(500)
        expect(errors).toEqual([expect.objectContaining({ name: 'InvalidArgumentError', argument: 'onConnected' })])
      }
    })
  })

  test('does not start for a speculative request', async () => {
    for (const [name, value] of [
      ['sec-purpose', 'prefetch'],
      ['sec-purpose', 'prefetch;prerender'],
      ['purpose', 'prefetch'],
      ['x-moz', 'prefetch'],
    ] as const) {
      const response = await makeSite().login.start(new Request(`${site}/login`, { headers: { [name]: value } }))
      expect(response.status).toBe(503)
      expect(response.headers.getSetCookie()).toEqual([])
      expect(response.headers.get('location')).toBeNull()
      expect(response.headers.get('vary')).toBe('sec-purpose')
    }
  })

  test('rejects with an error that is not the failure of a login', async () => {
    const { app, login, browser, errors } = makeSite()
    const bug = new RangeError('a bug of the app')
    vi.spyOn(app, 'finishLogin').mockRejectedValue(bug)
    const visitor = browser()
    const callback = await untilCallback(visitor)
    const headers = { cookie: visitor.cookieHeader(new URL(callback)) }
    await expect(login.callback(new Request(callback, { headers }))).rejects.toBe(bug)
    expect(errors).toEqual([])
  })

  test('can be finished by another server', async () => {
    const [first, second] = [makeSite(), makeSite()]
    const visitor = new Browser({
      [site]: (request) => (isCallback(request.url) ? second.serve(request) : first.serve(request)),
    })
    await visitor.go(`${site}/login`)
    expect([first.tokens.length, second.tokens.length]).toEqual([0, 1])
  })

  test('works behind a proxy that terminates TLS', async () => {
    const { browser, serve, tokens } = makeSite()
    const visitor = browser()
    const callback = await untilCallback(visitor)
    const cookie = visitor.cookieHeader(new URL(callback))
    await serve(new Request(callback.replace(site, 'http://10.0.0.7:8080'), { headers: { cookie } }))
    expect(tokens).toHaveLength(1)
  })

  test('sends only responses that are not cached and send no referrer', async () => {
    const { browser } = makeSite()
    const visitor = browser()
    const callback = await untilCallback(visitor)
    for (const [address, method] of [
      [`${site}/login`, 'GET'],
      [`${site}/login`, 'PUT'],
      [callback, 'POST'],
      [`${callback}x`, 'GET'],
      [callback, 'GET'],
    ] as const) {
      const { headers } = await visitor.request(address, { method })
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
    }
  })

  test.each([
    ['/login', ['HEAD', 'PUT', 'DELETE'], 'GET, POST'],
    ['/login/callback', ['HEAD', 'POST', 'PUT'], 'GET'],
  ])('%s rejects the method %j', async (path, methods, allow) => {
    for (const method of methods) {
      const response = await makeSite().browser().request(`${site}${path}`, { method })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe(allow)
      expect(response.headers.getSetCookie()).toEqual([])
    }
  })
})

describe('the cookie', () => {
  test('is host-only, Secure, HttpOnly and SameSite=Lax over https, for ten minutes', async () => {
    const response = await makeSite().browser().request(`${site}/login`)
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-support_login\.[0-9a-f]{16}=[\w.-]+; Max-Age=600; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
      ),
    ])
  })

  test('has no prefix over http on loopback', async () => {
    const app = { redirectUri: 'http://localhost:3000/login/callback', transactionLifetime: 90_500 }
    const { browser, tokens } = makeSite({ app, handlers: { cookieName: 'mine' } })
    const visitor = browser()
    const response = await visitor.request('http://localhost:3000/login')
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^mine\.[0-9a-f]{16}=[\w.-]+; Max-Age=91; Path=\/; HttpOnly; SameSite=Lax$/),
    ])
    await visitor.go('http://localhost:3000/login')
    expect(tokens).toHaveLength(1)
  })

  test.each([
    '/login;v=1/callback',
    '/login;domain=evil.example/callback',
    '/a,b/callback',
    "/it's/callback",
    '/a%20b%0d%0a%22/callback',
    '/%E6%BC%A2/callback',
  ])('has the same attributes for a callback at %s', async (path) => {
    for (const origin of [site, 'http://localhost:3000']) {
      sandbox.registerRedirectUri(origin + path)
      const { login, tokens } = makeSite({ app: { redirectUri: origin + path } })
      const visitor = new Browser({
        [origin]: (request) =>
          new URL(request.url).pathname === path ? login.callback(request) : login.start(request),
      })
      const started = await visitor.request(`${origin}/login`)
      const secure = origin === site ? ' Secure;' : ''
      expect(started.headers.getSetCookie()).toEqual([
        expect.stringMatching(new RegExp(`=[\\w.-]+; Max-Age=600; Path=/;${secure} HttpOnly; SameSite=Lax$`)),
      ])
      const { at } = await visitor.go(started.headers.get('location') ?? '', (next) => next.includes(path))
      await visitor.request(at)
      expect(tokens).toHaveLength(1)
    }
  })

  /** Logs in with one return_to after another, and returns the size of the cookies before each callback. */
  async function sizes(start: string, returnTo: string, rounds: number) {
    const visitor = makeSite({
      app: { redirectUri: `${start}/callback` },
      handlers: { scope: knownScopes },
    }).browser()
    const measured: { cookies: number; largest: number; together: number }[] = []
    for (let round = 0; round < rounds; round++) {
      await untilCallback(visitor, `${start}?return_to=${encodeURIComponent(returnTo)}`)
      const header = visitor.cookieHeader(new URL(`${start}/callback`))
      const largest = Math.max(...header.split('; ').map((cookie) => cookie.length))
      measured.push({ cookies: visitor.cookies.size, largest, together: header.length })
    }
    return measured
  }

  test.each([
    ['a long path', `/${'x'.repeat(1_000)}`],
    ['a path of 511 CJK characters', `/${'漢'.repeat(511)}`],
    ['a path that is much too long', `/${'x'.repeat(8_000)}`],
    ['a short path', '/inbox'],
  ])('stays below the limits of browsers and servers with %s', async (_title, returnTo) => {
    for (const start of [`${site}/login`, 'http://localhost:3000/login']) {
      for (const { cookies, largest, together } of await sizes(start, returnTo, 8)) {
        expect(cookies).toBeLessThanOrEqual(5)
        expect(largest).toBeLessThanOrEqual(3_500)
        expect(together).toBeLessThanOrEqual(6_100)
      }
    }
  })

  test('leaves room for five short logins over http', async () => {
    const measured = await sizes('http://localhost:3000/login', '/inbox', 7)
    expect(measured.map(({ cookies }) => cookies)).toEqual([1, 2, 3, 4, 5, 5, 5])
  })

  test('drops a return_to that is too long', async () => {
    const { browser, tokens } = makeSite({ handlers: { returnTo: '/home' } })
    const { at } = await browser().go(`${site}/login?return_to=/${'%E6%BC%A2'.repeat(511)}`)
    expect(at).toBe(`${site}/home`)
    expect(tokens).toHaveLength(1)
  })

  test('drops the return_to and the start path if data leaves no room for them', async () => {
    const { login, serve, tokens } = makeSite({ handlers: { scope: knownScopes, returnTo: '/home' } })
    const query = `?from=${'x'.repeat(900)}&return_to=/${'y'.repeat(1_000)}`
    const visitor = new Browser({
      [site]: (request) =>
        request.url.startsWith(`${site}/login?`) ? login.start(request, { data: 'd'.repeat(1_000) }) : serve(request),
    })
    expect((await visitor.go(`${site}/login${query}`)).at).toBe(`${site}/home`)
    expect(tokens).toHaveLength(1)
  })

  test('keeps a short return_to if only the start path is too long', async () => {
    const { login, serve } = makeSite({ handlers: { scope: knownScopes, returnTo: '/home' } })
    const visitor = new Browser({
      [site]: (request) =>
        request.url.startsWith(`${site}/login?`) ? login.start(request, { data: 'd'.repeat(1_000) }) : serve(request),
    })
    const { at } = await visitor.go(`${site}/login?from=${'x'.repeat(900)}&return_to=/inbox`)
    expect(at).toBe(`${site}/inbox`)
  })

  test('rejects a login that does not fit', async () => {
    const scope = Array.from({ length: 200 }, (_, index) => `resource_number_${index}:read`)
    const starting = makeSite({ handlers: { scope } }).login.start(new Request(`${site}/login`))
    await expect(starting).rejects.toMatchObject({ name: 'InvalidArgumentError', argument: 'scope' })
    const withData = makeSite({ handlers: { scope } }).login.start(new Request(`${site}/login`), { data: 'u_1' })
    await expect(withData).rejects.toMatchObject({ name: 'InvalidArgumentError', argument: 'data' })
  })

  test('keeps two logins with a long path, and a third one without it', async () => {
    const measured = await sizes(`${site}/login`, `/${'x'.repeat(1_000)}`, 4)
    expect(measured.map(({ cookies }) => cookies)).toEqual([1, 2, 3, 3])
  })

  test('drops the return_to and the start path of a new login before another login', async () => {
    const { browser, tokens } = makeSite()
    const visitor = browser()
    const long = `${site}/login?return_to=/${'a'.repeat(1_000)}&x=${'b'.repeat(900)}`
    const first = await untilCallback(visitor, long)
    const second = await untilCallback(visitor, long)
    expect(visitor.cookies.size).toBe(2)
    await visitor.go(second)
    await visitor.go(first)
    expect(tokens).toHaveLength(2)
  })

  test('keeps the return_to and the start path of a new login if another login is dropped in any case', async () => {
    const { browser } = makeSite({ handlers: { onError: undefined, parameters: { auto: 'deny' } } })
    const visitor = browser()
    for (let count = 0; count < 5; count++) await untilCallback(visitor)
    const { response } = await visitor.go(`${site}/login?from=menu&return_to=/inbox`)
    expect(await response.text()).toContain('<a href="/login?from=menu&#38;return_to=%2Finbox">')
  })

  test('is separate for each login, so two tabs can finish in any order', async () => {
    const { browser, tokens } = makeSite()
    const visitor = browser()
    const first = await untilCallback(visitor, `${site}/login?return_to=/one`)
    const second = await untilCallback(visitor, `${site}/login?return_to=/two`)
    expect((await visitor.go(second)).at).toBe(`${site}/two`)
    expect((await visitor.go(first)).at).toBe(`${site}/one`)
    expect(tokens).toHaveLength(2)
    expect(visitor.cookies.size).toBe(0)
  })

  test('is limited to five per browser, and the oldest is dropped', async () => {
    const { browser, errors, tokens } = makeSite()
    const visitor = browser()
    const others = ['other', '0123456789abcdef', '__Host-support_login.theme', '__Host-support_login.0123456789abcdef0']
    for (const name of others) visitor.cookies.set(name, { value: '1', host: 'app.example', path: '/', secure: true })
    const oldest = await untilCallback(visitor)
    for (let count = 0; count < 5; count++) await untilCallback(visitor)
    expect([...visitor.cookies.keys()].filter((name) => !others.includes(name))).toHaveLength(5)
    expect([...visitor.cookies.keys()]).toEqual(expect.arrayContaining(others))
    await visitor.go(oldest)
    expect(errors[0]).toMatchObject({ reason: 'transaction_missing' })
    await visitor.go(await untilCallback(visitor))
    expect(tokens).toHaveLength(1)
  })
})

describe('attacks on a login', () => {
  test('rejects a callback in another browser', async () => {
    const { browser, errors, tokens } = makeSite()
    const callback = await untilCallback(browser())
    const { response } = await browser().go(callback)
    expect(response.status).toBe(400)
    expect(errors).toMatchObject([{ reason: 'transaction_missing' }])
    expect(tokens).toEqual([])
    expect(tokenRequests()).toEqual([])
  })

  test('rejects the cookie of another browser', async () => {
    const { browser, errors } = makeSite()
    const [victim, attacker] = [browser(), browser()]
    await untilCallback(victim)
    await victim.go(await untilCallback(attacker))
    expect(errors).toMatchObject([{ reason: 'transaction_missing' }])
    expect(victim.cookies.size).toBe(1)
  })

  test("rejects another login's cookie under the name of this login", async () => {
    const { browser, errors } = makeSite()
    const visitor = browser()
    const first = await untilCallback(visitor)
    await untilCallback(visitor)
    const [[mine, cookie], [, other]] = [...visitor.cookies] as [[string, never], [string, never]]
    visitor.cookies.set(mine, other ?? cookie)
    await visitor.go(first)
    expect(errors).toMatchObject([{ reason: 'state_mismatch' }])
    expect(tokenRequests()).toEqual([])
  })

  test('rejects a replayed callback', async () => {
    const { browser, errors, tokens } = makeSite()
    const visitor = browser()
    const callback = await untilCallback(visitor)
    await visitor.go(callback)
    await visitor.go(callback)
    expect(tokens).toHaveLength(1)
    expect(errors).toMatchObject([{ reason: 'transaction_missing' }])
    expect(tokenRequests()).toHaveLength(1)
  })

  test('rejects a replayed callback with a replayed cookie before sending anything', async () => {
    const { browser, errors, tokens } = makeSite()
    const visitor = browser()
    const callback = await untilCallback(visitor)
    const kept = new Map(visitor.cookies)
    await visitor.go(callback)
    for (const [name, cookie] of kept) visitor.cookies.set(name, cookie)
    await visitor.go(callback)
    expect(tokens).toHaveLength(1)
    expect(errors).toMatchObject([{ reason: 'transaction_used' }])
    expect(tokenRequests()).toHaveLength(1)
  })

  test('exchanges the code once for concurrent callbacks with one cookie, even through two handlers', async () => {
    const [first, second] = [makeSite(), makeSite()]
    const visitor = first.browser()
    const callback = await untilCallback(visitor)
    const cookie = visitor.cookieHeader(new URL(callback))
    const responses = await Promise.all(
      [first, first, second].map(({ serve }) => serve(new Request(callback, { headers: { cookie } }))),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([303, 400, 400])
    expect([...first.errors, ...second.errors]).toMatchObject([
      { reason: 'transaction_used' },
      { reason: 'transaction_used' },
    ])
    expect(tokenRequests()).toHaveLength(1)
  })

  test('fails at the service for the code of one tab with the state of another', async () => {
    const { browser, errors } = makeSite()
    const visitor = browser()
    const first = new URL(await untilCallback(visitor))
    const second = new URL(await untilCallback(visitor))
    first.searchParams.set('state', second.searchParams.get('state') ?? '')
    await visitor.go(first.href)
    expect(errors).toMatchObject([{ reason: 'invalid_grant', status: 400 }])
  })

  test('rejects and clears a changed cookie', async () => {
    const { browser, errors } = makeSite()
    const visitor = browser()
    const callback = await untilCallback(visitor)
    const [[name, cookie]] = [...visitor.cookies] as [
      [string, { value: string; host: string; path: string; secure: boolean }],
    ]
    const middle = Math.floor(cookie.value.length / 2)
    const changed = cookie.value[middle] === 'A' ? 'B' : 'A'
    const value = cookie.value.slice(0, middle) + changed + cookie.value.slice(middle + 1)
    visitor.cookies.set(name, { ...cookie, value })
    await visitor.go(callback)
    expect(errors).toMatchObject([{ reason: 'transaction_invalid' }])
    expect(visitor.cookies.size).toBe(0)
    expect(tokenRequests()).toEqual([])
  })

  test('opens a login with a known older key, and not with a dropped one', async () => {
    const before = makeSite({ handlers: { secret: older } })
    const between = makeSite({ handlers: { secret: [secret, older] } })
    const after = makeSite({ handlers: { secret } })
    for (const [site_, reason] of [
      [between, undefined],
      [after, 'transaction_invalid'],
    ] as const) {
      const visitor = before.browser()
      const callback = await untilCallback(visitor)
      const cookie = visitor.cookieHeader(new URL(callback))
      await site_.serve(new Request(callback, { headers: { cookie } }))
      expect(site_.errors[0]).toEqual(reason && expect.objectContaining({ reason }))
      expect(site_.tokens).toHaveLength(reason === undefined ? 1 : 0)
    }
  })

  test.each([
    ['duplicate_parameter', (url: URL) => url.searchParams.append('code', 'another')],
    ['duplicate_parameter', (url: URL) => url.searchParams.append('state', 'another')],
    ['issuer_mismatch', (url: URL) => url.searchParams.append('iss', 'https://evil.example')],
    ['issuer_mismatch', (url: URL) => url.searchParams.append('iss', '')],
    ['missing_parameter', (url: URL) => url.searchParams.delete('code')],
    ['transaction_missing', (url: URL) => url.searchParams.delete('state')],
    ['transaction_missing', (url: URL) => url.searchParams.set('state', 'x')],
  ])('rejects %s before sending anything', async (reason, change) => {
    const { browser, errors } = makeSite()
    const visitor = browser()
    const url = new URL(await untilCallback(visitor))
    change(url)
    const { response } = await visitor.go(url.href)
    expect(response.status).toBe(400)
    expect(errors).toMatchObject([{ reason }])
    expect(tokenRequests()).toEqual([])
  })

  test('rejects a sealed transaction without its code verifier', async () => {
    const { createSealer } = await import('../../src/oauth/seal.ts')
    const { browser, errors } = makeSite()
    const visitor = browser()
    const callback = await untilCallback(visitor)
    const sealer = createSealer(secret, 'login cookie')
    const [[name, cookie]] = [...visitor.cookies] as [
      [string, { value: string; host: string; path: string; secure: boolean }],
    ]
    const opened = (await sealer.open(cookie.value)) as unknown as { value: { transaction: object; returnTo: string } }
    const transaction = { ...opened.value.transaction, codeVerifier: undefined }
    visitor.cookies.set(name, { ...cookie, value: await sealer.seal({ ...opened.value, transaction }) })
    await visitor.go(callback)
    expect(errors).toMatchObject([{ reason: 'transaction_invalid' }])
  })

  describe('with a fake clock', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['Date'] })
    })
    afterEach(() => {
      vi.useRealTimers()
    })

    test('rejects an expired login', async () => {
      const { browser, errors } = makeSite()
      const visitor = browser()
      const callback = await untilCallback(visitor)
      vi.setSystemTime(Date.now() + 600_000)
      await visitor.go(callback)
      expect(errors).toMatchObject([{ reason: 'transaction_expired' }])
      expect(visitor.cookies.size).toBe(0)
    })
  })

  test.each([
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https:evil.example',
    'https://evil.example/',
    '/\t/evil.example',
    '/\n/evil.example',
    '/.//evil.example',
    '/%2e%2e//evil.example',
    'javascript:alert(1)',
    '@evil.example',
    'evil.example',
  ])('ignores return_to=%j, which leaves the site', async (spelling) => {
    const { browser } = makeSite({ handlers: { returnTo: '/home' } })
    const { at } = await browser().go(`${site}/login?return_to=${encodeURIComponent(spelling)}`)
    expect(at).toBe(`${site}/home`)
  })

  test('ignores a duplicate return_to', async () => {
    const { browser } = makeSite()
    expect((await browser().go(`${site}/login?return_to=/a&return_to=/b`)).at).toBe(`${site}/`)
  })

  test('does not reveal the return path in the authorize URL', async () => {
    const { browser } = makeSite()
    const visitor = browser()
    await visitor.go(`${site}/login?return_to=/a-private-path`)
    expect(visitor.visited.slice(1).slice(0, -1).join()).not.toContain('a-private-path')
  })
})

describe('the options of one login', () => {
  const requested = (response: Response) => {
    const { searchParams } = new URL(response.headers.get('location') ?? '')
    return { scope: searchParams.get('scope'), actor: searchParams.get('actor'), prompt: searchParams.get('prompt') }
  }
  const request = () => new Request(`${site}/login`)
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic

  test('override those of the handlers, one by one and for this login only', async () => {
    const { login } = makeSite({ handlers: { parameters: { prompt: 'none' } } })
    const usual = { scope: 'conversations:read messages:write', actor: 'self', prompt: 'none' }
    expect(requested(await login.start(request(), { scope: 'contacts:read' }))).toEqual({
      ...usual,
      scope: 'contacts:read',
    })
    expect(requested(await login.start(request(), { actor: 'app' }))).toEqual({ ...usual, actor: 'app' })
    expect(requested(await login.start(request(), { parameters: {} }))).toEqual({ ...usual, prompt: null })
    expect(requested(await login.start(request(), { scope: undefined, data: 1 }))).toEqual(usual)
    expect(requested(await login.start(request()))).toEqual(usual)
  })

  test.each<[string, unknown]>([
    ['scope', { scope: null }],
    ['scope', { scope: [] }],
    ['actor', { actor: null }],
    ['actor', { actor: 'owner' }],
    ['parameters', { parameters: { state: 'mine' } }],
    ['scopes', { actor: 'app', scopes: [] }],
    ['options', null],
    ['options', 'app'],
    ['data', { data: () => {} }],
    ['data', { data: 1n }],
    ['data', { data: new Date(0) }],
    ['data', { data: { list: [undefined] } }],
    ['data', { data: new Array(1) }],
    ['data', { data: { map: new Map() } }],
    ['data', { data: { id: 'u_1', map: new Map() } }],
    ['data', { data: cyclic }],
    ['data', { data: Number.NaN }],
    ['data', { data: 'x'.repeat(1_023) }],
    ['data', { data: '漢'.repeat(341) }],
  ])('are rejected for %s', async (argument, options) => {
    const starting = makeSite().login.start(request(), options as never)
    await expect(starting).rejects.toMatchObject({ name: 'InvalidArgumentError', argument })
  })

  test('ignore the second argument of a framework', async () => {
    const { login } = makeSite()
    for (const argument of [{ params: Promise.resolve({}) }, () => {}, {}]) {
      expect((await login.start(request(), argument as never)).status).toBe(303)
    }
  })

  test.each([
    { userId: 'user_0123456789', tags: ['a', null, 2.5, true], optional: undefined },
    Object.assign(Object.create(null), { userId: 'user_0123456789' }),
    'x'.repeat(1_022),
    null,
    0,
    false,
    [],
  ])('pass data to onConnected without revealing it: %j', async (data) => {
    const seen: unknown[] = []
    const { login, serve } = makeSite({
      handlers: { onConnected: (_token, context) => void seen.push(context.data, context.returnTo) },
    })
    const visitor = new Browser({
      [site]: (given) => (given.url.startsWith(`${site}/login?`) ? login.start(given, { data }) : serve(given)),
    })
    await visitor.go(`${site}/login?return_to=/a`)
    expect(seen).toEqual([JSON.parse(JSON.stringify(data)), '/a'])
    expect(visitor.visited.join()).not.toContain('user_0123456789')
  })

  test('are copied when start is called, so that a reused object does not mix up two users', async () => {
    const seen: unknown[] = []
    const { login } = makeSite({ handlers: { onConnected: (_token, { data }) => void seen.push(data) } })
    const options = { scope: ['contacts:read'], parameters: { prompt: 'none' }, data: { userId: '' } }
    const start = (userId: string) => {
      options.data.userId = userId
      return login.start(request(), options)
    }
    const [alice, mallory] = [start('alice'), start('mallory')]
    options.data.userId = 'x'.repeat(2_000)
    options.scope.push('messages:write')
    options.parameters.prompt = 'consent'
    for (const response of [await alice, await mallory]) {
      expect(requested(response)).toEqual({ scope: 'contacts:read', actor: 'self', prompt: 'none' })
      const [cookie = ''] = response.headers.getSetCookie()
      const consent = await fetch(response.headers.get('location') ?? '', { redirect: 'manual' })
      const headers = { cookie: cookie.slice(0, cookie.indexOf(';')) }
      await login.callback(new Request(consent.headers.get('location') ?? '', { headers }))
    }
    expect(seen).toEqual([{ userId: 'alice' }, { userId: 'mallory' }])
  })

  test('use the options of the handlers as they were when the handlers were created', async () => {
    const connected = vi.fn()
    const handlers = {
      scope: ['contacts:read'] as string[],
      parameters: { prompt: 'none' },
      onConnected: connected,
      secret: [secret],
    } satisfies Partial<LoginHandlersOptions>
    const { app } = makeSite()
    const login = createLoginHandlers(app, handlers)
    handlers.scope.push('messages:write')
    handlers.parameters.prompt = 'consent'
    handlers.onConnected = vi.fn()
    handlers.secret.unshift(older)
    const response = await login.start(request())
    expect(requested(response)).toEqual({ scope: 'contacts:read', actor: null, prompt: 'none' })
    const [cookie = ''] = response.headers.getSetCookie()
    const consent = await fetch(response.headers.get('location') ?? '', { redirect: 'manual' })
    const headers = { cookie: cookie.slice(0, cookie.indexOf(';')) }
    await login.callback(new Request(consent.headers.get('location') ?? '', { headers }))
    expect(connected).toHaveBeenCalledOnce()
  })

  test('pass data and returnTo to onError, or the defaults if the login is unknown', async () => {
    const seen: unknown[] = []
    const { login, serve } = makeSite({
      handlers: {
        returnTo: '/home',
        parameters: { auto: 'deny' },
        onError: (_error, { data, returnTo, status }) => void seen.push({ data, returnTo, status }),
      },
    })
    const visitor = new Browser({
      [site]: (given) => (given.url.startsWith(`${site}/login?`) ? login.start(given, { data: 'u_1' }) : serve(given)),
    })
    await visitor.go(`${site}/login?return_to=/a`)
    await visitor.go(`${redirectUri}?code=1&state=2`)
    expect(seen).toEqual([
      { data: 'u_1', returnTo: '/a', status: 403 },
      { data: undefined, returnTo: '/home', status: 400 },
    ])
  })
})

describe('an onError that rejects', () => {
  test('makes the callback of a failed login reject with its error', async () => {
    const away = new Error('the log is away')
    const { login } = makeSite({ handlers: { onError: () => Promise.reject(away) } })
    const callback = login.callback(new Request(`${redirectUri}?code=1&state=2`))
    await expect(callback).rejects.toBe(away)
  })
})

describe('the error page', () => {
  async function denied(change: (url: URL) => void = () => {}) {
    const { browser } = makeSite({ handlers: { onError: undefined, parameters: { auto: 'deny' } } })
    const visitor = browser()
    const url = new URL(await untilCallback(visitor))
    change(url)
    const { response } = await visitor.go(url.href)
    return { visitor, response, html: await response.text() }
  }

  test('explains that access was denied, with status 403', async () => {
    const { response, html, visitor } = await denied()
    expect(response.status).toBe(403)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(html).toContain('Access was not granted')
    expect(visitor.cookies.size).toBe(0)
  })

  test.each([
    ['a login that the service rejected', 'authorization_failed', 'The service rejected the login.'],
    ['a login that is already complete', 'transaction_used', 'This login has already been completed.'],
    ['an unknown login', 'transaction_missing', 'This login is no longer valid.'],
  ])('explains %s, and names the reason', async (_title, reason, sentence) => {
    const { browser } = makeSite({ handlers: { onError: undefined } })
    const visitor = browser()
    const url = new URL(await untilCallback(visitor))
    const kept = new Map(visitor.cookies)
    if (reason === 'authorization_failed') url.searchParams.set('error', 'server_error')
    else await visitor.go(url.href)
    if (reason === 'transaction_used') for (const [name, cookie] of kept) visitor.cookies.set(name, cookie)
    const { response } = await visitor.go(url.href)
    const html = await response.text()
    expect(response.status).toBe(400)
    expect(html).toContain(`<p>${sentence}`)
    expect(html).toContain(`<p class="reason">${reason}</p>`)
    expect(html).not.toContain('<blockquote>')
  })

  test('explains that the service does not respond', async () => {
    const fetch = () => Promise.reject(new TypeError('fetch failed'))
    const { browser } = makeSite({ app: { fetch }, handlers: { onError: undefined } })
    const html = await (await browser().go(`${site}/login`)).response.text()
    expect(html).toContain('<p>The service could not complete the login.')
    expect(html).toContain('<p class="reason">exchange_failed</p>')
  })

  test('quotes the description of the service', async () => {
    const { html } = await denied((url) => url.searchParams.set('error_description', 'Ask your admin.'))
    expect(html).toContain('<blockquote>Ask your admin.</blockquote>')
    expect(html).toContain('<p class="reason">access_denied</p>')
  })

  test('explains that the app could not save the connection, without a reason', async () => {
    const onConnected = () => Promise.reject(new Error('the database is away'))
    const { browser } = makeSite({ handlers: { onConnected } })
    const { response } = await browser().go(`${site}/login?return_to=/inbox`)
    const html = await response.text()
    expect(html).toContain('<p>Access was granted, but this app could not save the connection.</p>')
    expect(html).toContain('<a href="/login?return_to=%2Finbox">Try again</a>')
    expect(html).not.toContain('class="reason"')
  })

  test('escapes the description of the service and runs no script', async () => {
    const markup = `<script>alert('x')</script><img src=x onerror="alert(1)">&amp;`
    const { response, html } = await denied((url) => url.searchParams.set('error_description', markup))
    expect(html).not.toMatch(/<script|<img|&amp;/)
    expect(html).toContain('&#60;script&#62;alert(&#39;x&#39;)')
    expect(html).toContain('onerror=&#34;alert(1)&#34;&#62;&#38;amp;')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('links to the start of the login with the return path', async () => {
    const options = { handlers: { onError: undefined, parameters: { auto: 'deny' } } }
    const { login, serve } = makeSite(options)
    const visitor = new Browser({
      [site]: (given) => (given.url.includes('/connect') ? login.start(given) : serve(given)),
    })
    const linkOf = async (start: string) => {
      const { response } = await visitor.go(site + start)
      const [, href = ''] = /<a href="([^"]*)">Try again<\/a>/.exec(await response.text()) ?? []
      return href.replaceAll('&#38;', '&')
    }
    expect(await linkOf('/connect?actor=app&return_to=/inbox')).toBe('/connect?actor=app&return_to=%2Finbox')
    const tooLong = `/${'x'.repeat(1_024)}`
    expect(await linkOf(`/connect?actor=app&return_to=${tooLong}`)).toBe('/connect?actor=app&return_to=%2F')
    expect(await linkOf('//evil.example/connect')).toBe('/')
    expect(await linkOf('/login/callback?state=unknown')).toBe('/')
  })

  test('has a light and a dark style that its policy allows', async () => {
    const [first, second] = [await denied(), await denied()]
    const policy = first.response.headers.get('content-security-policy') ?? ''
    const [, nonce] = /style-src 'nonce-([\w-]+)';/.exec(policy) ?? []
    expect(first.html).toContain(`<style nonce="${nonce}">`)
    expect(first.html).toContain('prefers-color-scheme: dark')
    expect(second.html).not.toContain(nonce)
    expect(policy).toBe(
      `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    expect(first.html).not.toMatch(/<script|style="|src=|\bon\w+=/)
  })

  test('does not show the description of a forged callback', async () => {
    const { response, html } = await denied((url) => {
      url.searchParams.set('state', 'forged')
      url.searchParams.set('error_description', 'Call this number')
    })
    expect(response.status).toBe(400)
    expect(html).not.toContain('Call this number')
  })

  test('has status 502 if the service rejects the app, and contains no secret', async () => {
    const { browser } = makeSite({ app: { clientSecret: 'a-wrong-secret' }, handlers: { onError: undefined } })
    const visitor = browser()
    const callback = await untilCallback(visitor)
    const { response } = await visitor.go(callback)
    const html = await response.text()
    expect(response.status).toBe(502)
    expect(html).toContain('invalid_client')
    for (const value of [...new URL(callback).searchParams.values(), 'a-wrong-secret'])
      expect(html).not.toContain(value)
  })

  test('has status 502 if the service does not respond', async () => {
    const fetch = () => Promise.reject(new TypeError('fetch failed'))
    const { browser } = makeSite({ app: { fetch }, handlers: { onError: undefined } })
    expect((await browser().go(`${site}/login`)).response.status).toBe(502)
  })

  test('has status 502 if the service does not respond in time', async () => {
    const fetch = () => new Promise<never>(() => {})
    const seen: unknown[] = []
    const onError: LoginHandlersOptions['onError'] = (error, { status }) => void seen.push(error.name, status)
    const { browser } = makeSite({ app: { fetch, timeout: 1 }, handlers: { onError } })
    expect((await browser().go(`${site}/login`)).response.status).toBe(502)
    expect(seen).toEqual(['TimeoutError', 502])
  })

  test('is replaced by the response of an asynchronous onError', async () => {
    const page = () => new Response('our page', { status: 418 })
    for (const onError of [page, async () => page()]) {
      const { browser } = makeSite({ handlers: { onError } })
      const { response } = await browser().go(`${redirectUri}?code=1&state=2`)
      expect(response.status).toBe(418)
      expect(await response.text()).toBe('our page')
      expect(response.headers.get('referrer-policy')).toBe('no-referrer')
    }
  })
})

describe('rejects', () => {
  test.each<[string, Partial<LoginHandlersOptions>]>([
    ['secret', { secret: 'short' }],
    ['secret', { secret: [] }],
    ['scope', { scope: [] }],
    ['actor', { actor: 'owner' as never }],
    ['parameters', { parameters: { state: 'mine' } }],
    ['returnTo', { returnTo: 'https://evil.example' }],
    ['returnTo', { returnTo: '//evil.example' }],
    ['cookieName', { cookieName: 'a b' }],
    ['cookieName', { cookieName: '' }],
    ['cookieName', { cookieName: 'x'.repeat(65) }],
    ['returnTo', { returnTo: `/${'漢'.repeat(511)}` }],
    ['onConnected', { onConnected: undefined as never }],
    ['onConnected', { onConnected: '/connected' as never }],
    ['onError', { onError: true as never }],
    ['parameters', { parameters: ['prompt=consent'] as never }],
    ['onConnect', { onConnect: () => {} } as never],
    ['scopes', { scopes: ['conversations:read'] } as never],
    ...['secret', 'scope', 'actor', 'parameters', 'returnTo', 'cookieName', 'onConnected', 'onError'].map(
      (name): [string, Partial<LoginHandlersOptions>] => [name, { [name]: null }],
    ),
  ])('the option %s with the value %j', (argument, handlers) => {
    expect(() => makeSite({ handlers })).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument }))
  })

  test.each([undefined, null, 'options', []])('the options %j', (options) => {
    const { app } = makeSite()
    expect(() => createLoginHandlers(app, options as never)).toThrow(expect.objectContaining({ argument: 'options' }))
  })

  test.each<[string, unknown]>([
    ['a Node request', { method: 'GET', url: '/login/callback?code=secret-code&state=1', headers: {} }],
    ['a relative URL', { method: 'GET', url: '/login/callback?code=secret-code', headers: new Headers() }],
    ['no URL', { method: 'GET', headers: new Headers() }],
    ['a URL object', { method: 'GET', url: new URL(`${redirectUri}?code=secret-code`), headers: new Headers() }],
    ['no method', { url: `${redirectUri}?code=secret-code`, headers: new Headers() }],
    ['no headers', { method: 'GET', url: `${redirectUri}?code=secret-code` }],
    ['plain headers', { method: 'GET', url: `${redirectUri}?code=secret-code`, headers: {} }],
    ['a string', '/login/callback?code=secret-code'],
    ['null', null],
    ['no argument', undefined],
  ])('%s instead of a web request, without quoting it', async (_title, request) => {
    const { login } = makeSite()
    for (const handler of [login.start, login.callback]) {
      const error = (await rejection(handler(request as never))) as InvalidArgumentError
      expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'request' })
      expect(error.message).toContain('`toNodeListener`')
      expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain('secret-code')
    }
  })

  test('an app that has no finishLogin', () => {
    const { baseUrl, clientId, redirectUri } = makeSite().app
    for (const app of [new PublicOAuthApp({ baseUrl, clientId, redirectUri }), undefined, null, {}]) {
      const options = { secret, scope: 'conversations:read', onConnected: () => {} }
      expect(() => createLoginHandlers(app as never, options)).toThrow(expect.objectContaining({ argument: 'app' }))
    }
  })

  test('a redirect URI that is not http(s)', () => {
    expect(() => makeSite({ app: { redirectUri: 'com.example.app:/callback' } })).toThrow(InvalidArgumentError)
  })
})
