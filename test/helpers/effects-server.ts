import { closedPort, type RawRequest, type RawServer, rawResponse, startRawServer } from './raw-server.ts'

/** The points at which an attempt can fail, in the order of an exchange. */
export const faults = [
  'refused connection',
  'drop before reading',
  'reset before reading',
  'drop after reading',
  'reset after reading',
  '429',
  '422',
  '500 without effect',
  'HTML without effect',
  'drop after effect',
  'reset after effect',
  'drop in the headers',
  'drop in the body',
  'body cut short',
  '500 after effect',
  'redirect after effect',
] as const

export type Fault = (typeof faults)[number] | 'none'

/** A server that counts the writes it applies and injects a planned fault into each attempt. */
export interface EffectsServer extends AsyncDisposable {
  readonly server: RawServer
  /** The platform's fetch, which connects to a closed port when the plan says so. */
  readonly fetch: typeof globalThis.fetch
  /** Number of writes applied since the plan was set. */
  readonly effects: number
  /** Number of attempts since the plan was set. */
  readonly attempts: number
  /** Sets the faults of the next attempts. Attempts after those succeed. */
  plan(...faults: Fault[]): void
}

const created = { data: { id: 'm1', body_html: '<p>Hello, this is a message of some length.</p>' } }

const platformFetch = globalThis.fetch

export async function startEffectsServer(): Promise<EffectsServer> {
  const closedUrl = `http://127.0.0.1:${await closedPort()}`
  const counts = { effects: 0, attempts: 0 }
  let planned: Fault[] = []
  let fault: Fault = 'none'
  const server = await startRawServer({
    onConnection(socket) {
      if (fault === 'drop before reading') socket.destroy()
      if (fault === 'reset before reading') socket.resetAndDestroy()
      return !socket.destroyed
    },
    onRequest: (request) => applyFault(request, fault, counts),
  })
  return {
    server,
    async fetch(url, init) {
      counts.attempts += 1
      fault = planned.shift() ?? 'none'
      if (fault !== 'refused connection') return platformFetch(url, init)
      return platformFetch(String(url).replace(server.url, closedUrl), init).catch((error: Error) => {
        // The error names the port of the server, as if that port were closed.
        throw new TypeError(error.message, { cause: Object.assign(error.cause as Error, { port: server.port }) })
      })
    },
    get effects() {
      return counts.effects
    },
    get attempts() {
      return counts.attempts
    },
    plan(...faults) {
      planned = faults
      counts.effects = 0
      counts.attempts = 0
    },
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** Responds to an attempt with its fault. Each attempt uses a new connection, so that a fault cannot affect another attempt. */
function applyFault({ socket, method }: RawRequest, fault: Fault, counts: { effects: number }): void {
  const headers = { connection: 'close' }
  const error = (status: number, more = {}) =>
    socket.end(rawResponse({ status, headers: { ...headers, ...more }, body: '{"error":"some_code"}' }))
  if (fault === 'drop after reading') return void socket.destroy()
  if (fault === 'reset after reading') return void socket.resetAndDestroy()
  if (fault === '429') return void error(429, { 'retry-after': '0' })
  if (fault === '422') return void error(422)
  if (fault === '500 without effect') return void error(500)
  if (fault === 'HTML without effect') return void socket.end(rawResponse({ headers, body: '<html></html>' }))
  if (method !== 'GET') counts.effects += 1
  if (fault === 'drop after effect') return void socket.destroy()
  if (fault === 'reset after effect') return void socket.resetAndDestroy()
  if (fault === '500 after effect') return void error(500)
  if (fault === 'redirect after effect') return void error(303, { location: '/elsewhere' })
  const bytes = rawResponse({ headers, body: method === 'DELETE' ? '' : JSON.stringify(created) })
  const headEnd = bytes.indexOf('\r\n\r\n') + 4
  if (fault === 'drop in the headers') return void socket.write(bytes.subarray(0, 30), () => socket.destroy())
  if (fault === 'drop in the body') {
    // A response without a body is complete once its headers are there.
    const end = method === 'DELETE' ? headEnd - 2 : headEnd + 20
    return void socket.write(bytes.subarray(0, end), () => socket.destroy())
  }
  if (fault === 'body cut short') {
    const body = JSON.stringify(created).slice(0, 20)
    return void socket.end(rawResponse({ headers, body: method === 'DELETE' ? '{"data"' : body }))
  }
  socket.end(bytes)
}
