import {
  type CallOptions,
  defineOperation,
  type FetchResponse,
  type Middleware,
  type SupportWorkspace,
} from 'support-workspace-sdk'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { json, makeClient, neverSettles, page, refusal, rejection, scripted } from '../helpers/client.ts'
import { countingSignal } from '../helpers/counting-signal.ts'
import { startRawServer } from '../helpers/raw-server.ts'
import { turns } from '../helpers/turns.ts'

type Options = Parameters<typeof makeClient>[0]

const endless = { '~standard': { version: 1, vendor: 'x', validate: neverSettles } } as const
const checked = defineOperation({ id: 'x', method: 'POST', path: '/x', body: endless })

const stages: [string, () => Options, ((client: SupportWorkspace, options: CallOptions) => PromiseLike<unknown>)?][] = [
  ['a schema', () => ({}), (client, options) => client.call(checked, { body: {} as never }, options)],
  ['the request', () => ({ fetch: scripted(neverSettles) })],
  ['the body', () => ({ fetch: scripted(() => new Response(new ReadableStream())) })],
  ['the body of an error', () => ({ fetch: scripted(() => new Response(new ReadableStream(), { status: 500 })) })],
  ['the wait before a retry', () => ({ fetch: scripted(refusal(503, 'x', { 'retry-after': '50' })) })],
  ['the wait after a 429', () => ({ fetch: scripted(refusal(429, 'x', { 'retry-after': '50' })) })],
  ['the token provider', () => ({ fetch: scripted(json({})), accessToken: neverSettles })],
  [
    'onInvalidToken',
    () => ({
      fetch: scripted(refusal(401, 'invalid_token')),
      accessToken: { getAccessToken: () => 'swot_x', onInvalidToken: neverSettles },
    }),
  ],
]

describe('an abort', () => {
  test.each(stages)("during %s rejects at once with the caller's reason and leaves no listener", async (...stage) => {
    const [, options, call = (client, callOptions) => client.me(callOptions)] = stage
    const counting = countingSignal()
    const result = rejection(call(makeClient(options()), { signal: counting.signal }))
    await turns(20)
    expect(counting.listeners).toBe(1)
    const reason = Object.freeze({ why: 'the person left' })
    counting.abort(reason)
    expect(await result).toBe(reason)
    expect(counting.listeners).toBe(0)
  })

  test.each([new Error('mine'), 'mine', null, 0, undefined])('rejects with its reason: %s', async (reason) => {
    const controller = new AbortController()
    const result = makeClient({ fetch: scripted(neverSettles) }).me({ signal: controller.signal })
    controller.abort(reason)
    const [{ reason: thrown }] = (await Promise.allSettled([result])) as [PromiseRejectedResult]
    // Without a reason, it is the AbortError of the platform.
    expect(thrown).toBe(controller.signal.reason)
  })

  test('before the call sends nothing, and calls neither the token provider nor a schema nor a middleware', async () => {
    const fetch = scripted(json({}))
    const accessToken = vi.fn(() => 'swot_x')
    const validate = vi.fn(() => ({ value: {} }))
    const middleware = vi.fn<Middleware>((call, next) => next(call))
    const body = { '~standard': { version: 1, vendor: 'x', validate } } as const
    const operation = defineOperation({ id: 'x', method: 'POST', path: '/x', body })
    const reason = new Error('before')
    for (const client of [makeClient({ fetch, accessToken }), makeClient({ fetch, accessToken, middleware })]) {
      const call = client.call(operation, { body: {} }, { signal: AbortSignal.abort(reason) })
      expect(await rejection(call)).toBe(reason)
    }
    expect(fetch.requests).toEqual([])
    for (const each of [accessToken, validate, middleware]) expect(each).not.toHaveBeenCalled()
  })

  test('while the token provider is pending starts no attempt once there is a token', async () => {
    const controller = new AbortController()
    const token = Promise.withResolvers<string>()
    const onAttemptStart = vi.fn()
    const fetch = scripted(json({}))
    const client = makeClient({ fetch, accessToken: () => token.promise, hooks: { onAttemptStart } })
    const result = rejection(client.me({ signal: controller.signal }))
    await turns(20)
    controller.abort('enough')
    expect(await result).toBe('enough')
    token.resolve('swot_x')
    await turns(20)
    expect(onAttemptStart).not.toHaveBeenCalled()
    expect(fetch.requests).toHaveLength(0)
  })

  test.each<[string, () => string | Promise<string>]>([
    ['never returns a token', neverSettles],
    [
      'takes longer than `totalTimeout`',
      () => {
        vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 120_000)
        onTestFinished(() => void vi.restoreAllMocks())
        return 'swot_x'
      },
    ],
  ])('inside a token provider that then %s rejects with its reason', async (_, accessToken) => {
    const controller = new AbortController()
    const fetch = scripted(json({}))
    const aborting = () => {
      controller.abort('enough')
      return accessToken()
    }
    const call = makeClient({ fetch, accessToken: aborting }).me({ signal: controller.signal })
    expect(await rejection(call)).toBe('enough')
    expect(fetch.requests).toEqual([])
  })

  test('before a fetch that ignores it has resolved leaves the response unread', async () => {
    const controller = new AbortController()
    const text = vi.fn(async () => '{}')
    const response = Promise.withResolvers<FetchResponse>()
    const result = rejection(makeClient({ fetch: () => response.promise }).me({ signal: controller.signal }))
    await turns(20)
    controller.abort('enough')
    expect(await result).toBe('enough')
    response.resolve({ status: 200, headers: new Headers(), text })
    await turns(20)
    expect(text).not.toHaveBeenCalled()
  })

  test.each([
    ['the headers', ''],
    ['the body', 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"data"'],
    ['the body of an error', 'HTTP/1.1 500 Oops\r\ncontent-length: 1000\r\n\r\n{"error"'],
  ])('while a server holds back %s closes the connection', async (_, begun) => {
    const received = Promise.withResolvers<void>()
    const server = await startRawServer({
      onRequest({ socket }) {
        if (begun === '') received.resolve()
        else socket.write(begun, () => received.resolve())
      },
    })
    const controller = new AbortController()
    const result = rejection(makeClient({ baseUrl: server.url }).me({ signal: controller.signal }))
    await received.promise
    const reason = { why: 'enough' }
    controller.abort(reason)
    expect(await result).toBe(reason)
    await server.idle()
    expect(server.requests).toHaveLength(1)
  })
})

test('a signal shared by hundreds of calls keeps no listener, and never has more than one per concurrent call', async () => {
  const counting = countingSignal()
  const fetch = scripted(json(page([])), refusal(404, 'not_found'), json(page([])))
  const { conversations } = makeClient({ fetch })
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  const calls = Array.from({ length: 300 }, () => conversations.list({}, { signal: counting.signal }))
  await Promise.allSettled(calls)
  await turns(20)
  process.off('warning', onWarning)
  expect([counting.added, counting.most, counting.listeners]).toEqual([300, 300, 0])
  expect(warnings).toEqual([])
})
