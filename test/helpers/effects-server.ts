import { closedPort, type RawRequest, type RawServer, rawAnswer, startRawServer } from './raw-server.ts'

/** Where one attempt goes wrong, in the order of an exchange. */
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

/** A server that counts what took effect, and spoils each attempt as its plan says. */
export interface EffectsServer extends AsyncDisposable {
  readonly server: RawServer
  /** The platform's fetch, except that it meets a closed port where the plan says so. */
  readonly fetch: typeof globalThis.fetch
  /** How many effects there were since the plan was set. */
  readonly effects: number
  /** How many attempts there were since the plan was set. */
  readonly attempts: number
  /** What becomes of the attempts to come; after the last one, all is well. */
  plan(...faults: Fault[]): void
}

const created = { data: { id: 'm1', body_html: '<p>Hello, this is a message of some length.</p>' } }

const platformFetch = globalThis.fetch

export async function startEffectsServer(): Promise<EffectsServer> {
  const nowhere = `http://127.0.0.1:${await closedPort()}`
  const counts = { effects: 0, attempts: 0 }
  let planned: Fault[] = []
  let fault: Fault = 'none'
  const server = await startRawServer({
    onConnection(socket) {
      if (fault === 'drop before reading') socket.destroy()
      if (fault === 'reset before reading') socket.resetAndDestroy()
      return !socket.destroyed
    },
    onRequest: (request) => spoil(request, fault, counts),
  })
  return {
    server,
    async fetch(url, init) {
      counts.attempts += 1
      fault = planned.shift() ?? 'none'
      if (fault !== 'refused connection') return platformFetch(url, init)
      return platformFetch(String(url).replace(server.url, nowhere), init).catch((error: Error) => {
        // As if the server's own port had been closed.
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

/** Each attempt has a connection of its own, so that a fault befalls the attempt that it is meant for. */
function spoil({ socket, method }: RawRequest, fault: Fault, counts: { effects: number }): void {
  const headers = { connection: 'close' }
  const error = (status: number, more = {}) =>
    socket.end(rawAnswer({ status, headers: { ...headers, ...more }, body: '{"error":"some_code"}' }))
  if (fault === 'drop after reading') return void socket.destroy()
  if (fault === 'reset after reading') return void socket.resetAndDestroy()
  if (fault === '429') return void error(429, { 'retry-after': '0' })
  if (fault === '422') return void error(422)
  if (fault === '500 without effect') return void error(500)
  if (fault === 'HTML without effect') return void socket.end(rawAnswer({ headers, body: '<html></html>' }))
  if (method !== 'GET') counts.effects += 1
  if (fault === 'drop after effect') return void socket.destroy()
  if (fault === 'reset after effect') return void socket.resetAndDestroy()
  if (fault === '500 after effect') return void error(500)
  if (fault === 'redirect after effect') return void error(303, { location: '/elsewhere' })
  const bytes = rawAnswer({ headers, body: method === 'DELETE' ? '' : JSON.stringify(created) })
  const headEnd = bytes.indexOf('\r\n\r\n') + 4
  if (fault === 'drop in the headers') return void socket.write(bytes.subarray(0, 30), () => socket.destroy())
  if (fault === 'drop in the body') {
    // An answer without a body is whole once its headers are there.
    const end = method === 'DELETE' ? headEnd - 2 : headEnd + 20
    return void socket.write(bytes.subarray(0, end), () => socket.destroy())
  }
  if (fault === 'body cut short') {
    const body = JSON.stringify(created).slice(0, 20)
    return void socket.end(rawAnswer({ headers, body: method === 'DELETE' ? '{"data"' : body }))
  }
  socket.end(bytes)
}
