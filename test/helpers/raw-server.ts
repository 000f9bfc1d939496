import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listen } from './listen.ts'

/** A request as received over the wire. */
export interface RawRequest {
  readonly method: string
  /** Path and query, still percent-encoded. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly socket: Socket
  /** Its number over all connections, from 1. */
  readonly number: number
}

/** A TCP server whose callbacks decide what happens on each connection. */
export interface RawServer {
  readonly url: string
  readonly port: number
  readonly requests: RawRequest[]
  /** Number of connections opened so far. */
  readonly connections: number
  readonly openConnections: number
  /** Resolves once no connection is open. */
  idle(): Promise<void>
}

export interface RawServerOptions {
  /** Called for each complete request. */
  readonly onRequest?: (request: RawRequest) => void
  /** Called for each new connection, before anything is read. Return false to read nothing from it. */
  readonly onConnection?: (socket: Socket) => boolean | undefined
}

/** Starts a server on a free loopback port that writes nothing but what its callbacks write. It closes after the test. */
export async function startRawServer({ onRequest, onConnection }: RawServerOptions): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const requests: RawRequest[] = []
  let connections = 0
  let whenIdle: (() => void)[] = []
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size > 0) return
      for (const resolve of whenIdle) resolve()
      whenIdle = []
    })
    if (onConnection?.(socket) === false) return
    readRequests(socket, (request) => {
      const numbered = { ...request, socket, number: requests.length + 1 }
      requests.push(numbered)
      onRequest?.(numbered)
    })
  })
  const port = await listen(server)
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get connections() {
      return connections
    },
    get openConnections() {
      return sockets.size
    },
    idle: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve))),
  }
}

export interface RawResponse {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
  /** Defaults to the length of the body. `null` omits the header. */
  readonly contentLength?: number | null
}

/** Returns the bytes of an HTTP response. */
export function rawResponse({ status = 200, headers = {}, body = '', contentLength }: RawResponse): Buffer {
  const bytes = Buffer.from(body as string)
  const length = contentLength === undefined ? bytes.length : contentLength
  const lines = [`HTTP/1.1 ${status} Status`]
  for (const [name, value] of Object.entries({ 'content-type': 'application/json', ...headers })) {
    for (const single of [value].flat()) lines.push(`${name}: ${single}`)
  }
  if (length !== null) lines.push(`content-length: ${length}`)
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes])
}

/** Writes a complete response and leaves the connection open. */
export function respond({ socket }: Pick<RawRequest, 'socket'>, response: RawResponse): void {
  socket.write(rawResponse(response))
}

/** Writes a JSON response. */
export function respondJson(request: Pick<RawRequest, 'socket'>, value: unknown, response: RawResponse = {}): void {
  respond(request, { ...response, body: JSON.stringify(value) })
}

function readRequests(socket: Socket, onRequest: (request: Omit<RawRequest, 'socket' | 'number'>) => void): void {
  let received = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (;;) {
      const end = received.indexOf('\r\n\r\n')
      if (end < 0) return
      const [requestLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      )
      const length = Number(headers['content-length'] ?? 0)
      if (received.length < end + 4 + length) return
      const body = received.subarray(end + 4, end + 4 + length).toString()
      received = received.subarray(end + 4 + length)
      const [method = '', target = ''] = requestLine.split(' ')
      onRequest({ method, target, headers, body })
    }
  })
}
