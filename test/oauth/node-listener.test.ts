import { once } from 'node:events'
import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import express, { type Request as ExpressRequest, type Response as ExpressResponse, type NextFunction } from 'express'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type NodeRequest, toNodeListener } from '../../src/oauth/index.ts'
import { failingCallbacks } from '../helpers/failing-callbacks.ts'

type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyResponse = ServerResponse | Http2ServerResponse
type Listener = (request: AnyRequest, response: AnyResponse) => unknown

/** What a client received: a complete response, or one that was cut off. */
type Seen = { readonly status: number | undefined; readonly body: string } | 'aborted'

const closers: (() => unknown)[] = []
/** The unhandled rejections. Must stay empty. */
const uncaught: unknown[] = []
const note = (error: unknown) => void uncaught.push(error)
beforeEach(() => {
  uncaught.length = 0
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) close()
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  process.off('uncaughtException', note)
  expect(uncaught).toEqual([])
})

async function listen(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closers.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function serve(listener: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createHttp1Server(listener)
  closers.push(() => server.closeAllConnections())
  return listen(server)
}

const aborted = () => 'aborted' as const

async function overHttp1(listener: Listener): Promise<Seen> {
  const url = await serve(listener)
  const read = async (response: Response) => ({ status: response.status, body: await response.text() })
  return fetch(url).then(read).catch(aborted)
}

async function overHttp2(listener: Listener): Promise<Seen> {
  const session = connectHttp2(await listen(createHttp2Server(listener)))
  closers.push(() => session.destroy())
  const stream = session.request({ ':path': '/' }).setEncoding('utf8')
  return Promise.all([once(stream, 'response'), stream.toArray()])
    .then(([[headers], pieces]) => ({ status: headers[':status'], body: pieces.join('') }))
    .catch(aborted)
}

/** Sends the headers and part of the body. */
function begin(response: AnyResponse): void {
  const both = response as ServerResponse
  both.writeHead(200)
  both.write('half')
}

const failure = new Error('the handler failed')
const failing = () => Promise.reject(failure)
const plain500 = { status: 500, body: 'Internal Server Error' }

describe.each([
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
])('over %s, a listener', (_protocol, seenOf) => {
  function failingBody(pulls: number): ReadableStream {
    let count = 0
    const pull = (controller: ReadableStreamDefaultController) => {
      if (count++ >= pulls) controller.error(failure)
      else controller.enqueue(new TextEncoder().encode('half'))
    }
    return new ReadableStream({ pull })
  }

  test.each([
    ['a handler that rejects', failing],
    [
      'a body that fails midway',
      async () => new Response(failingBody(1), { headers: { 'content-type': 'text/html' } }),
    ],
    ['a body that fails immediately', async () => new Response(failingBody(0))],
  ])('sends a complete 500 after %s, even if onError rejects', async (_title, handler) => {
    const errors: unknown[] = []
    const onError = async (error: unknown) => {
      errors.push(error)
      throw new Error('no log')
    }
    expect(await seenOf(toNodeListener(handler, { onError }))).toEqual(plain500)
    expect(errors).toEqual([failure])
  })

  const late = async () => new Response('late', { headers: { 'x-late': '1' } })
  test.each<[string, () => Promise<Response>, unknown]>([
    ['rejects', failing, failure],
    ['returns headers', late, expect.objectContaining({ code: expect.stringMatching(/HEADERS_SENT/) })],
  ])('aborts a response that has begun if the handler %s', async (_title, handler, expected) => {
    const errors: unknown[] = []
    const listener = toNodeListener(handler, { onError: (error) => void errors.push(error) })
    const seen = await seenOf((request, response) => {
      begin(response)
      void listener(request, response)
    })
    expect(seen).toBe('aborted')
    expect(errors).toEqual([expected])
  })

  test('leaves a response alone that was already ended', async () => {
    const listener = toNodeListener(late)
    const text = 'on time '.repeat(500_000)
    const seen = await seenOf((request, response) => {
      response.setHeader('content-length', String(text.length))
      ;(response as ServerResponse).end(text)
      void listener(request, response)
    })
    expect(seen).toEqual({ status: 200, body: text })
  })

  test.each(failingCallbacks(new Error('no error page')))(
    'sends a 500, or aborts a response that has begun, if next %s',
    async (_title, fail) => {
      const received: unknown[] = []
      const next = (error: unknown) => {
        received.push(error)
        return fail() as never
      }
      const listener = toNodeListener(failing)
      const outcomes: Promise<void>[] = []
      const seen = await seenOf((request, response) => void outcomes.push(listener(request, response, next)))
      expect(seen).toEqual(plain500)
      const cut = await seenOf((request, response) => {
        begin(response)
        outcomes.push(listener(request, response, next))
      })
      expect(cut).toBe('aborted')
      expect(received).toEqual([failure, failure])
      await expect(Promise.all(outcomes)).resolves.toEqual([undefined, undefined])
    },
  )
})

test('adds its cookies and Vary to those of earlier middleware, and replaces other headers', async () => {
  const listener = toNodeListener(async () => {
    const headers = new Headers({ vary: 'Cookie', 'x-app': 'handler' })
    headers.append('set-cookie', 'login=1; Path=/')
    headers.append('set-cookie', 'other=2')
    return new Response(null, { status: 201, headers })
  })
  for (const [cookies, vary] of [
    [[], []],
    ['session=0', 'Accept-Encoding'],
    [
      ['session=0', 'theme=dark'],
      ['Accept-Encoding', 'Origin'],
    ],
  ] as const) {
    const url = await serve((request, response) => {
      if (cookies.length > 0) response.setHeader('set-cookie', cookies)
      if (vary.length > 0) response.setHeader('vary', vary)
      response.setHeader('x-app', 'middleware')
      void listener(request, response)
    })
    const { status, headers } = await fetch(url, { method: 'DELETE' })
    expect(status).toBe(201)
    expect(headers.getSetCookie()).toEqual([cookies, 'login=1; Path=/', 'other=2'].flat())
    expect(headers.get('vary')).toBe([vary, 'Cookie'].flat().join(', '))
    expect(headers.get('x-app')).toBe('handler')
  }
})

test('keeps the path in a mounted router of Express, whose error handler gets the error of the handler', async () => {
  const router = express.Router()
  router.get(
    '/callback',
    toNodeListener(async ({ url }) => new Response(url)),
  )
  router.get('/broken', toNodeListener(failing))
  const site = express().use('/login', router)
  site.use((error: Error, _request: ExpressRequest, response: ExpressResponse, _next: NextFunction) => {
    response.status(500).send(`next: ${error.message}`)
  })
  const url = await serve(site)
  expect(await (await fetch(`${url}/login/callback?x=1`)).text()).toBe('http://localhost/login/callback?x=1')
  expect(await (await fetch(`${url}/login/broken`)).text()).toBe('next: the handler failed')
})

test('reports a result that is not a Response, and replaces a length that was set before the 500', async () => {
  const errors: unknown[] = []
  const listener = toNodeListener(async () => 'text' as never, { onError: (error) => void errors.push(error) })
  const url = await serve((request, response) => {
    response.setHeader('content-length', '5')
    void listener(request, response)
  })
  const response = await fetch(url)
  expect(response.status).toBe(500)
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(await response.text()).toBe('Internal Server Error')
  expect(errors).toEqual([expect.any(TypeError)])
})

/** Returns the request that the handler received, if any, the response, and what was passed to next. */
async function adapt(received: Partial<NodeRequest>, handler = async () => new Response()) {
  let request: Request | undefined
  const headers = new Map<string, unknown>()
  const passed: unknown[] = []
  const response = {
    statusCode: 0,
    getHeader: () => undefined,
    setHeader: (name: string, value: unknown) => void headers.set(name, value),
    end: () => {},
  }
  const listener = toNodeListener((given) => {
    request = given
    return handler()
  })
  await listener({ method: 'GET', url: '/', headers: {}, ...received }, response, (error) => void passed.push(error))
  return { request, status: response.statusCode, headers, passed }
}

test.each([undefined, null, 'route', 0])('passes an Error to next if the handler throws %s', async (thrown) => {
  const { passed } = await adapt({}, () => Promise.reject(thrown))
  expect(passed).toEqual([expect.any(Error)])
  expect(passed).toMatchObject([{ cause: thrown }])
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
    const { request, status, headers } = await adapt({ url: target, headers: { host, cookie: ['a=1', 'b=2'] } })
    expect(status).toBe(200)
    expect(request?.url).toBe(`http://localhost${path}`)
    expect(request?.headers.get('cookie')).toMatch(/^a=1[;,] b=2$/)
    expect([...headers.keys()]).toEqual([])
  }
})

test.each<Partial<NodeRequest>>([
  ...['', '*', 'evil.example:443', '?x=1', 'javascript:alert(1)', 'http://', 'http://a:b', 'ftp://a/b', 'x'].map(
    (url) => ({ url }),
  ),
  ...[{ cookie: 'a\nb' }, { 'a b': 'c' }, { x: '漢' }].map((headers) => ({ headers })),
  ...['CONNECT', 'TRACE', 'TRACK', 'trace', 'G E T', ''].map((method) => ({ method })),
])('responds with 400 to the invalid request %j', async (received) => {
  expect(await adapt(received)).toMatchObject({ request: undefined, status: 400 })
})

test.each([
  ['handler', [undefined]],
  ['options', [async () => new Response(), null]],
  ['onError', [async () => new Response(), { onError: 'log' }]],
  ['onerror', [async () => new Response(), { onerror: () => {} }]],
])('rejects an invalid %s', (argument, parameters) => {
  const make = () => toNodeListener(...(parameters as never as Parameters<typeof toNodeListener>))
  expect(make).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument }))
})
