import type { FetchResponse } from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import { json, makeClient, neverSettles, page, refusal, rejection, scripted } from '../helpers/client.ts'
import { countingSignal } from '../helpers/counting-signal.ts'
import { respond, respondJson, startRawServer } from '../helpers/raw-server.ts'
import { turns } from '../helpers/turns.ts'

type Options = Parameters<typeof makeClient>[0]

const stages: [string, () => Options][] = [
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
  test.each(stages)(
    "during %s rejects at once with the caller's reason, and leaves no listener",
    async (_, options) => {
      const counting = countingSignal()
      const result = rejection(makeClient(options()).me({ signal: counting.signal }))
      await turns(20)
      expect(counting.listeners).toBe(1)
      const reason = Object.freeze({ why: 'the person left' })
      counting.abort(reason)
      expect(await result).toBe(reason)
      expect(counting.listeners).toBe(0)
    },
  )

  test.each([
    ['an error', new Error('mine')],
    ['a string', 'mine'],
    ['null', null],
    ['a number', 0],
  ])('rejects with a reason that is %s', async (_, reason) => {
    const controller = new AbortController()
    const result = makeClient({ fetch: scripted(neverSettles) }).me({ signal: controller.signal })
    controller.abort(reason)
    await expect(result.then(undefined, (error: unknown) => ({ error }))).resolves.toEqual({ error: reason })
  })

  test("without a reason rejects with the platform's AbortError", async () => {
    const controller = new AbortController()
    const result = rejection(makeClient({ fetch: scripted(neverSettles) }).me({ signal: controller.signal }))
    controller.abort()
    expect(await result).toBe(controller.signal.reason)
    expect(await result).toMatchObject({ name: 'AbortError' })
  })

  test('before the call sends nothing and does not call the token provider', async () => {
    const fetch = scripted(json({}))
    let providerCalls = 0
    const client = makeClient({
      fetch,
      accessToken: () => {
        providerCalls += 1
        return 'swot_x'
      },
    })
    const reason = new Error('before')
    expect(await rejection(client.me({ signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect([fetch.requests.length, providerCalls]).toEqual([0, 0])
  })

  test('while the token provider is pending starts no attempt once there is a token', async () => {
    const controller = new AbortController()
    let provide = (_accessToken: string): void => {}
    const accessToken = () =>
      new Promise<string>((resolve) => {
        provide = resolve
      })
    const onAttemptStart = vi.fn()
    const fetch = scripted(json({}))
    const client = makeClient({ fetch, accessToken, hooks: { onAttemptStart } })
    const result = rejection(client.me({ signal: controller.signal }))
    await turns(20)
    controller.abort('enough')
    expect(await result).toBe('enough')
    provide('swot_x')
    await turns(20)
    expect(onAttemptStart).not.toHaveBeenCalled()
    expect(fetch.requests).toHaveLength(0)
  })

  test('before a fetch that ignores it has resolved leaves the response unread', async () => {
    const controller = new AbortController()
    const text = vi.fn(async () => '{}')
    let respond = (_response: FetchResponse): void => {}
    const fetch = () =>
      new Promise<FetchResponse>((resolve) => {
        respond = resolve
      })
    const result = rejection(makeClient({ fetch }).me({ signal: controller.signal }))
    await turns(20)
    controller.abort('enough')
    expect(await result).toBe('enough')
    respond({ status: 200, headers: new Headers(), text })
    await turns(20)
    expect(text).not.toHaveBeenCalled()
  })

  test('after the call has no effect', async () => {
    const counting = countingSignal()
    const result = makeClient({ fetch: scripted(json({ id: 1 })) }).me({ signal: counting.signal })
    expect(await result).toEqual({ id: 1 })
    counting.abort()
    expect(await result).toEqual({ id: 1 })
  })

  test.each([
    ['the headers', ''],
    ['the body', 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"data"'],
    ['the body of an error', 'HTTP/1.1 500 Oops\r\ncontent-length: 1000\r\n\r\n{"error"'],
  ])('while a server holds back %s closes the connection', async (_, begun) => {
    let received = (): void => {}
    const requested = new Promise<void>((resolve) => {
      received = resolve
    })
    await using server = await startRawServer({
      onRequest({ socket }) {
        if (begun === '') received()
        else socket.write(begun, () => received())
      },
    })
    const controller = new AbortController()
    const result = rejection(makeClient({ baseUrl: server.url }).me({ signal: controller.signal }))
    await requested
    const reason = { why: 'enough' }
    controller.abort(reason)
    expect(await result).toBe(reason)
    await server.idle()
    expect(server.requests).toHaveLength(1)
  })
})

describe('a signal shared by thousands of calls', () => {
  test('keeps no listener, and never has more than one per concurrent call', async () => {
    const counting = countingSignal()
    await using server = await startRawServer({
      onRequest(request) {
        if (request.number % 10 === 0) respond(request, { status: 404, body: '{"error":"not_found"}' })
        else respondJson(request, page([{ id: '1' }]))
      },
    })
    const client = makeClient({ baseUrl: server.url })
    await client.conversations.list()
    await turns(20)
    const before = resources()
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    for (let round = 0; round < 150; round += 1) {
      const calls = Array.from({ length: 20 }, () =>
        client.conversations.list({}, { signal: counting.signal }).then(
          () => {},
          () => {},
        ),
      )
      await Promise.all(calls)
    }
    process.off('warning', onWarning)
    await turns(20)
    expect(counting.added).toBe(3_000)
    expect(counting.listeners).toBe(0)
    expect(counting.most).toBe(20)
    expect(warnings).toEqual([])
    expect(resources().timers).toBeLessThanOrEqual(before.timers)
  })

  test('keeps no listener from lists that were left early', async () => {
    const counting = countingSignal()
    const fetch = scripted((request) => {
      const after = Number(new URL(request.url).searchParams.get('after') ?? 0)
      return json(page([{ id: `${after}` }], `${after + 1}`))
    })
    const { conversations } = makeClient({ fetch })
    for (let run = 0; run < 300; run += 1) {
      for await (const { id } of conversations.list({}, { signal: counting.signal })) if (id === '3') break
    }
    await turns(20)
    expect(counting.listeners).toBe(0)
  })
})

/** Returns how many timers keep this process alive. */
function resources() {
  const active = process.getActiveResourcesInfo()
  return { timers: active.filter((name) => name === 'Timeout').length }
}
