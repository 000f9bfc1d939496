import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type FetchInit, type RequestError, TimeoutError } from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { json, makeClient, neverSettles, page, refusal, rejection, type Step, scripted } from '../helpers/client.ts'
import { fakeClock, jitter } from '../helpers/clock.ts'
import { settled } from '../helpers/settled.ts'

fakeClock()
beforeEach(() => jitter(0))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.restoreAllMocks()
})

/** Returns a response whose body never ends: one byte per interval, in milliseconds. */
function drip(interval: number, status = 200) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const state = { cancelled: false }
  const body = new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => {
        timer = setTimeout(resolve, interval)
      })
      controller.enqueue(new TextEncoder().encode(' '))
    },
    cancel() {
      clearTimeout(timer)
      state.cancelled = true
    },
  })
  return Object.assign(state, { response: new Response(body, { status }) })
}

/** The stages of an attempt that can stall. None of them observes the signal. */
const stalls: [string, () => Parameters<typeof makeClient>[0], boolean][] = [
  ['the headers', () => ({ fetch: scripted(neverSettles) }), true],
  ['the body', () => ({ fetch: scripted(() => new Response(new ReadableStream())) }), true],
  ['a body that drips', () => ({ fetch: scripted(() => drip(9).response) }), true],
  ['the token provider', () => ({ accessToken: neverSettles, fetch: scripted(json({})) }), false],
]

const stallingLimiter = () => ({
  rateLimiter: { acquire: neverSettles },
  fetch: scripted(json({})),
  timeout: 500,
})

const hintFor = (sent: boolean) =>
  sent
    ? 'Try again, or raise the timeout.'
    : 'Nothing was sent. Check what the token provider, the headers function, the rate limiter or a hook is waiting for, or raise the timeout.'

describe('timeout', () => {
  test.each(stalls)('aborts an attempt waiting for %s', async (_, options, sent) => {
    const result = rejection(makeClient({ ...options(), timeout: 1_000, maxRetries: 0 }).me())
    await vi.advanceTimersByTimeAsync(999)
    expect(vi.getTimerCount()).toBeGreaterThan(0)
    await vi.advanceTimersByTimeAsync(1)
    const error = await settled(result)
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error).toMatchObject({
      message: `me took longer than 1000 ms. ${hintFor(sent)}`,
      limit: 'attempt',
      timeout: 1_000,
      outcome: sent ? 'no-effect' : 'not-sent',
      attempts: sent ? [{ duration: 1_000, error: 'TimeoutError' }] : [],
    })
  })

  test('applies to each attempt, and a read is retried', async () => {
    const fetch = scripted(neverSettles, neverSettles, json({ id: 1 }))
    const result = makeClient({ fetch, timeout: 1_000 }).me()
    // A wait of 0 ms still takes a timer 1 ms.
    await vi.advanceTimersByTimeAsync(2_002)
    expect(await settled(result)).toEqual({ id: 1 })
    expect(fetch.requests).toHaveLength(3)
  })

  test('of the call overrides that of the client', async () => {
    const result = rejection(
      makeClient({ fetch: scripted(neverSettles), timeout: 1_000 }).me({ timeout: 10, maxRetries: 0 }),
    )
    await vi.advanceTimersByTimeAsync(10)
    expect(await settled(result)).toMatchObject({ timeout: 10 })
  })

  test('cancels a body that drips and a response that arrives too late', async () => {
    const slow = drip(10)
    const late = drip(10)
    const stalled = Promise.withResolvers<Response>()
    const client = makeClient({
      fetch: scripted(
        () => slow.response,
        () => stalled.promise,
      ),
      timeout: 1_000,
      maxRetries: 0,
    })
    const first = rejection(client.me())
    await vi.advanceTimersByTimeAsync(1_000)
    await settled(first)
    expect(slow.cancelled).toBe(true)
    const second = rejection(client.me())
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await settled(second)).toBeInstanceOf(TimeoutError)
    stalled.resolve(late.response)
    await vi.advanceTimersByTimeAsync(0)
    expect(late.cancelled).toBe(true)
  })

  test('can be as long as the longest timer', async () => {
    const limits = { timeout: 2 ** 31 - 1, totalTimeout: Number.POSITIVE_INFINITY, maxRetries: 0 }
    const result = rejection(makeClient({ fetch: scripted(neverSettles), ...limits }).me())
    await vi.advanceTimersByTimeAsync(2 ** 31 - 1)
    expect(await settled(result)).toMatchObject({ name: 'TimeoutError', limit: 'attempt', timeout: 2 ** 31 - 1 })
  })

  test('defaults to 30 seconds, and Infinity disables it', async () => {
    const byDefault = rejection(makeClient({ fetch: scripted(neverSettles), maxRetries: 0 }).me())
    await vi.advanceTimersByTimeAsync(30_000)
    expect(await settled(byDefault)).toMatchObject({ timeout: 30_000, limit: 'attempt' })
    const unlimited = makeClient({ fetch: scripted(neverSettles), timeout: Number.POSITIVE_INFINITY, maxRetries: 0 })
    const result = rejection(unlimited.me())
    await vi.advanceTimersByTimeAsync(120_000)
    expect(await settled(result)).toMatchObject({ timeout: 120_000, limit: 'total' })
  })
})

describe('totalTimeout', () => {
  // The turn of a rate limiter is part of no attempt, so that `timeout` does not end it.
  const allStalls = [...stalls, ['the rate limiter', stallingLimiter, false] as const]
  test.each(allStalls)('aborts a call waiting for %s', async (_, options, sent) => {
    const result = rejection(makeClient({ ...options(), totalTimeout: 1_000 }).me())
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await settled(result)).toMatchObject({
      name: 'TimeoutError',
      message: `me took longer than its total limit of 1000 ms. ${hintFor(sent)}`,
      limit: 'total',
      timeout: 1_000,
      outcome: sent ? 'no-effect' : 'not-sent',
      attempts: sent ? [{}] : [],
    })
  })

  /** Uses up exactly the time of a call. The timer cannot fire meanwhile. */
  const useUpTime = () => {
    const end = performance.now() + 1_000
    vi.spyOn(performance, 'now').mockReturnValue(end)
  }

  test.each<[string, number, { validate?: () => void; acquire?: () => void }]>([
    ['a body schema', 0, { validate: useUpTime }],
    ['a rate limiter', 1, { acquire: useUpTime }],
  ])('is over when %s has used it up: %i tokens are asked for and nothing is sent', async (_, tokens, work) => {
    const validate = (value: unknown) => {
      work.validate?.()
      return { value }
    }
    const { acquire = () => {} } = work
    const body = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const operation = { id: 'x', method: 'POST', path: '/x', body } as const
    const accessToken = vi.fn(() => 'swot_x')
    const fetch = scripted(json({ data: {} }))
    const client = makeClient({ fetch, accessToken, rateLimiter: { acquire }, totalTimeout: 1_000 })
    const error = await settled(rejection(client.call(operation, { body: {} })))
    expect(error).toMatchObject({ name: 'TimeoutError', limit: 'total', outcome: 'not-sent', attempts: [] })
    expect(accessToken).toHaveBeenCalledTimes(tokens)
    expect(fetch.requests).toEqual([])
  })

  test('aborts a call whose schema never settles', async () => {
    const body = { '~standard': { version: 1, vendor: 'test', validate: neverSettles } } as const
    const operation = { id: 'x', method: 'POST', path: '/x', body } as const
    const result = rejection(makeClient({ totalTimeout: 1_000 }).call(operation, { body: {} as never }))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await settled(result)).toMatchObject({
      ...{ name: 'TimeoutError', limit: 'total', timeout: 1_000, outcome: 'not-sent' },
      hint: hintFor(false),
    })
  })

  test('includes the time of an asynchronous query schema, in each page of a list', async () => {
    const validate = async (value: unknown) => {
      await new Promise((resolve) => setTimeout(resolve, 900))
      return { value }
    }
    const query = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const operation = { id: 'x', method: 'GET', path: '/x', query, envelope: 'list' } as const
    const fetch = scripted(neverSettles)
    const list = makeClient({ fetch, totalTimeout: 1_000 }).call(operation, { query: {} as never })
    const result = rejection(Promise.resolve(list))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(fetch.requests).toHaveLength(1)
    expect(await settled(result)).toMatchObject({ name: 'TimeoutError', limit: 'total', attempts: [{ duration: 100 }] })
  })

  test('spans all attempts of a call', async () => {
    const fetch = scripted(neverSettles)
    const client = makeClient({ fetch, timeout: 1_000, totalTimeout: 2_500, maxRetries: 10 })
    const result = rejection(client.me())
    await vi.advanceTimersByTimeAsync(2_500)
    const error = (await settled(result)) as RequestError
    expect(error).toMatchObject({ limit: 'total' })
    expect(error.attempts.map(({ duration }) => duration)).toEqual([1_000, 1_000, 498])
  })

  test('prevents a retry that would come too late', async () => {
    jitter(1)
    const fetch = scripted(refusal(503, 'down'))
    expect(await settled(rejection(makeClient({ fetch, totalTimeout: 400 }).me()))).toMatchObject({
      name: 'ServerError',
    })
    expect(fetch.requests).toHaveLength(1)
  })

  test('keeps the status of an error response whose body stalls', async () => {
    const result = rejection(makeClient({ fetch: scripted(() => drip(10, 500).response), totalTimeout: 1_000 }).me())
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await settled(result)).toMatchObject({ name: 'ServerError', status: 500, outcome: 'no-effect' })
  })

  test('applies to each page of a list', async () => {
    const slow =
      (body: unknown): Step =>
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 900))
        return json(body)
      }
    const fetch = scripted(slow(page([{ id: '1' }], 'a')), slow(page([{ id: '2' }], 'b')), slow(page([{ id: '3' }])))
    const result = makeClient({ fetch, totalTimeout: 1_000 }).conversations.list().toArray()
    await vi.advanceTimersByTimeAsync(2_700)
    expect(await settled(result)).toHaveLength(3)
  })

  test.each([
    ['timeout', 'onInvalidToken took too long'],
    ['totalTimeout', 'The total timeout has expired.'],
  ])(
    '%s applies to an onInvalidToken that never settles, and the call rejects with the 401',
    async (limit, message) => {
      const accessToken = { getAccessToken: () => 'swot_x', onInvalidToken: neverSettles }
      const client = makeClient({ fetch: scripted(refusal(401, 'invalid_token')), accessToken, [limit]: 1_000 })
      const result = rejection(client.me())
      await vi.advanceTimersByTimeAsync(1_000)
      expect(await settled(result)).toMatchObject({ name: 'AuthenticationError', status: 401, cause: { message } })
    },
  )

  test('can exceed the longest timer', async () => {
    const response = Promise.withResolvers<Response>()
    const client = makeClient({ fetch: scripted(() => response.promise), timeout: 1e12, totalTimeout: 1e12 })
    const result = client.me()
    await vi.advanceTimersByTimeAsync(1_000)
    response.resolve(json({ id: 1 }))
    expect(await settled(result)).toEqual({ id: 1 })
  })
})

test.each([
  ['timeout', { timeout: 1_000, maxRetries: 0 }],
  ['totalTimeout', { totalTimeout: 1_000 }],
])('when its %s expires, the reason of the signal that `fetch` got is an Error', async (_, options) => {
  let signal: FetchInit['signal'] | undefined
  const fetch = (_url: string, init: FetchInit) => {
    signal = init.signal
    return neverSettles()
  }
  const result = rejection(makeClient({ fetch, ...options }).me())
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await settled(result)).toBeInstanceOf(TimeoutError)
  expect(signal).toMatchObject({ aborted: true, reason: expect.any(Error) })
})

test.each([
  ['fetch', { fetch: neverSettles }],
  ['the body', { fetch: async () => new Response(new ReadableStream()) }],
])('totalTimeout survives a garbage collection while %s stalls without a timeout', async (_, options) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const client = makeClient({ ...options, timeout: Number.POSITIVE_INFINITY, totalTimeout: 1_000 })
  const settled = vi.fn()
  void client.me().catch(settled)
  await vi.advanceTimersByTimeAsync(500)
  collectGarbage()
  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  await vi.advanceTimersByTimeAsync(500)
  expect(settled).toHaveBeenCalledWith(expect.objectContaining({ name: 'TimeoutError', limit: 'total' }))
})
