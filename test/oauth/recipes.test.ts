import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express, { type Request as ExpressRequest, type Response as ExpressResponse, type NextFunction } from 'express'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { createLoginHandlers, type LoginHandlers, OAuthApp, toNodeListener } from '../../src/oauth/index.ts'
import { startSandbox } from '../../src/sandbox/index.ts'
import { Browser } from './helpers/browser.ts'

const secret = 'a secret of this app, 32 characters or more'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A service, an app registered with it at a site of ours, and the login handlers for that site. */
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

  test('Express, in a router mounted below a path', async () => {
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

  test('route handlers as Next.js takes them, exported by themselves', async () => {
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

describe('the Node adapter', () => {
  test('passes on status, headers and each cookie, and takes a response without a body', async () => {
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

  test('answers a bare 500 and rejects when the handler throws and there is no next', async () => {
    const failure = new Error('no database')
    const outcomes: Promise<void>[] = []
    const url = await listen(
      createServer((request, response) => {
        const outcome = toNodeListener(() => Promise.reject(failure))(request, response)
        outcomes.push(outcome.catch((error: unknown) => expect(error).toBe(failure)) as Promise<void>)
      }),
    )
    const response = await fetch(url)
    expect(response.status).toBe(500)
    expect(await response.text()).toBe('')
    expect(outcomes).toHaveLength(1)
    await outcomes[0]
  })

  test('survives a host that is none', async () => {
    let seen = ''
    const response = { statusCode: 0, setHeader: () => {}, end: () => {} }
    const listener = toNodeListener(async (request) => {
      seen = request.url
      return new Response()
    })
    for (const host of ['a b', '', ':', 'x/../', undefined]) {
      await listener({ method: 'GET', url: '/login?x=1', headers: { host, cookie: ['a=1', 'b=2'] } }, response)
      expect(new URL(seen).pathname + new URL(seen).search).toBe('/login?x=1')
    }
  })
})
