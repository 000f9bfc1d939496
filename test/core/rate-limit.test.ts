import { AdaptiveRateLimiter, RateLimitError, type WaitEvent } from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import { json, makeClient, refusal, rejection, scripted } from '../helpers/client.ts'
import { fakeClock, jitter } from '../helpers/clock.ts'
import { settled, settledAfterTimers } from '../helpers/settled.ts'

fakeClock()

const slowDown = refusal(429, 'slow_down', { 'retry-after': '10' })

/** Returns a client whose first call got a 429 and waits for its retry. */
async function rateLimited(options: Parameters<typeof makeClient>[0] = {}) {
  const fetch = scripted(slowDown, () => json({}))
  const client = makeClient({ fetch, ...options })
  const first = client.me()
  first.catch(() => {})
  await vi.advanceTimersByTimeAsync(0)
  expect(fetch.requests).toHaveLength(1)
  return { client, fetch, first }
}

describe('after a 429, the client', () => {
  test('knows an operation by its method and path template, whatever the ids', async () => {
    const fetch = scripted(slowDown, () => json({ data: { id: 'x' } }))
    const client = makeClient({ fetch })
    const calls = [client.members.get('1')]
    await vi.advanceTimersByTimeAsync(0)
    calls.push(client.members.get('2'))
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await settledAfterTimers(Promise.all(calls))
  })

  test('repeats the call that got it before those that have waited for it', async () => {
    const { client, fetch, first } = await rateLimited()
    const second = client.me({ extraQuery: { call: 2 } })
    await vi.advanceTimersByTimeAsync(10_000)
    await settledAfterTimers(Promise.all([first, second]))
    expect(fetch.queries()).toEqual(['', '', '?call=2'])
  })

  test('rejects its further calls of the operation, and no others, while a Retry-After above the maximum lasts', async () => {
    const fetch = scripted(refusal(429, 'x', { 'retry-after': '90' }), () => json({}))
    const client = makeClient({ fetch })
    expect(await settled(rejection(client.me()))).toMatchObject({ retryAfter: 90, outcome: 'refused' })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await settled(rejection(client.me()))).toMatchObject({
      name: 'RateLimitError',
      retryAfter: 85,
      outcome: 'not-sent',
      remedy: 'retry',
      attempts: [],
    })
    await settled(client.request('GET', '/x'))
    await settled(client.request('POST', '/api/oauth/v1/me'))
    await settled(makeClient({ fetch }).me())
    expect(fetch.requests).toHaveLength(4)
    await vi.advanceTimersByTimeAsync(85_000)
    await settled(client.me())
    expect(fetch.requests).toHaveLength(5)
  })
})

test.each([{ maxRetries: 0 }, { totalTimeout: 5_500 }])(
  'a call with %j rejects at once with the wait in seconds, rounded up, and is sent once it is over',
  async (options) => {
    const { client, fetch, first } = await rateLimited()
    await vi.advanceTimersByTimeAsync(4_500)
    const error = await settled(rejection(client.me(options)))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ outcome: 'not-sent', retryAfter: 6, status: 429, attempts: [], response: undefined })
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(5_500)
    await settled(first)
    await settled(client.me(options))
    expect(fetch.requests).toHaveLength(3)
  },
)

describe('onWait', () => {
  test('is called when a call waits, with operation, wait and reason, but not for the retry of the 429 itself', async () => {
    const events: WaitEvent[] = []
    const { client, first } = await rateLimited({ hooks: { onWait: (event) => void events.push(event) } })
    await vi.advanceTimersByTimeAsync(4_000)
    const second = client.me()
    await vi.advanceTimersByTimeAsync(6_000)
    await settledAfterTimers(Promise.all([first, second]))
    expect(events).toMatchObject([{ operation: 'me', wait: 6_000, reason: 'rate_limit' }])
  })
  test('for a call that waits for its own retry is called when the response to another call prolongs the wait', async () => {
    const waits: WaitEvent[] = []
    const late = () =>
      new Promise<Response>((resolve) => {
        setTimeout(() => resolve(refusal(429, 'x', { 'retry-after': '30' })), 5_000)
      })
    const fetch = scripted(slowDown, late, () => json({}))
    const client = makeClient({ fetch, hooks: { onWait: (event) => void waits.push(event) } })
    const calls = [client.me(), client.me()]
    await vi.advanceTimersByTimeAsync(10_000)
    expect(waits).toMatchObject([{ operation: 'me', wait: 30_000 }])
    await vi.advanceTimersByTimeAsync(25_000)
    await settledAfterTimers(Promise.all(calls))
  })
})

test('a 429 without Retry-After holds back other calls for the backoff', async () => {
  jitter(0.5)
  const fetch = scripted(refusal(429, 'x'), () => json({}))
  const client = makeClient({ fetch })
  const calls = [client.me()]
  await vi.advanceTimersByTimeAsync(0)
  calls.push(client.me())
  await vi.advanceTimersByTimeAsync(249)
  expect(fetch.requests).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  await settled(Promise.all(calls))
})

test('a turn is given back when the call is aborted at any moment around its grant', async () => {
  for (let microtasks = 0; microtasks < 24; microtasks += 1) {
    const shared = {
      fetch: scripted(() => json({})),
      rateLimiter: new AdaptiveRateLimiter({ maxConcurrency: 1 }),
      rateLimitKey: 'org',
    }
    const controller = new AbortController()
    const onAttemptEnd = async () => {
      for (let count = 0; count < microtasks; count += 1) await null
      controller.abort()
    }
    const first = makeClient({ ...shared, hooks: { onAttemptEnd } }).me()
    const client = makeClient(shared)
    const aborted = client.me({ signal: controller.signal }).catch(() => {})
    await settled(Promise.all([first, aborted]))
    await settled(client.me())
  }
})
