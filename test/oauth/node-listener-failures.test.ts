import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { type AddressInfo, connect, type Server } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toNodeListener } from '../../src/oauth.ts'

type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyResponse = ServerResponse | Http2ServerResponse
type Listener = (request: AnyRequest, response: AnyResponse) => unknown

/** What a client received of a response until it ended. */
interface Seen {
  readonly status: number | undefined
  readonly body: string
  /** Whether the response was complete. */
  readonly complete: boolean
}

const closers: (() => unknown)[] = []
/** The unhandled rejections. */
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
})

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Fails instead of waiting for a response that never ends. */
async function ended(seen: Promise<Seen>): Promise<Seen> {
  let timer: NodeJS.Timeout | undefined
  const leftOpen = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The response was left open.')), 3000)
  })
  return await Promise.race([seen, leftOpen]).finally(() => clearTimeout(timer))
}

function parseHttp1(received: string): Seen {
  const [head = '', body = ''] = received.split(/\r\n\r\n(.*)/s)
  const length = /^content-length: (\d+)/im.exec(head)?.[1]
  const complete = length === undefined ? body.endsWith('0\r\n\r\n') : body.length === Number(length)
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]
  return { status: status === undefined ? undefined : Number(status), body, complete }
}

/** Sends one request as bytes, over a connection that only the server closes. */
async function overHttp1(listener: Listener): Promise<Seen> {
  const server = createHttp1Server(listener)
  const port = await listen(server)
  closers.push(() => server.closeAllConnections())
  return ended(
    new Promise((resolve) => {
      let received = ''
      const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1')
        if (parseHttp1(received).complete) socket.destroy()
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(parseHttp1(received)))
    }),
  )
}

async function overHttp2(listener: Listener): Promise<Seen> {
  const port = await listen(createHttp2Server(listener))
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  closers.push(() => session.destroy())
  return ended(
    new Promise((resolve) => {
      let [status, body, complete]: [number | undefined, string, boolean] = [undefined, '', false]
      const stream = session.request({ ':path': '/' })
      stream.on('response', (headers) => {
        status = headers[':status']
      })
      stream.on('data', (chunk) => {
        body += String(chunk)
      })
      stream.on('end', () => {
        complete = true
      })
      stream.on('error', () => {})
      stream.on('close', () => resolve({ status, body, complete: complete && stream.rstCode === 0 }))
    }),
  )
}

/** Sends the headers and part of the body. */
function begin(response: AnyResponse): void {
  const both = response as ServerResponse
  both.writeHead(200)
  both.write('half')
}

const failure = new Error('the handler failed')

describe.each([
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
])('the Node listener over %s', (_protocol, seenOf) => {
  test.each<[string, () => Response]>([
    [
      'fails midway',
      () => {
        let pulls = 0
        const pull = (controller: ReadableStreamDefaultController) => {
          if (pulls++ > 0) controller.error(failure)
          else controller.enqueue(new TextEncoder().encode('half'))
        }
        return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'text/html' } })
      },
    ],
    ['fails immediately', () => new Response(new ReadableStream({ start: (controller) => controller.error(failure) }))],
  ])('replaces a response whose body %s with a complete 500', async (_title, respond) => {
    const errors: unknown[] = []
    const listener = toNodeListener(async () => respond(), { onError: (error) => void errors.push(error) })
    expect(await seenOf(listener)).toEqual({ status: 500, body: 'Internal Server Error', complete: true })
    expect(errors).toEqual([failure])
    expect(uncaught).toEqual([])
  })

  test('sends the 500 and keeps the process running if onError rejects', async () => {
    const listener = toNodeListener(() => Promise.reject(failure), {
      onError: async () => {
        throw new Error('no log')
      },
    })
    expect(await seenOf(listener)).toMatchObject({ status: 500, complete: true })
    await new Promise((resolve) => setImmediate(resolve))
    expect(uncaught).toEqual([])
  })

  test('leaves no response open if the handler fails after the headers were sent', async () => {
    const errors: unknown[] = []
    const listener = toNodeListener(() => Promise.reject(failure), { onError: (error) => void errors.push(error) })
    const seen = await seenOf((request, response) => {
      begin(response)
      void listener(request, response)
    })
    expect(seen).toMatchObject({ status: 200, complete: false })
    expect(errors).toEqual([failure])
    expect(uncaught).toEqual([])
  })

  test('aborts a response that cannot be written after the headers were sent', async () => {
    const errors: unknown[] = []
    const respond = async () => new Response('late', { headers: { 'x-late': '1' } })
    const listener = toNodeListener(respond, { onError: (error) => void errors.push(error) })
    const seen = await seenOf((request, response) => {
      begin(response)
      void listener(request, response)
    })
    expect(seen).toMatchObject({ status: 200, complete: false })
    expect(errors).toEqual([expect.objectContaining({ code: expect.stringMatching(/HEADERS_SENT/) })])
    expect(uncaught).toEqual([])
  })

  test('aborts a response that fails while it is written', async () => {
    const listener = toNodeListener(async () => new Response('text'))
    const seen = await seenOf((request, response) => {
      response.end = () => {
        begin(response)
        throw failure
      }
      void listener(request, response)
    })
    expect(seen.complete).toBe(false)
    expect(uncaught).toEqual([])
  })

  test('leaves a response alone that was already ended', async () => {
    const respond = async () => new Response('late', { headers: { 'x-late': '1' } })
    const listener = toNodeListener(respond)
    const text = 'on time '.repeat(500_000)
    const seen = await seenOf((request, response) => {
      response.setHeader('content-length', String(text.length))
      ;(response as ServerResponse).end(text)
      void listener(request, response)
    })
    expect(seen).toEqual({ status: 200, body: text, complete: true })
    expect(uncaught).toEqual([])
  })

  test.each<[string, (error: unknown) => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no error page')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no error page'))],
  ])('sends a 500, or aborts a started response, if next %s', async (_title, fail) => {
    const received: unknown[] = []
    const next = (error: unknown) => {
      received.push(error)
      return fail(error) as undefined
    }
    const listener = toNodeListener(() => Promise.reject(failure))
    const outcomes: Promise<void>[] = []
    const seen = await seenOf((request, response) => void outcomes.push(listener(request, response, next)))
    expect(seen).toEqual({ status: 500, body: 'Internal Server Error', complete: true })
    const cut = await seenOf((request, response) => {
      begin(response)
      outcomes.push(listener(request, response, next))
    })
    expect(cut).toMatchObject({ status: 200, complete: false })
    expect(received).toEqual([failure, failure])
    await expect(Promise.all(outcomes)).resolves.toEqual([undefined, undefined])
    expect(uncaught).toEqual([])
  })
})

describe('the content length', () => {
  async function headersOf(method: string, response: Response): Promise<Record<string, unknown>> {
    const port = await listen(createHttp1Server(toNodeListener(async () => response)))
    const received = await fetch(`http://127.0.0.1:${port}/`, { method })
    return { body: await received.text(), length: received.headers.get('content-length') }
  }

  const withLength = (length: string) => new Response(null, { headers: { 'content-length': length } })

  test.each<[string, string, Response, string, string | null]>([
    ['is corrected if too short', 'GET', new Response('hello', { headers: { 'content-length': '2' } }), 'hello', '5'],
    ['is corrected if too long', 'GET', new Response('hello', { headers: { 'content-length': '9' } }), 'hello', '5'],
    ['replaces chunks', 'GET', new Response('hello', { headers: { 'transfer-encoding': 'chunked' } }), 'hello', '5'],
    ['is 0 without a body', 'GET', new Response(null), '', '0'],
    ['is corrected without a body', 'GET', withLength('5'), '', '0'],
    ['of a HEAD is that of the GET', 'HEAD', withLength('15'), '', '15'],
    ['of a HEAD is that of its body', 'HEAD', new Response('hello'), '', '5'],
    ['of a HEAD is not sent if it starts with a letter', 'HEAD', withLength('x15'), '', null],
    ['of a HEAD is not sent if it ends with a letter', 'HEAD', withLength('15x'), '', null],
    ['of a HEAD is not sent if unknown', 'HEAD', new Response(null), '', null],
    ['is not sent for 204', 'GET', new Response(null, { status: 204, headers: { 'content-length': '5' } }), '', null],
    ['is not sent for 304', 'GET', new Response(null, { status: 304, headers: { 'content-length': '5' } }), '', null],
  ])('%s', async (_title, method, response, body, length) => {
    expect(await headersOf(method, response)).toEqual({ body, length })
  })
})

test('resolves after a failure, even if the response can be neither ended nor aborted', async () => {
  const failing = () => {
    throw failure
  }
  const response = { statusCode: 200, getHeader: () => undefined, setHeader: failing, end: failing }
  const listener = toNodeListener(() => Promise.reject(failure))
  await expect(listener({ headers: {} }, response)).resolves.toBeUndefined()
})

test.each([undefined, null, 'route', 0])('passes an Error to next if the handler throws %s', async (thrown) => {
  const listener = toNodeListener(() => Promise.reject(thrown))
  const passed: unknown[] = []
  const response = { statusCode: 200, getHeader: () => undefined, setHeader() {}, end() {} }
  await listener({ headers: {} }, response, (error) => void passed.push(error))
  expect(passed).toEqual([expect.any(Error)])
})
