import fc from 'fast-check'
import nodeFetch from 'node-fetch'
import { type FetchInit, NetworkError, type RequestError, type WebFetch } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import {
  Agent,
  getGlobalDispatcher,
  interceptors,
  ProxyAgent,
  RetryAgent,
  setGlobalDispatcher,
  fetch as undiciFetch,
} from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { platform } from '../../src/http/connect-error.ts'
import {
  brokenConnection,
  json,
  makeClient,
  refusal,
  refusedConnection,
  rejection,
  stubPlatformFetch,
  token,
} from '../helpers/client.ts'
import { startProxy } from '../helpers/proxy.ts'
import { closedPort, type RawRequest, rawResponse, startRawServer } from '../helpers/raw-server.ts'

const created = { data: { id: 'm1' } }

/** Starts a server that creates a message for each request and records the bodies. */
async function startService() {
  const bodies: unknown[] = []
  const server = await startRawServer({
    onRequest({ body, socket }: RawRequest) {
      bodies.push(JSON.parse(body))
      socket.end(rawResponse({ headers: { connection: 'close' }, body: JSON.stringify(created) }))
    },
  })
  onTestFinished(() => server.close())
  return { url: server.url, bodies }
}

describe('a custom fetch', () => {
  test('is called with a URL string and a plain init object, and without a `this`', async () => {
    const calls: [unknown, string, FetchInit][] = []
    const client = makeClient({
      async fetch(this: unknown, url, init) {
        calls.push([this, url, init])
        return json(created)
      },
    })
    await client.messages.create('c1', { body_html: 'x' })
    await client.me()
    const [[self, url, post] = [], [, , get] = []] = calls
    expect([self, url]).toEqual([undefined, 'https://api.test/api/oauth/v1/conversations/c1/messages'])
    expect(post).toEqual({
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'user-agent': expect.any(String),
      },
      body: '{"body_html":"x"}',
      redirect: 'manual',
      signal: expect.any(AbortSignal),
    })
    expect(get).not.toHaveProperty('body')
  })

  test.each<[string, WebFetch]>([
    ['undici', undiciFetch],
    ['node-fetch', nodeFetch],
  ])('can be the fetch of %s: reads, writes, errors, redirects, limits and aborts work', async (_, fetch) => {
    const sandbox = await startSandbox({ conversations: 120 })
    onTestFinished(() => sandbox.close())
    const client = makeClient({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }), fetch })
    const conversations = await client.conversations.list({ limit: 50 }).toArray()
    expect(conversations).toHaveLength(120)
    const id = conversations[0]?.id ?? ''
    const message = await client.messages.create(id, { body_html: '<p>Grüße</p>' })
    expect(message.body_html).toBe('<p>Grüße</p>')
    await client.messages.delete(id, message.id)
    expect(await rejection(client.messages.delete(id, message.id))).toMatchObject({
      name: 'NotFoundError',
      status: 404,
    })
    const small = makeClient({ baseUrl: sandbox.url, accessToken: sandbox.issueToken(), fetch, maxResponseBytes: 50 })
    expect(await rejection(small.conversations.list())).toMatchObject({ reason: 'too-large' })
    const redirecting = await startRawServer({
      onRequest: ({ socket }) => socket.end(rawResponse({ status: 302, headers: { location: '/x' } })),
    })
    onTestFinished(() => redirecting.close())
    expect(await rejection(makeClient({ baseUrl: redirecting.url, fetch }).me())).toMatchObject({ reason: 'redirect' })
    const silent = await startRawServer({})
    onTestFinished(() => silent.close())
    const controller = new AbortController()
    const hanging = rejection(makeClient({ baseUrl: silent.url, fetch }).me({ signal: controller.signal }))
    controller.abort('enough')
    expect(await hanging).toBe('enough')
  })

  test('can use a ProxyAgent of undici', async () => {
    const sandbox = await startSandbox()
    const proxy = await startProxy()
    const dispatcher = new ProxyAgent(proxy.url)
    onTestFinished(async () => {
      await dispatcher.close()
      await proxy.close()
      await sandbox.close()
    })
    const client = makeClient({
      baseUrl: sandbox.url,
      accessToken: sandbox.issueToken({ actor: 'self' }),
      fetch: (url, init) => undiciFetch(url, { ...init, dispatcher }),
    })
    expect((await client.me()).actor).toBe('self')
    expect(proxy.hosts).toEqual([new URL(sandbox.url).host])
  })
})

describe('a custom fetch that fails', () => {
  const failures: [string, () => unknown][] = [
    ['a refused connection', refusedConnection],
    ['a broken connection', brokenConnection],
    ['a host that is not found', () => Object.assign(new Error('getaddrinfo ENOTFOUND audit'), { code: 'ENOTFOUND' })],
    ['every address refused', () => new AggregateError([refusedConnection(), refusedConnection()])],
    ['a custom error', () => new Error('the audit log is down')],
    ['a TypeError from a bug', () => new TypeError('undefined is not a function')],
    ['an AbortError', () => new DOMException('aborted', 'AbortError')],
    ['undefined', () => undefined],
  ]

  test.each(failures)('with %s after sending a write makes the outcome unknown', async (_, failure) => {
    const { url, bodies } = await startService()
    const client = makeClient({
      baseUrl: url,
      async fetch(address, init) {
        await fetch(address, init).then((response) => response.text())
        throw failure()
      },
    })
    const error = await rejection(client.messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
    expect((error as RequestError).attempts).toHaveLength(1)
    expect(bodies).toEqual([{ body_html: 'x' }])
  })

  test.each([
    ['a TypeError', () => Promise.reject(new TypeError('x is not a function'))],
    ['a ReferenceError', () => Promise.reject(new ReferenceError('x is not defined'))],
    ['no Response', () => Promise.resolve(undefined as never)],
    [
      'a body that was already read',
      async () => {
        const response = json({})
        await response.text()
        return response
      },
    ],
  ])('because of a bug (%s) is not retried, even for a GET', async (_, fetch: WebFetch) => {
    const spy = vi.fn(fetch)
    const error = await rejection(makeClient({ fetch: spy }).me())
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
    expect(spy).toHaveBeenCalledTimes(1)
  })

  test.each<[string, () => unknown]>([
    ['an Error', () => new Error('the tunnel closed')],
    ['a TypeError with a cause', () => new TypeError('x', { cause: new Error('closed') })],
    ['a TypeError with a code', () => Object.assign(new TypeError('x'), { code: 'EPIPE' })],
    ["a browser's TypeError", () => new TypeError('Failed to fetch')],
    ['a string', () => 'closed'],
  ])('because of the network (%s) is retried for a GET', async (_, failure) => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const fetch = vi.fn<WebFetch>(async () => json({})).mockRejectedValueOnce(failure())
    onTestFinished(() => void vi.restoreAllMocks())
    await makeClient({ fetch }).me()
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  test('while the body is read is retried for a GET, even after a TypeError', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const broken = new ReadableStream({ start: (body) => body.error(new TypeError('invalid state')) })
    const fetch = vi.fn<WebFetch>(async () => json({})).mockResolvedValueOnce(new Response(broken))
    await makeClient({ fetch }).me()
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  test('at random applies no write twice and reports a true outcome', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { url, bodies } = await startService()
    const step = fc.record({
      sends: fc.boolean(),
      ending: fc.constantFrom('response', '429', '500', ...failures.map(([name]) => name)),
    })
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.array(step, { minLength: 1, maxLength: 4 }), async (value, steps) => {
        bodies.length = 0
        const queue = [...steps]
        const held = { body_html: 'x', value }
        const expected = JSON.parse(JSON.stringify(held))
        const client = makeClient({
          baseUrl: url,
          async fetch(address, init) {
            const { sends, ending } = queue.shift() ?? { sends: true, ending: 'response' }
            if (ending === '429') return refusal(429, 'slow_down')
            if (sends || ending === 'response') {
              const response = await fetch(address, init)
              if (ending === 'response') return response
              await response.text()
            }
            if (ending === '500') return refusal(500, 'x')
            throw failures.find(([name]) => name === ending)?.[1]()
          },
        })
        const call = client.messages.create('c1', held)
        held.value = 'changed'
        const outcome = await call.then(
          () => 'applied',
          (error: unknown) => (error as RequestError).outcome,
        )
        expect(bodies.length).toBeLessThanOrEqual(1)
        for (const body of bodies) expect(body).toEqual(expected)
        if (outcome === 'applied') expect(bodies).toHaveLength(1)
        else expect([bodies.length, outcome]).toEqual([expect.any(Number), bodies.length === 1 ? 'unknown' : outcome])
        expect(outcome).not.toBe('not-sent')
      }),
      { numRuns: 300 },
    )
    vi.restoreAllMocks()
  })
})

/** Replaces an agent of the platform's fetch. Restored after the test. */
function stubDispatcher(name: string, agent: unknown) {
  const symbol = Symbol.for(name)
  const before: unknown = Reflect.get(globalThis, symbol)
  Reflect.set(globalThis, symbol, agent)
  onTestFinished(() => void Reflect.set(globalThis, symbol, before))
}

describe("the platform's fetch", () => {
  test('is not at fault for a TypeError, so that a GET is retried', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const fetch = vi.fn(async () => json({})).mockRejectedValueOnce(new TypeError('invalid state'))
    stubPlatformFetch(fetch)
    await makeClient().me()
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  test('proves that nothing was sent when the port is closed, and the write is retried', async () => {
    const client = makeClient({ baseUrl: `http://127.0.0.1:${await closedPort()}`, maxRetries: 1 })
    const error = await rejection(client.messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'not-sent', attempts: [{}, {}] })
  })

  test('proves that nothing was sent when every address of a host refused the connection', async () => {
    const errors = [1, 2].map(() => refusedConnection().cause)
    const cause = Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' })
    stubPlatformFetch(() => Promise.reject(new TypeError('fetch failed', { cause })))
    const error = await rejection(makeClient({ maxRetries: 0 }).messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'not-sent' })
  })

  const causes = (depth: number): Error =>
    depth === 0 ? refusedConnection() : new Error(`level ${depth}`, { cause: causes(depth - 1) })
  const failure = (properties: object, message = 'x') => Object.assign(new Error(message), properties)
  const outcomeOf = async (thrown: unknown, baseUrl = 'https://api.test') => {
    stubPlatformFetch(() => Promise.reject(thrown))
    const call = makeClient({ baseUrl, maxRetries: 0 }).messages.create('c1', { body_html: 'x' })
    const error = await rejection(call)
    expect(error).toBeInstanceOf(NetworkError)
    return (error as NetworkError).outcome
  }

  test.each<[string, unknown, string?]>([
    ['a failed connect system call', failure({ syscall: 'connect', code: 'EHOSTUNREACH' })],
    ['a failed name lookup', failure({ syscall: 'getaddrinfo', code: 'EAI_FAIL' })],
    ['an error of the same port', failure({ syscall: 'connect', port: 443 })],
    ['an error of the same port as text', failure({ syscall: 'connect', port: '80' }), 'http://localhost'],
    ['an error of the same explicit port', failure({ syscall: 'connect', port: 8080 }), 'http://localhost:8080'],
    ['an error of the same host', failure({ code: 'ENOTFOUND', hostname: 'api.test' })],
    ['a certificate that has expired', failure({ code: 'CERT_HAS_EXPIRED' })],
    ["Deno's error", new TypeError('error sending request: client error (Connect): refused')],
    ['a port that fetch blocks', new TypeError('fetch failed', { cause: new Error('bad port') })],
    ['a cause at the fifth level', causes(3)],
    ['an error that lists refused connections', new AggregateError([refusedConnection(), refusedConnection()])],
    ['an error that lists no others', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })],
  ])('proves that nothing was sent by %s', async (_, thrown, baseUrl) => {
    expect(await outcomeOf(thrown, baseUrl)).toBe('not-sent')
  })

  const endless = new Error('x')
  endless.cause = endless

  test.each<[string, unknown, string?]>([
    ['a failed read', failure({ syscall: 'read', code: 'ECONNRESET' })],
    ['an error of the default port of another scheme', failure({ syscall: 'connect', port: 80 })],
    ['an error of the default port', failure({ syscall: 'connect', port: 80 }), 'http://localhost:8080'],
    ['text around "bad port"', new Error('no bad port')],
    ['text after "bad port"', new Error('bad port number')],
    ['a cause at the sixth level', causes(4)],
    ['a cause that is its own cause', endless],
    [
      'an error that lists a broken connection',
      Object.assign(new AggregateError([refusedConnection(), brokenConnection()]), { code: 'ECONNREFUSED' }),
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
  ])('does not prove it by %s', async (_, thrown, baseUrl) => {
    expect(await outcomeOf(thrown, baseUrl)).toBe('unknown')
  })

  test.each([
    ['an address whose connection broke later', [refusedConnection().cause, brokenConnection().cause]],
    ['another port', [Object.assign(refusedConnection().cause as Error, { port: 9_200 })]],
    ['another host', [Object.assign(new Error('x'), { code: 'ENOTFOUND', hostname: 'audit.internal' })]],
  ])('proves nothing when the error is from %s', async (_, errors) => {
    const cause = new AggregateError(errors)
    stubPlatformFetch(() => Promise.reject(new TypeError('fetch failed', { cause })))
    const error = await rejection(makeClient().messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'unknown', attempts: [{}] })
  })

  test('proves nothing when it is wrapped, because the wrapper may have retried', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(refusedConnection()))
    onTestFinished(() => void vi.unstubAllGlobals())
    const error = await rejection(makeClient().messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'unknown', attempts: [{}] })
  })

  test.each([
    ['a RetryAgent', () => new RetryAgent(new Agent())],
    ['an agent with a retry interceptor', () => new Agent().compose(interceptors.retry())],
  ])('proves nothing when undici uses %s, which retries internally', async (_, makeAgent) => {
    const before = getGlobalDispatcher()
    setGlobalDispatcher(makeAgent())
    onTestFinished(() => setGlobalDispatcher(before))
    stubPlatformFetch(() => Promise.reject(refusedConnection()))
    const error = await rejection(makeClient().messages.delete('c1', 'm1', { maxRetries: 0 }))
    expect(error).toMatchObject({ outcome: 'unknown' })
  })

  const dispatcherNames = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2']

  test.each(dispatcherNames)('proves nothing when only %s retries internally', async (name) => {
    for (const each of dispatcherNames) stubDispatcher(each, null)
    stubDispatcher(name, new RetryAgent(new Agent()))
    expect(await outcomeOf(refusedConnection())).toBe('unknown')
  })

  test.each([
    ['has no prototype', Object.create(null)],
    ['has a prototype without a class', Object.create(Object.create(null))],
    ['has an unknown class', new (class CustomAgent extends Agent {})()],
  ])('proves nothing when the agent %s', async (_, agent) => {
    for (const name of dispatcherNames) stubDispatcher(name, agent)
    expect(await outcomeOf(refusedConnection())).toBe('unknown')
  })

  test.each([
    ['is not set', undefined],
    ['is null', null],
    ['does not retry', new Agent()],
  ])('proves that nothing was sent when the agent %s', async (_, agent) => {
    for (const name of dispatcherNames) stubDispatcher(name, agent)
    expect(await outcomeOf(refusedConnection())).toBe('not-sent')
  })

  test('proves that nothing was sent when it is passed as the option', async () => {
    const fetch: WebFetch = () => Promise.reject(refusedConnection())
    stubPlatformFetch(fetch)
    const error = await rejection(makeClient({ fetch, maxRetries: 0 }).messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'not-sent' })
  })

  test('can be missing: the call rejects with a NetworkError', async () => {
    const fetch = Object.getOwnPropertyDescriptor(globalThis, 'fetch') ?? {}
    Reflect.deleteProperty(globalThis, 'fetch')
    onTestFinished(() => void Object.defineProperty(globalThis, 'fetch', fetch))
    expect(await rejection(makeClient().me())).toMatchObject({ name: 'NetworkError', attempts: [{}] })
  })

  test('proves nothing when reading the response body fails, even with a connection error', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(refusedConnection()) })
    stubPlatformFetch(async () => new Response(body))
    const error = await rejection(makeClient().messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'unknown', attempts: [{ status: 200 }] })
  })

  test('is trusted where a getter defines it until the first access', async () => {
    const fetch = () => Promise.reject(refusedConnection())
    const get = () => {
      Object.defineProperty(globalThis, 'fetch', { value: fetch, configurable: true, writable: true })
      return fetch
    }
    stubPlatformFetch(undefined)
    Object.defineProperty(globalThis, 'fetch', { get, configurable: true })
    Object.assign(platform, { fetch: get })
    const client = makeClient({ maxRetries: 0 })
    expect(await rejection(client.messages.create('c1', { body_html: 'x' }))).toMatchObject({ outcome: 'not-sent' })
  })
})

describe('a redirect', () => {
  test('is rejected and its body cancelled', async () => {
    const cancel = vi.fn()
    const body = new ReadableStream({ cancel })
    const fetch: WebFetch = async () => new Response(body, { status: 302, headers: { location: '/x' } })
    expect(await rejection(makeClient({ fetch }).me())).toMatchObject({ reason: 'redirect' })
    expect(cancel).toHaveBeenCalledTimes(1)
  })
})
