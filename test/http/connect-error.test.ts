import { NetworkError } from 'support-workspace-sdk'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { classifyFetchError } from '../../src/http/fetch-error.ts'
import {
  brokenConnection,
  json,
  makeClient,
  refusedConnection,
  rejection,
  stubPlatformFetch,
} from '../helpers/client.ts'
import { closedPort } from '../helpers/raw-server.ts'

const causes = (depth: number): Error =>
  depth === 0 ? refusedConnection() : new Error(`level ${depth}`, { cause: causes(depth - 1) })
const failure = (properties: object, message = 'x') => Object.assign(new Error(message), properties)
const listing = (...errors: unknown[]) => new TypeError('fetch failed', { cause: new AggregateError(errors) })

test.each<[string, unknown, string?]>([
  ['a failed connect system call', failure({ syscall: 'connect', code: 'EHOSTUNREACH' })],
  ['a failed name lookup', failure({ syscall: 'getaddrinfo', code: 'EAI_FAIL' })],
  ['an error of the same port', failure({ syscall: 'connect', port: 443 })],
  ['an error of the same port as text', failure({ syscall: 'connect', port: '80' }), 'http://localhost'],
  ['an error of the same explicit port', failure({ syscall: 'connect', port: 8080 }), 'http://localhost:8080'],
  ['an error of the same host', failure({ code: 'ENOTFOUND', hostname: 'api.test' })],
  ['a certificate that has expired', failure({ code: 'CERT_HAS_EXPIRED' })],
  ["Deno's error", new TypeError('error sending request: client error (Connect): refused')],
  ['a cause at the fifth level', causes(3)],
  ['an error that lists refused connections', listing(refusedConnection().cause, refusedConnection().cause)],
  ['an error that lists no others', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })],
])('%s proves that nothing was sent', (_, thrown, url = 'https://api.test') => {
  expect(classifyFetchError(thrown, url, true)).toMatchObject({ outcome: 'not-sent', remedy: 'retry' })
  expect(classifyFetchError(thrown, url, false)).toEqual({ outcome: 'unknown', remedy: 'retry' })
})

const endless = new Error('x')
endless.cause = endless
const ownList = new AggregateError([])
ownList.errors.push(ownList, ownList)

test.each<[string, unknown, string?]>([
  ['a failed read', failure({ syscall: 'read', code: 'ECONNRESET' })],
  ['an error of the default port of another scheme', failure({ syscall: 'connect', port: 80 })],
  ['an error of the default port', failure({ syscall: 'connect', port: 80 }), 'http://localhost:8080'],
  ['an error of another host', failure({ code: 'ENOTFOUND', hostname: 'audit.internal' })],
  ['text around "bad port"', new Error('no bad port')],
  ['text after "bad port"', new Error('bad port number')],
  ['a cause at the sixth level', causes(4)],
  ['a cause that is its own cause', endless],
  ['an error that lists a broken connection', listing(refusedConnection().cause, brokenConnection().cause)],
  ['an error that lists a broken connection first', listing(brokenConnection().cause, refusedConnection().cause)],
  ['an error that lists itself', ownList],
  [
    'an error with a code that lists an error of another port',
    Object.assign(listing(failure({ syscall: 'connect', port: 9_200 })).cause as Error, { code: 'ECONNREFUSED' }),
  ],
  ['an error that lists no others and has no code', new AggregateError([])],
  ['a string', 'ECONNREFUSED'],
  ...['cause', 'code', 'errors'].map((name): [string, unknown] => [
    `an error whose ${name} cannot be read`,
    Object.defineProperty(refusedConnection(), name, {
      get() {
        throw new Error('unreadable')
      },
    }),
  ]),
])('%s proves nothing', (_, thrown, url = 'https://api.test') => {
  expect(classifyFetchError(thrown, url, true)).toEqual({ outcome: 'unknown', remedy: 'retry' })
})

describe("with the platform's fetch, a write", () => {
  test('is retried when the connection is refused', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const client = makeClient({ baseUrl: `http://127.0.0.1:${await closedPort()}`, maxRetries: 1 })
    const error = await rejection(client.messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'not-sent', remedy: 'retry', attempts: [{}, {}] })
  })

  test('whose response body cannot be read has an unknown outcome, even after a connection error', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(refusedConnection()) })
    stubPlatformFetch(async () => new Response(body))
    const error = await rejection(makeClient().messages.create('c1', { body_html: 'x' }))
    expect(error).toBeInstanceOf(NetworkError)
    expect(error).toMatchObject({ outcome: 'unknown', attempts: [{ status: 200 }] })
  })
})

test.each(['GET', 'DELETE', 'POST'] as const)('a %s to a port that fetch blocks is not retried', async (method) => {
  const client = makeClient({ baseUrl: 'http://127.0.0.1:1' })
  expect(await rejection(client.request(method, '/x'))).toMatchObject({
    outcome: 'not-sent',
    remedy: 'fix',
    attempts: [{ error: 'NetworkError' }],
    hint: 'Nothing was sent, because `fetch` blocks this port. Use another port in `baseUrl`.',
  })
})

test("a TypeError of the platform's fetch is a network error, so that a GET is retried", async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => void vi.restoreAllMocks())
  const fetch = vi.fn(async () => json({})).mockRejectedValueOnce(new TypeError('invalid state'))
  stubPlatformFetch(fetch)
  await makeClient().me()
  expect(fetch).toHaveBeenCalledTimes(2)
})
