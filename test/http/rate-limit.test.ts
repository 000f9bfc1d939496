import {
  type AttemptStartEvent,
  RateLimitError,
  type RequestError,
  RetryAfterLimiter,
  type WaitEvent,
} from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { json, makeClient, refusal, rejection, scripted } from '../helpers/client.ts'
import { settled, settledAfterTimers } from '../helpers/settled.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

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
  test('holds back the other calls of the operation until Retry-After has passed', async () => {
    const { client, fetch, first } = await rateLimited()
    const others = [client.me(), client.me()]
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await settledAfterTimers(Promise.all([first, ...others]))
    expect(fetch.requests).toHaveLength(4)
  })

  test('holds back no other operation', async () => {
    const { client, fetch, first } = await rateLimited()
    await settled(client.request('GET', '/x'))
    await settled(client.request('POST', '/api/oauth/v1/me'))
    expect(fetch.requests).toHaveLength(3)
    await vi.advanceTimersByTimeAsync(10_000)
    await settled(first)
  })

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

  test('holds back every operation once a second one is refused meanwhile', async () => {
    const fetch = scripted(slowDown, slowDown, () => json({}))
    const client = makeClient({ fetch })
    const calls: Promise<unknown>[] = [client.me(), client.request('GET', '/x')]
    await vi.advanceTimersByTimeAsync(0)
    calls.push(client.request('GET', '/y'))
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.requests).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    await settledAfterTimers(Promise.all(calls))
  })

  test('does not hold back the calls of other clients', async () => {
    await rateLimited()
    const fetch = scripted(json({}))
    await settled(makeClient({ fetch }).me())
    expect(fetch.requests).toHaveLength(1)
  })

  test('holds back the other calls even if the first one is not retried', async () => {
    const fetch = scripted(slowDown, () => json({}))
    const client = makeClient({ fetch })
    expect(await settled(rejection(client.me({ maxRetries: 0 })))).toBeInstanceOf(RateLimitError)
    const second = client.me()
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await settled(second)
  })

  test('rejects further calls of the operation while a Retry-After above the maximum lasts', async () => {
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
    await vi.advanceTimersByTimeAsync(85_000)
    await settled(client.me())
    expect(fetch.requests).toHaveLength(3)
  })

  test('waits no longer than its own maximum when it shares the limiter with a more patient client', async () => {
    const rateLimiter = new RetryAfterLimiter()
    const fetch = scripted(refusal(429, 'x', { 'retry-after': '30' }), () => json({}))
    const shared = { fetch, rateLimiter, rateLimitKey: 'one' }
    const patient = makeClient(shared).me()
    await vi.advanceTimersByTimeAsync(0)
    const error = await settled(rejection(makeClient({ ...shared, maxRetryAfter: 5_000 }).me()))
    expect(error).toMatchObject({ name: 'RateLimitError', outcome: 'not-sent', retryAfter: 30 })
    await vi.advanceTimersByTimeAsync(30_000)
    await settledAfterTimers(patient)
    expect(fetch.requests).toHaveLength(2)
  })

  test('rejects a call at once, not sent, when the wait exceeds its total timeout', async () => {
    const { client, fetch, first } = await rateLimited()
    const error = await settled(rejection(client.me({ totalTimeout: 5_000 })))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ outcome: 'not-sent', retryAfter: 10, status: 429, attempts: [], response: undefined })
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(10_000)
    await settled(first)
  })

  test('rejects a call at once when the wait equals its total timeout', async () => {
    const { client, fetch, first } = await rateLimited()
    const error = await settled(rejection(client.me({ totalTimeout: 10_000 })))
    expect(error).toMatchObject({ name: 'RateLimitError', retryAfter: 10 })
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(10_000)
    await settled(first)
  })

  test('rejects a waiting call with its abort reason at once, and leaves no timer', async () => {
    const { client, first, fetch } = await rateLimited()
    const controller = new AbortController()
    const waiting = rejection(client.me({ signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(5_000)
    const reason = { why: 'gone' }
    controller.abort(reason)
    expect(await settled(waiting)).toBe(reason)
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(5_000)
    await settled(first)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('waits for the longest of several Retry-After headers', async () => {
    const fetch = scripted(refusal(429, 'x', { 'retry-after': '10' }), refusal(429, 'x', { 'retry-after': '3' }), () =>
      json({}),
    )
    const client = makeClient({ fetch })
    const calls = [client.me(), client.me()]
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.requests).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    await settled(Promise.all(calls))
  })

  test('rejects a waiting call when the next 429 asks for more time than the call has left', async () => {
    const slow = async () => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      return json({})
    }
    const fetch = scripted(slowDown, refusal(429, 'x', { 'retry-after': '30' }), slow)
    const client = makeClient({ fetch })
    const first = client.me()
    await vi.advanceTimersByTimeAsync(0)
    const second = client.me()
    const third = rejection(client.me({ totalTimeout: 20_000 }))
    await vi.advanceTimersByTimeAsync(10_000)
    // The call that was sent first got a Retry-After of 30 s, more than the third call has left.
    const error = (await settled(third)) as RequestError
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error.outcome).not.toBe('unknown')
    await vi.advanceTimersByTimeAsync(30_000)
    await settledAfterTimers(Promise.all([first, second]))
  })

  test('counts no attempt for the time that a call was held back', async () => {
    const fetch = scripted(slowDown, json({}), refusal(404, 'x'))
    const client = makeClient({ fetch })
    const first = client.me()
    await vi.advanceTimersByTimeAsync(0)
    const waiting = rejection(client.me())
    await vi.advanceTimersByTimeAsync(10_000)
    await settled(first)
    expect(await settled(waiting)).toMatchObject({ attempts: [{ status: 404 }] })
  })
})

describe('a call with maxRetries 0', () => {
  test('rejects at once with the remaining wait in seconds, rounded up, and is sent once the wait is over', async () => {
    const { client, fetch, first } = await rateLimited()
    await vi.advanceTimersByTimeAsync(4_500)
    const error = await settled(rejection(client.me({ maxRetries: 0 })))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ outcome: 'not-sent', retryAfter: 6, attempts: [] })
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(5_500)
    await settled(first)
    await settled(client.me({ maxRetries: 0 }))
    expect(fetch.requests).toHaveLength(3)
  })
})

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
})

describe('onWait for a call that waits for its own retry', () => {
  test('is called when the response to another call prolongs the wait', async () => {
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

describe('calls that were held back', () => {
  test('are sent two at a time at first, and then gradually more', async () => {
    let inFlight = 0
    const counts: number[] = []
    const slow = async () => {
      inFlight += 1
      counts.push(inFlight)
      await new Promise((resolve) => setTimeout(resolve, 100))
      inFlight -= 1
      return json({})
    }
    const client = makeClient({ fetch: scripted(slowDown, slow) })
    const calls = [client.me()]
    await vi.advanceTimersByTimeAsync(0)
    for (let count = 0; count < 20; count += 1) calls.push(client.me())
    await settledAfterTimers(Promise.all(calls))
    expect(Math.max(...counts.slice(0, 2))).toBe(2)
    expect(Math.max(...counts.slice(0, 6))).toBe(4)
    expect(Math.max(...counts)).toBeGreaterThan(4)
  })

  test('are not delayed by one that is aborted or runs out of time', async () => {
    const { client, fetch, first } = await rateLimited()
    const controller = new AbortController()
    const aborted = rejection(client.me({ signal: controller.signal }))
    const patient = client.me({ totalTimeout: 10_050 })
    const last = client.me()
    await vi.advanceTimersByTimeAsync(1_000)
    controller.abort('enough')
    expect(await settled(aborted)).toBe('enough')
    await vi.advanceTimersByTimeAsync(9_000)
    await settled(Promise.all([first, patient, last]))
    expect(fetch.requests).toHaveLength(4)
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('a refused call keeps its place among the calls that were made later', async () => {
  const order: number[] = []
  let refusals = 1
  const fetch = scripted(() => (refusals-- > 0 ? slowDown.clone() : json({})))
  const hooks = { onAttemptStart: ({ callId }: AttemptStartEvent) => void order.push(callId) }
  const client = makeClient({ fetch, hooks })
  const calls = [client.me()]
  await vi.advanceTimersByTimeAsync(100)
  calls.push(client.me(), client.me())
  await settledAfterTimers(Promise.all(calls))
  const [first = 0] = order
  expect(order.map((id) => id - first)).toEqual([0, 0, 1, 2])
})

describe('a 429 without Retry-After', () => {
  test('holds back other calls for the backoff', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const fetch = scripted(refusal(429, 'x'), () => json({}))
    const client = makeClient({ fetch })
    const calls = [client.me()]
    await vi.advanceTimersByTimeAsync(0)
    calls.push(client.me())
    await vi.advanceTimersByTimeAsync(249)
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await settled(Promise.all(calls))
    vi.restoreAllMocks()
  })
})
