import { ForceRetryError, TimeoutError } from 'ky'
import nodeFetch from 'node-fetch'
import { type FetchInit, SupportWorkspaceError, type WebFetch } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import { fetch as undiciFetch } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { brokenConnection, json, makeClient, refusedConnection, rejection, token } from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'
import { unreadable } from '../helpers/failing-callbacks.ts'
import { rawResponse, startRawServer } from '../helpers/raw-server.ts'

describe('a custom fetch', () => {
  test('is called with a URL string and a plain init object, and without a `this`', async () => {
    const calls: [unknown, string, FetchInit][] = []
    const client = makeClient({
      async fetch(this: unknown, url, init) {
        calls.push([this, url, init])
        return json({ data: { id: 'm1' } })
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
    const sandbox = await startSandbox({ conversations: 3 })
    onTestFinished(() => sandbox.close())
    const client = makeClient({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }), fetch })
    const conversations = await client.conversations.list({ limit: 2 }).toArray()
    expect(conversations).toHaveLength(3)
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
    expect(await rejection(makeClient({ baseUrl: redirecting.url, fetch }).me())).toMatchObject({ reason: 'redirect' })
    const silent = await startRawServer({})
    const controller = new AbortController()
    const hanging = rejection(makeClient({ baseUrl: silent.url, fetch }).me({ signal: controller.signal }))
    controller.abort('enough')
    expect(await hanging).toBe('enough')
  })
})

/** Returns a body that is read in chunks of a value. */
const chunksOf = (value: unknown) => ({
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value }) }),
})

const revoked = Proxy.revocable({}, {})
revoked.revoke()

describe('a custom fetch that fails', () => {
  test.each<[string, unknown]>([
    ['a refused connection', refusedConnection()],
    ['a broken connection', brokenConnection()],
    ['a host that is not found', Object.assign(new Error('getaddrinfo ENOTFOUND audit'), { code: 'ENOTFOUND' })],
    ['every address refused', new AggregateError([refusedConnection(), refusedConnection()])],
    ['a custom error', new Error('the audit log is down')],
    ['a TypeError from a bug', new TypeError('undefined is not a function')],
    ['an AbortError', new DOMException('aborted', 'AbortError')],
    ['undefined', undefined],
    ['a getter that throws', unreadable(new Error('x'), 'code')],
    ['a message that has no text', Object.assign(new Error('x'), { message: Object.create(null) })],
    ['a tag that throws', unreadable({}, Symbol.toStringTag as never)],
    ['a cause that is a revoked proxy', new Error('x', { cause: revoked.proxy })],
    ['a revoked proxy', revoked.proxy],
    ['the error by which ky asks for a retry', new ForceRetryError()],
    ['a timeout of its own ky', new TimeoutError(new Request('https://api.test'))],
  ])('with %s after sending a write makes the outcome unknown, and the write goes out once', async (_, failure) => {
    const fetch = vi.fn<WebFetch>(() => Promise.reject(failure))
    const error = await rejection(makeClient({ fetch }).messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'unknown', remedy: 'verify', attempts: [{}] })
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  const headers = new Headers()
  const text = async () => '{}'
  const readBody = new Response('{}')
  void readBody.text()
  const lockedBody = new Response('{}')
  lockedBody.body?.getReader()
  const noResponse = 'the `fetch` option returned no Response'
  const notBytes = 'the body of its response does not consist of bytes'
  test.each<[string, unknown, string?]>([
    ['throws a ReferenceError', new ReferenceError('x is not defined'), 'x is not defined'],
    ['throws an error of this package', new SupportWorkspaceError('No.', { hint: 'Fix it.' }), 'No. Fix it'],
    ['returns undefined', undefined, noResponse],
    ['returns null', null, noResponse],
    ['returns text', 'text', noResponse],
    ['returns only a status', { status: 200 }, noResponse],
    ['returns a status that is not a number', { status: Number.NaN, headers, text }, noResponse],
    ['returns a mock that only has json()', { status: 200, headers, json: text }, noResponse],
    ['returns plain headers', { status: 200, headers: {}, text }, noResponse],
    ['returns headers without forEach()', { status: 200, headers: { get: () => null }, text }, noResponse],
    ['returns neither a stream nor text()', { status: 200, headers, body: null }, noResponse],
    ['returns a body that was read', readBody, 'the `fetch` option has already read the body of its response'],
    ['returns a body that is locked', lockedBody],
    ['returns a body made of strings', new Response(new ReadableStream({ start: (it) => it.enqueue('{}') })), notBytes],
    ['returns chunks of nothing', { status: 200, headers, body: chunksOf(undefined) }, notBytes],
    ['returns chunks of text', { status: 200, headers, body: chunksOf('{"data":{}}') }, notBytes],
  ])('because it %s is named as the cause, and not called again, even for a GET', async (_, result, words = '') => {
    const fetch = vi.fn<WebFetch>(async () => {
      if (result instanceof Error) throw result
      return result as Response
    })
    const error = await rejection(makeClient({ fetch }).me())
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'no-effect', remedy: 'fix' })
    expect(String(error)).toContain(`failed in the \`fetch\` option: ${words}`)
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  const broken = new ReadableStream({ start: (body) => body.error(new TypeError('invalid state')) })
  test.each<[string, unknown]>([
    ['an Error', new Error('the tunnel closed')],
    ['a TypeError with a cause', new TypeError('x', { cause: new Error('closed') })],
    ['a TypeError with a code', Object.assign(new TypeError('x'), { code: 'EPIPE' })],
    ["a browser's TypeError", new TypeError('Failed to fetch')],
    ['a TypeError in the words of a device', new TypeError('Die Internetverbindung scheint offline zu sein.')],
    ['a string', 'closed'],
    ['a TypeError while the body is read', new Response(broken)],
  ])('because of the network (%s) is retried for a GET', async (_, result) => {
    jitter(0)
    const fetch = vi.fn<WebFetch>(async () => json({}))
    if (result instanceof Response) fetch.mockResolvedValueOnce(result)
    else fetch.mockRejectedValueOnce(result)
    await makeClient({ fetch }).me()
    expect(fetch).toHaveBeenCalledTimes(2)
  })
})
