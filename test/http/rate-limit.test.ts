import { RateLimitError, type RequestError, type WaitEvent } from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { json, makeClient, refusal, rejection, scripted } from '../helpers/client.ts'
import { settled } from '../helpers/settled.ts'

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
  test('holds back its other calls until Retry-After has passed', async () => {
    const { client, fetch, first } = await rateLimited()
    const others = [client.me(), client.organization.get().catch(() => {}), client.members.list().catch(() => {})]
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await settled(Promise.all([first, ...others]))
    expect(fetch.requests).toHaveLength(5)
  })

  test('does not hold back the calls of other clients', async () => {
    await rateLimited()
    const fetch = scripted(json({}))
    await settled(makeClient({ fetch }).me())
    expect(fetch.requests).toHaveLength(1)
  })

  test('holds back its other calls even if the first one is not retried', async () => {
    const fetch = scripted(slowDown, () => json({}))
    const client = makeClient({ fetch })
    expect(await settled(rejection(client.me({ maxRetries: 0 })))).toBeInstanceOf(RateLimitError)
    const second = client.me()
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await settled(second)
  })

  test('does not hold back its other calls when Retry-After exceeds the maximum', async () => {
    const fetch = scripted(refusal(429, 'x', { 'retry-after': '86400' }), json({}))
    const client = makeClient({ fetch })
    expect(await settled(rejection(client.me()))).toMatchObject({ retryAfter: 86_400 })
    await settled(client.me())
    expect(fetch.requests).toHaveLength(2)
  })

  test('rejects a call at once, not sent, when the wait exceeds its total timeout', async () => {
    const { client, fetch, first } = await rateLimited()
    const error = await settled(rejection(client.messages.create('c1', { body_html: 'x' }, { totalTimeout: 5_000 })))
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
    const fetch = scripted(slowDown, refusal(429, 'x', { 'retry-after': '30' }), () => json({}))
    const client = makeClient({ fetch })
    const first = client.me()
    await vi.advanceTimersByTimeAsync(0)
    const second = rejection(client.members.get('1', { totalTimeout: 20_000 }))
    await vi.advanceTimersByTimeAsync(10_000)
    // The call that was sent first got a Retry-After of 30 s, more than the second call has left.
    const error = (await settled(second)) as RequestError
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error.outcome).not.toBe('unknown')
    await vi.advanceTimersByTimeAsync(30_000)
    await settled(first)
  })

  test('counts no attempt for the time that a call was held back', async () => {
    const fetch = scripted(slowDown, json({}), refusal(404, 'x'))
    const client = makeClient({ fetch })
    const first = client.me()
    await vi.advanceTimersByTimeAsync(0)
    const waiting = rejection(client.members.get('1'))
    await vi.advanceTimersByTimeAsync(10_000)
    await settled(first)
    expect(await settled(waiting)).toMatchObject({ attempts: [{ status: 404 }] })
  })
})

describe('a call with maxRetries 0', () => {
  test('rejects at once with the remaining wait in seconds, rounded up, and is sent once the wait is over', async () => {
    const { client, fetch, first } = await rateLimited()
    await vi.advanceTimersByTimeAsync(4_500)
    const error = await settled(rejection(client.messages.create('c1', { body_html: 'x' }, { maxRetries: 0 })))
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
    const second = client.members.get('1').catch(() => {})
    await vi.advanceTimersByTimeAsync(6_000)
    await settled(Promise.all([first, second]))
    expect(events).toMatchObject([{ operation: 'members.get', wait: 6_000, reason: 'rate_limit' }])
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
    const calls = [client.me(), client.organization.get().catch(() => {})]
    await vi.advanceTimersByTimeAsync(10_000)
    expect(waits).toMatchObject([{ operation: 'me', wait: 30_000 }])
    await vi.advanceTimersByTimeAsync(25_000)
    await settled(Promise.all(calls))
  })
})

describe('calls that were held back', () => {
  test('are sent one at a time in the first second, and then more', async () => {
    let inFlight = 0
    let most = 0
    const slow = async () => {
      inFlight += 1
      most = Math.max(most, inFlight)
      await new Promise((resolve) => setTimeout(resolve, 100))
      inFlight -= 1
      return json({})
    }
    const fetch = scripted(slowDown, slow)
    const client = makeClient({ fetch })
    const calls = [client.me()]
    await vi.advanceTimersByTimeAsync(0)
    for (let count = 0; count < 20; count += 1) calls.push(client.me())
    await vi.advanceTimersByTimeAsync(10_000)
    expect(fetch.requests).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(700)
    expect(most).toBe(1)
    await vi.advanceTimersByTimeAsync(1_400)
    await settled(Promise.all(calls))
    expect(most).toBeGreaterThan(1)
    expect(fetch.requests).toHaveLength(22)
    most = 0
    // The queue is empty, so that calls run in parallel again.
    const more = [client.me(), client.me()]
    await vi.advanceTimersByTimeAsync(100)
    await settled(Promise.all(more))
    expect(most).toBe(2)
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
