import fc from 'fast-check'
import { ForceRetryError } from 'ky'
import nodeFetch from 'node-fetch'
import type { FetchInit, RequestError, WebFetch } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import { ProxyAgent, fetch as undiciFetch } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { brokenConnection, json, makeClient, refusal, refusedConnection, rejection, token } from '../helpers/client.ts'
import { startProxy } from '../helpers/proxy.ts'
import { type RawRequest, rawResponse, startRawServer } from '../helpers/raw-server.ts'

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
  test('with the error by which ky asks for a retry does not make a write go out twice', async () => {
    const fetch = vi.fn<WebFetch>(() => Promise.reject(new ForceRetryError()))
    const error = await rejection(makeClient({ fetch }).messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'unknown', remedy: 'verify', attempts: [{}] })
    expect(fetch).toHaveBeenCalledTimes(1)
  })

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
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'no-effect', remedy: 'fix' })
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

describe('a redirect', () => {
  test('is rejected and its body cancelled', async () => {
    const cancel = vi.fn()
    const body = new ReadableStream({ cancel })
    const fetch: WebFetch = async () => new Response(body, { status: 302, headers: { location: '/x' } })
    expect(await rejection(makeClient({ fetch }).me())).toMatchObject({ reason: 'redirect' })
    expect(cancel).toHaveBeenCalledTimes(1)
  })
})
