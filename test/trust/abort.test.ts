import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { json, makeClient, page, refusal, rejection, scripted } from '../helpers/client.ts'
import { countingSignal } from '../helpers/counting-signal.ts'
import { respond, respondJson, startRawServer } from '../helpers/raw-server.ts'

const forever = () => new Promise<never>(() => {})

/** Lets everything happen that is going to. */
async function settle(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await turn()
}

type Options = Parameters<typeof makeClient>[0]

const stages: [string, () => Options][] = [
  ['the request', () => ({ fetch: scripted(forever) })],
  ['the body', () => ({ fetch: scripted(() => new Response(new ReadableStream())) })],
  ['the body of an error', () => ({ fetch: scripted(() => new Response(new ReadableStream(), { status: 500 })) })],
  ['the wait before a retry', () => ({ fetch: scripted(refusal(503, 'x', { 'retry-after': '50' })) })],
  ['the wait after a 429', () => ({ fetch: scripted(refusal(429, 'x', { 'retry-after': '50' })) })],
  ['the token provider', () => ({ fetch: scripted(json({})), accessToken: forever })],
  [
    'onInvalidToken',
    () => ({
      fetch: scripted(refusal(401, 'invalid_token')),
      accessToken: { getAccessToken: () => 'swot_x', onInvalidToken: forever },
    }),
  ],
]

describe('an abort', () => {
  test.each(stages)('during %s rejects at once with the very reason, and leaves no listener', async (_, options) => {
    const counting = countingSignal()
    const result = rejection(makeClient(options()).me({ signal: counting.signal }))
    await settle()
    expect(counting.listeners).toBe(1)
    const reason = Object.freeze({ why: 'the person left' })
    counting.abort(reason)
    expect(await result).toBe(reason)
    expect(counting.listeners).toBe(0)
  })

  test.each([
    ['an error', new Error('mine')],
    ['a string', 'mine'],
    ['null', null],
    ['a number', 0],
  ])('rejects with its reason also when that is %s', async (_, reason) => {
    const controller = new AbortController()
    const result = makeClient({ fetch: scripted(forever) }).me({ signal: controller.signal })
    controller.abort(reason)
    await expect(result.then(undefined, (error: unknown) => ({ error }))).resolves.toEqual({ error: reason })
  })

  test('without a reason rejects with the AbortError of the platform', async () => {
    const controller = new AbortController()
    const result = rejection(makeClient({ fetch: scripted(forever) }).me({ signal: controller.signal }))
    controller.abort()
    expect(await result).toBe(controller.signal.reason)
    expect(await result).toMatchObject({ name: 'AbortError' })
  })

  test('that came before the call sends nothing and asks for no token', async () => {
    const fetch = scripted(json({}))
    let asked = 0
    const client = makeClient({
      fetch,
      accessToken: () => {
        asked += 1
        return 'swot_x'
      },
    })
    const reason = new Error('before')
    expect(await rejection(client.me({ signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect([fetch.requests.length, asked]).toEqual([0, 0])
  })

  test('that comes after the call changes nothing', async () => {
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
  ])('while a real server holds back %s closes the connection', async (_, begun) => {
    let received = (): void => {}
    const asked = new Promise<void>((resolve) => {
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
    await asked
    const reason = { why: 'enough' }
    controller.abort(reason)
    expect(await result).toBe(reason)
    await server.idle()
    expect(server.requests).toHaveLength(1)
  })
})

describe('one signal over thousands of calls', () => {
  test('has no listener left, and never more than there are calls at a time', async () => {
    const counting = countingSignal()
    await using server = await startRawServer({
      onRequest(request) {
        if (request.number % 10 === 0) respond(request, { status: 404, body: '{"error":"not_found"}' })
        else respondJson(request, page([{ id: '1' }]))
      },
    })
    const client = makeClient({ baseUrl: server.url })
    await client.conversations.list()
    await settle()
    const before = resources()
    const warnings: Error[] = []
    const hear = (warning: Error) => warnings.push(warning)
    process.on('warning', hear)
    for (let round = 0; round < 150; round += 1) {
      const calls = Array.from({ length: 20 }, () =>
        client.conversations.list({}, { signal: counting.signal }).then(
          () => {},
          () => {},
        ),
      )
      await Promise.all(calls)
    }
    process.off('warning', hear)
    await settle()
    expect(counting.added).toBe(3_000)
    expect(counting.listeners).toBe(0)
    expect(counting.most).toBe(20)
    expect(warnings).toEqual([])
    expect(resources().timers).toBeLessThanOrEqual(before.timers)
  })

  test('has no listener left by lists that were left early', async () => {
    const counting = countingSignal()
    const fetch = scripted((request) => {
      const after = Number(new URL(request.url).searchParams.get('after') ?? 0)
      return json(page([{ id: `${after}` }], `${after + 1}`))
    })
    const { conversations } = makeClient({ fetch })
    for (let run = 0; run < 300; run += 1) {
      for await (const { id } of conversations.list({}, { signal: counting.signal })) if (id === '3') break
    }
    await settle()
    expect(counting.listeners).toBe(0)
  })
})

/** What keeps this process busy, as Node counts it. */
function resources() {
  const active = process.getActiveResourcesInfo()
  return { timers: active.filter((name) => name === 'Timeout').length }
}
