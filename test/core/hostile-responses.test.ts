import { Readable } from 'node:stream'
import { type FetchResponse, UnprocessableError, type WebFetch } from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import { json, makeClient, rejection } from '../helpers/client.ts'
import { thrower } from '../helpers/failing-callbacks.ts'
import { turns } from '../helpers/turns.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

// Responses that a custom `fetch` should not return, and returns all the same.

const fail = thrower(new Error('from the body'))
const never = () => new Promise<never>(() => {})
const headers = new Headers({ 'content-type': 'application/json' })

/** Bodies that never end and cannot be released in an orderly way. */
const bodies: Readonly<Record<string, () => unknown>> = {
  'a stream whose cancel() throws': () => ({ cancel: fail, getReader: () => ({ read: never, cancel: fail }) }),
  'a stream whose cancel() returns nothing': () => ({ cancel() {}, getReader: () => ({ read: never, cancel() {} }) }),
  'a stream whose cancel() rejects': () => ({
    cancel: async () => fail(),
    getReader: () => ({ read: never, cancel: async () => fail() }),
  }),
  'an iterable whose destroy() throws': () => ({ destroy: fail, [Symbol.asyncIterator]: () => ({ next: never }) }),
  'an iterable whose destroy() rejects': () => ({
    destroy: async () => fail(),
    [Symbol.asyncIterator]: () => ({ next: never }),
  }),
  'a Node stream that emits an error once it is destroyed': () =>
    new Readable({ read() {}, destroy: (_, done) => done(new Error('aborted')) }),
}

type Client = ReturnType<typeof makeClient<'self'>>

const responding = (status: number, body: unknown): WebFetch => {
  return async () => ({ status, headers, body, text: never }) as FetchResponse
}

/** Returns what a call to a service with this response rejects with. No other rejection may be left unhandled. */
async function onlyRejection(status: number, body: unknown, use: (client: Client) => PromiseLike<unknown>) {
  let error: unknown
  const unhandled = await unhandledDuring(async () => {
    error = await rejection(use(makeClient({ fetch: responding(status, body), timeout: 5 })))
  })
  expect(unhandled).toEqual([])
  return error
}

describe.each(Object.entries(bodies))('%s', (_, makeBody) => {
  test('keeps the error of a status, and its outcome, when the body never ends', async () => {
    const error = await onlyRejection(422, makeBody(), ({ contacts }) => contacts.create({ email: 'ada@example.com' }))
    expect(error).toBeInstanceOf(UnprocessableError)
    expect(error).toMatchObject({ outcome: 'refused' })
  })

  test("keeps the caller's reason when the call is aborted", async () => {
    const controller = new AbortController()
    void turns(20).then(() => controller.abort('enough'))
    const options = { signal: controller.signal, timeout: 30_000 }
    expect(await onlyRejection(200, makeBody(), (client) => client.me(options))).toBe('enough')
  })

  test('keeps the reason when the response is a redirect', async () => {
    const error = await onlyRejection(302, makeBody(), (client) => client.me())
    expect(error).toMatchObject({ name: 'UnexpectedResponseError', reason: 'redirect' })
  })
})

/** Gets a member with a limit for the body, so that a body that is read again and again ends. */
const read = (response: object) =>
  makeClient({
    fetch: async () => ({ status: 200, headers, ...response }) as unknown as FetchResponse,
    maxResponseBytes: 100,
    maxRetries: 0,
  }).members.get('1')

describe('a response that lacks a part', () => {
  test('is read once with text() when it has no stream, as in React Native', async () => {
    for (const response of [{}, { body: {} }]) {
      const text = vi.fn(async () => '{"data":{"id":"ä€"}}')
      expect(await read({ ...response, text })).toEqual({ id: 'ä€' })
      expect(text).toHaveBeenCalledTimes(1)
    }
  })

  test('is read as a stream when it has no text(), even if a character is split between two chunks', async () => {
    const chunks = [...new TextEncoder().encode('{"data":{"id":"ä€"}}')].map((byte) => Uint8Array.of(byte))
    expect(await read({ body: Readable.from(chunks) })).toEqual({ id: 'ä€' })
  })
})

test.each([0, 103])('a response with status %i is an error', async (status) => {
  const error = await rejection(read({ status, body: json({ data: { id: '1' } }).body }))
  expect(error).toMatchObject({ name: 'ApiError', status, outcome: 'no-effect' })
})

describe('a Node stream', () => {
  test('is destroyed when the response is a redirect', async () => {
    const body = Readable.from(['x'])
    expect(await rejection(read({ status: 302, body }))).toMatchObject({ reason: 'redirect' })
    expect(body.destroyed).toBe(true)
  })

  test('is destroyed when it is too long', async () => {
    const body = Readable.from([Buffer.alloc(60, ' '), Buffer.alloc(60, ' ')])
    expect(await rejection(read({ body }))).toMatchObject({ reason: 'too-large' })
    expect(body.destroyed).toBe(true)
  })
})

describe('headers that HTTP does not allow', () => {
  const odd = [
    ['x-name', '日本語'],
    ['x-number', 7],
    ['x-list', ['a', 'b']],
    ['not a name', 'x'],
    ['x-good', 'yes'],
  ] as const
  const oddHeaders = {
    get: () => undefined,
    forEach: (each: (value: unknown, name: string) => void) => {
      for (const [name, value] of odd) each(value, name)
    },
  }
  const respond = (status: number, body: unknown): WebFetch => {
    const { body: stream } = json(body)
    return async () => ({ status, headers: oddHeaders, body: stream, text: never }) as unknown as FetchResponse
  }

  test('are left out of the response of a write that succeeded', async () => {
    const client = makeClient({ fetch: respond(200, { data: { id: 'c' } }) })
    const { data, response } = await client.contacts.create({ email: 'ada@example.com' }).withResponse()
    expect(data).toEqual({ id: 'c' })
    expect([...response.headers].map(([name]) => name)).toEqual(['x-good', 'x-list', 'x-number'])
  })

  test('do not hide the error of a status', async () => {
    const client = makeClient({ fetch: respond(422, { error: 'invalid_request' }) })
    expect(await rejection(client.me())).toMatchObject({ name: 'UnprocessableError', outcome: 'refused' })
  })
})

test('a header whose name contains the token is left out, and its value is redacted in any case', async () => {
  const secret = 'Opaque-Token-9rT4vB2nK6'
  const echo = { [`x-${secret}`]: '1', 'x-lower': secret.toLowerCase(), 'x-request-id': secret.toUpperCase() }
  const fetch = async () => json({ actor: 'self' }, 200, echo)
  const { response } = await makeClient({ accessToken: secret, fetch }).me().withResponse()
  expect([...response.headers.keys()]).toEqual(['content-type', 'x-lower', 'x-request-id'])
  expect(JSON.stringify([...response.headers])).not.toMatch(new RegExp(secret, 'i'))
  expect(response.requestId).toBe('[redacted]')
})

test('a request ID is cut off after 500 characters', async () => {
  const fetch = async () => json({ actor: 'self' }, 200, { 'x-request-id': 'r'.repeat(9_000) })
  const { response } = await makeClient({ fetch }).me().withResponse()
  expect(response.requestId).toBe(`${'r'.repeat(500)}…`)
})

test.each(['/api/oauth/v1/conversations/cnv_1', '{"body_html":"<p>Hi</p>"}', 'two words'])(
  'a request ID that could hold a part of the request is left out: %s',
  async (id) => {
    const fetch = async () => json({ actor: 'self' }, 200, { 'x-request-id': id })
    const { response } = await makeClient({ fetch }).me().withResponse()
    expect(response.requestId).toBeUndefined()
  },
)

test('a body of endless empty chunks is refused after 1,000 of them, instead of keeping timers from firing', async () => {
  const next = vi.fn(async () => ({ done: false, value: new Uint8Array() }))
  const body = { [Symbol.asyncIterator]: () => ({ next }) }
  const error = await rejection(makeClient({ fetch: responding(200, body), maxRetries: 0 }).me())
  expect(error).toMatchObject({ name: 'NetworkError', message: expect.stringContaining('empty chunks') })
  expect(next).toHaveBeenCalledTimes(1_001)
})
