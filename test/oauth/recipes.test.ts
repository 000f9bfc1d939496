import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express, { type Request as ExpressRequest, type Response as ExpressResponse, type NextFunction } from 'express'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { InsufficientScopeError, SupportWorkspace } from '../../src/index.ts'
import {
  type AccessToken,
  createLoginHandlers,
  type LoginHandlers,
  type NodeRequest,
  OAuthApp,
  toNodeListener,
} from '../../src/oauth.ts'
import { startSandbox } from '../../src/sandbox.ts'
import { Browser } from './helpers/browser.ts'

const secret = 'a secret of this app, 32 characters or more'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A service, an app registered with it, and the login handlers of its site. */
async function prepare(siteUrl: string) {
  const sandbox = await startSandbox({ autoConsent: 'allow' })
  closers.push(() => sandbox.close())
  const redirectUri = `${siteUrl}/login/callback`
  sandbox.registerRedirectUri(redirectUri)
  const { clientId, clientSecret } = sandbox.app
  const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri })
  const connected: string[] = []
  const login = createLoginHandlers(app, {
    secret,
    scope: ['conversations:read'],
    onConnected: (token) => void connected.push(token.accessToken),
  })
  return { login, connected }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('the login handlers work in', () => {
  test('Hono', async () => {
    const site = new Hono()
    const server = serve({ fetch: site.fetch, port: 0, hostname: '127.0.0.1' }) as Server
    await new Promise((resolve) => server.once('listening', resolve))
    closers.push(
      () => server.closeAllConnections(),
      () => server.close(),
    )
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { login, connected } = await prepare(url)
    site.get('/login', (context) => login.start(context.req.raw))
    site.get('/login/callback', (context) => login.callback(context.req.raw))
    site.get('/inbox', (context) => context.text('inbox'))

    const { response } = await new Browser().go(`${url}/login?return_to=/inbox`)
    expect(await response.text()).toBe('inbox')
    expect(connected).toEqual([expect.stringMatching(/^swot_/)])
  })

  test('plain node:http', async () => {
    let login: LoginHandlers
    const url = await listen(
      createServer((request, response) => {
        if (request.url?.startsWith('/login/callback')) return toNodeListener(login.callback)(request, response)
        if (request.url?.startsWith('/login')) return toNodeListener(login.start)(request, response)
        response.end('home')
      }),
    )
    const prepared = await prepare(url)
    login = prepared.login

    const { response } = await new Browser().go(`${url}/login`)
    expect(await response.text()).toBe('home')
    expect(prepared.connected).toHaveLength(1)
  })

  test('Express, in a mounted router', async () => {
    const site = express()
    const url = await listen(createServer(site))
    const { login, connected } = await prepare(url)
    const router = express.Router()
    router.get('/', toNodeListener(login.start))
    router.get('/callback', toNodeListener(login.callback))
    router.get(
      '/broken',
      toNodeListener(() => Promise.reject(new Error('no database'))),
    )
    site.use('/login', router)
    site.get('/', (_request, response) => void response.send('home'))
    site.use((error: Error, _request: ExpressRequest, response: ExpressResponse, _next: NextFunction) => {
      response.status(500).send(`next: ${error.message}`)
    })

    const { response } = await new Browser().go(`${url}/login`)
    expect(await response.text()).toBe('home')
    expect(connected).toHaveLength(1)
    expect(await (await fetch(`${url}/login/broken`)).text()).toBe('next: no database')
  })

  test('Next.js route handlers, exported separately', async () => {
    const url = 'https://app.example'
    const { login, connected } = await prepare(url)
    const { start: GET } = login
    const { callback: GET_callback } = login
    const visitor = new Browser({
      [url]: (request) => {
        const { pathname } = new URL(request.url)
        if (pathname === '/login') return GET(request)
        return pathname === '/login/callback' ? GET_callback(request) : new Response('home')
      },
    })
    const { response } = await visitor.go(`${url}/login`)
    expect(await response.text()).toBe('home')
    expect(connected).toHaveLength(1)
  })
})

/** Returns the request that the handler received, if any, and the response. */
async function adapt(received: Partial<NodeRequest>) {
  let request: Request | undefined
  const headers = new Map<string, unknown>()
  const response = {
    statusCode: 0,
    getHeader: () => undefined,
    setHeader: (name: string, value: unknown) => void headers.set(name, value),
    end: () => {},
  }
  const listener = toNodeListener(async (given) => {
    request = given
    return new Response()
  })
  await listener({ method: 'GET', url: '/', headers: {}, ...received }, response)
  return { request, status: response.statusCode, headers }
}

describe('recipes', () => {
  const site = 'https://app.example'

  test('request another scope if a call lacks it', async () => {
    const sandbox = await startSandbox({ autoConsent: 'allow' })
    closers.push(() => sandbox.close())
    sandbox.registerRedirectUri(`${site}/login/callback`)
    const { clientId, clientSecret } = sandbox.app
    const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri: `${site}/login/callback` })
    let token: AccessToken | undefined
    const login = createLoginHandlers(app, {
      secret,
      scope: ['conversations:read'],
      onConnected: (connected) => {
        token = connected
      },
    })

    async function contacts(request: Request): Promise<Response> {
      if (token === undefined) return login.start(request)
      const { accessToken, scopes, baseUrl } = token
      try {
        const page = await new SupportWorkspace({ baseUrl, accessToken, scopes }).contacts.list()
        return Response.json(page.data.length)
      } catch (error) {
        if (!(error instanceof InsufficientScopeError)) throw error
        // Its scopes and those that the call lacked. Afterwards the browser returns here.
        const start = new Request(`${request.url}?return_to=/contacts`)
        return login.start(start, { scope: error.scopesToRequest })
      }
    }

    const visitor = new Browser({
      [site]: (request) =>
        new URL(request.url).pathname === '/login/callback' ? login.callback(request) : contacts(request),
    })
    await visitor.go(`${site}/contacts`, (next) => next === `${site}/`)
    expect(token?.scopes).toEqual(['conversations:read'])
    const { at, response } = await visitor.go(`${site}/contacts`)
    expect(at).toBe(`${site}/contacts`)
    expect(response.status).toBe(200)
    expect(token?.scopes).toEqual(['conversations:read', 'contacts:read'])
  })

  test('bind a login to a user of the app, and reject another user at the callback', async () => {
    const sandbox = await startSandbox({ autoConsent: 'allow' })
    closers.push(() => sandbox.close())
    sandbox.registerRedirectUri(`${site}/login/callback`)
    const { clientId, clientSecret } = sandbox.app
    const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri: `${site}/login/callback` })
    const stored: string[] = []
    let signedIn = 'alice'
    const userOf = (_request: Request) => signedIn

    const login = createLoginHandlers<{ userId: string }>(app, {
      secret,
      scope: ['conversations:read'],
      onConnected(_token, { request, data }) {
        const user = userOf(request)
        if (data?.userId !== user) return new Response('You signed in as somebody else.', { status: 403 })
        stored.push(user)
      },
    })
    const visitor = new Browser({
      [site]: (request) => {
        const { pathname } = new URL(request.url)
        if (pathname === '/login') return login.start(request, { data: { userId: userOf(request) } })
        return pathname === '/login/callback' ? login.callback(request) : new Response('home')
      },
    })
    expect((await visitor.go(`${site}/login`)).response.status).toBe(200)
    expect(stored).toEqual(['alice'])

    const { at } = await visitor.go(`${site}/login`, (next) => next.includes('/login/callback?'))
    signedIn = 'bob'
    const { response } = await visitor.go(at)
    expect(response.status).toBe(403)
    expect(stored).toEqual(['alice'])
  })
})

describe('the Node adapter', () => {
  test('passes on status, headers and each cookie, with or without a body', async () => {
    const listener = toNodeListener(async (request) => {
      const headers = new Headers({ 'x-method': request.method, 'x-path': new URL(request.url).pathname })
      headers.append('set-cookie', 'a=1; Path=/')
      headers.append('set-cookie', 'b=2; Path=/')
      return new Response(null, { status: 204, headers })
    })
    const url = await listen(createServer(listener))
    const response = await fetch(`${url}/some/path?x=1`, { method: 'DELETE' })
    expect(response.status).toBe(204)
    expect(response.headers.get('x-method')).toBe('DELETE')
    expect(response.headers.get('x-path')).toBe('/some/path')
    expect(response.headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2; Path=/'])
  })

  test('adds its cookies and Vary to those of earlier middleware', async () => {
    const listener = toNodeListener(async () => {
      const headers = new Headers({ vary: 'Cookie', 'x-app': 'handler' })
      headers.append('set-cookie', 'login=1')
      headers.append('set-cookie', 'other=2')
      return new Response(null, { headers })
    })
    for (const [cookies, vary] of [
      ['session=0', 'Accept-Encoding'],
      [
        ['session=0', 'theme=dark'],
        ['Accept-Encoding', 'Origin'],
      ],
    ] as const) {
      const url = await listen(
        createServer((request, response) => {
          response.setHeader('set-cookie', cookies)
          response.setHeader('vary', vary)
          response.setHeader('x-app', 'middleware')
          void listener(request, response)
        }),
      )
      const { headers } = await fetch(url)
      expect(headers.getSetCookie()).toEqual([cookies, 'login=1', 'other=2'].flat())
      expect(headers.get('vary')).toBe([vary, 'Cookie'].flat().join(', '))
      expect(headers.get('x-app')).toBe('handler')
    }
  })

  test('sends a plain 500 and calls onError if the handler throws without a next', async () => {
    const failure = new Error('no database')
    const errors: unknown[] = []
    const onError = (error: unknown) => {
      errors.push(error)
      throw new Error('the log is away too')
    }
    for (const handler of [() => Promise.reject(failure), async () => 'text' as never]) {
      const response = await fetch(await listen(createServer(toNodeListener(handler, { onError }))))
      expect(response.status).toBe(500)
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(await response.text()).toBe('Internal Server Error')
    }
    expect(errors).toEqual([failure, expect.any(TypeError)])
  })

  test('sends a complete 500 if next fails too or a length was already set', async () => {
    const listener = toNodeListener(() => Promise.reject(new Error('no database')))
    const next = () => Promise.reject(new Error('no error page'))
    for (const onward of [next, undefined]) {
      const url = await listen(
        createServer((request, response) => {
          response.setHeader('content-length', '5')
          void listener(request, response, onward)
        }),
      )
      const response = await fetch(url)
      expect(response.status).toBe(500)
      expect(await response.text()).toBe('Internal Server Error')
    }
  })

  test('does not reject if the response was already sent', async () => {
    const outcomes: Promise<void>[] = []
    const listener = toNodeListener(async () => new Response('late', { headers: { 'x-late': '1' } }))
    const url = await listen(
      createServer((request, response) => {
        response.end('timed out')
        outcomes.push(listener(request, response))
      }),
    )
    expect(await (await fetch(url)).text()).toBe('timed out')
    await expect(Promise.all(outcomes)).resolves.toEqual([undefined])
  })

  test.each([
    ['/login?x=1', '/login?x=1'],
    ['//user@evil.example/login', '//user@evil.example/login'],
    ['//', '//'],
    ['http://user:word@evil.example/login?x=1', '/login?x=1'],
    ['https://evil.example', '/'],
    [undefined, '/'],
  ])('uses path and query of the target %j with its fixed origin', async (target, path) => {
    for (const host of ['a:b@c', 'evil.example', 'a b', '', ':', 'x/../', undefined]) {
      const { request, status } = await adapt({ url: target, headers: { host, cookie: ['a=1', 'b=2'] } })
      expect(status).toBe(200)
      expect(request?.url).toBe(`http://localhost${path}`)
      expect(request?.headers.get('cookie')).toMatch(/^a=1[;,] b=2$/)
    }
  })

  test.each(['', '*', 'evil.example:443', '?x=1', 'javascript:alert(1)', 'http://', 'http://a:b', 'ftp://a/b', 'x'])(
    'responds with 400 to the target %j',
    async (url) => {
      expect(await adapt({ url })).toMatchObject({ request: undefined, status: 400 })
    },
  )

  test('sets no cookie header without cookies', async () => {
    const { headers } = await adapt({})
    expect([...headers.keys()]).toEqual(['content-length'])
  })

  test('drops the pseudo-headers of HTTP/2', async () => {
    const pseudo = { ':method': 'GET', ':path': '/login', ':scheme': 'https', ':authority': 'app.example' }
    const { request, status } = await adapt({ url: '/login', headers: { ...pseudo, cookie: 'a=1' } })
    expect(status).toBe(200)
    expect([...(request?.headers ?? [])]).toEqual([['cookie', 'a=1']])
  })

  test('responds with 400 to an invalid header', async () => {
    for (const headers of [{ cookie: 'a\nb' }, { 'a b': 'c' }, { x: '漢' }]) {
      expect((await adapt({ headers })).status).toBe(400)
    }
  })

  test.each(['CONNECT', 'TRACE', 'TRACK', 'trace', 'get', 'G E T', '', 'PROPFIND'])(
    'responds with 405 to the method %j and lists the supported ones',
    async (method) => {
      const { request, status, headers } = await adapt({ method })
      expect(request).toBeUndefined()
      expect(status).toBe(405)
      expect(headers.get('allow')).toBe('GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
    },
  )

  test('rejects an invalid handler or option', () => {
    const handler = async () => new Response()
    for (const [argument, make] of [
      ['handler', () => toNodeListener(undefined as never)],
      ['options', () => toNodeListener(handler, null as never)],
      ['onError', () => toNodeListener(handler, { onError: 'log' as never })],
      ['onerror', () => toNodeListener(handler, { onerror: () => {} } as never)],
    ] as const) {
      expect(make).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument }))
    }
  })
})
