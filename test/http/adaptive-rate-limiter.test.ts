import { AdaptiveRateLimiter, RateLimitError, RetryAfterLimiter, type WaitEvent } from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { fromRequest, json, makeClient, refusal, rejection } from '../helpers/client.ts'
import { Random } from '../helpers/random.ts'
import { settled } from '../helpers/settled.ts'

beforeEach(() => {
  const random = new Random(13)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  vi.spyOn(Math, 'random').mockImplementation(() => random.next())
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test.each([new RetryAfterLimiter(), new AdaptiveRateLimiter()])(
  'a storm of 429s calls onWait at most twice for each call',
  async (rateLimiter) => {
    const waits: unknown[] = []
    let isOver = false
    const fetch = fromRequest(async () => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 50))
      return isOver ? json({}) : refusal(429, 'x', { 'retry-after': '2' })
    })
    const client = makeClient({
      fetch,
      rateLimiter,
      rateLimitKey: 'org',
      hooks: { onWait: (event) => void waits.push(event) },
    })
    const calls = Array.from({ length: 200 }, () => client.me())
    await vi.advanceTimersByTimeAsync(1_000)
    isOver = true
    await vi.advanceTimersByTimeAsync(60_000)
    await settled(Promise.all(calls))
    expect(waits.length).toBeLessThanOrEqual(400)
  },
)

/** Returns a client that has learned a limit of 2 a second. */
async function pacedClient(options: Parameters<typeof makeClient>[0] = {}) {
  const rateLimiter = new AdaptiveRateLimiter()
  rateLimiter.setRate('org', 2)
  const sentAt: number[] = []
  const fetch = fromRequest(async () => {
    sentAt.push(performance.now())
    return json({})
  })
  return {
    client: makeClient({ fetch, rateLimiter, rateLimitKey: 'org', ...options }),
    rateLimiter,
    intervals: () => sentAt.slice(1).map((time, index) => Math.round(time - (sentAt[index] ?? 0))),
    sentAt,
  }
}

describe('a key with a rate', () => {
  test('sends its calls at even intervals, in the order in which they were made', async () => {
    const { client, intervals } = await pacedClient()
    const order: number[] = []
    const calls = [1, 2, 3, 4].map((number) => client.me().then(() => order.push(number)))
    await vi.advanceTimersByTimeAsync(2_000)
    await settled(Promise.all(calls))
    expect(order).toEqual([1, 2, 3, 4])
    expect(intervals()).toEqual([500, 500, 500])
  })

  test('rejects a call at once when those before it take longer than its total timeout', async () => {
    const { client, sentAt } = await pacedClient()
    const calls = Array.from({ length: 20 }, () => client.me())
    const error = await settled(rejection(client.me({ totalTimeout: 5_000 })))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ outcome: 'not-sent', remedy: 'retry', retryAfter: 10 })
    await vi.advanceTimersByTimeAsync(10_000)
    await settled(Promise.all(calls))
    expect(sentAt).toHaveLength(20)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('tells onWait how long a call waits for those before it', async () => {
    const waits: WaitEvent[] = []
    const { client } = await pacedClient({ hooks: { onWait: (event) => void waits.push(event) } })
    const calls = [1, 2, 3].map(() => client.me())
    await vi.advanceTimersByTimeAsync(2_000)
    await settled(Promise.all(calls))
    expect(waits.map(({ wait }) => wait)).toEqual([500, 1_000])
  })

  test('sends a call with maxRetries 0 at once, because nothing says that it would be refused', async () => {
    const { client, sentAt } = await pacedClient()
    const waiting = [1, 2, 3].map(() => client.me())
    await settled(client.me({ maxRetries: 0 }))
    expect(sentAt).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(3_000)
    await settled(Promise.all(waiting))
  })

  test('sends the retry of a refused call before calls that were made later', async () => {
    const rateLimiter = new AdaptiveRateLimiter()
    const order: string[] = []
    let isFirst = true
    const fetch = fromRequest(async (request) => {
      order.push(new URL(request.url).pathname.split('/').at(-1) ?? '')
      if (!isFirst) return json({ data: {} })
      isFirst = false
      return refusal(429, 'slow_down', { 'retry-after': '3' })
    })
    const client = makeClient({ fetch, rateLimiter, rateLimitKey: 'org' })
    rateLimiter.setRate('org', 2)
    const calls = [client.members.get('1').catch(() => {})]
    await vi.advanceTimersByTimeAsync(100)
    calls.push(...['2', '3'].map((id) => client.members.get(id).catch(() => {})))
    await vi.advanceTimersByTimeAsync(10_000)
    await settled(Promise.all(calls))
    expect(order).toEqual(['1', '1', '2', '3'])
  })

  test('is forgotten when it was not needed for ten minutes', async () => {
    const { client, rateLimiter, sentAt } = await pacedClient()
    await settled(client.me())
    await vi.advanceTimersByTimeAsync(600_001)
    await settled(Promise.all([1, 2, 3].map(() => client.me())))
    expect(sentAt).toHaveLength(4)
    expect(rateLimiter.getRate('org')).toBeUndefined()
  })

  test('can be read and removed', async () => {
    const { client, rateLimiter, sentAt } = await pacedClient()
    expect(rateLimiter.getRate('org')).toBe(2)
    expect(rateLimiter.getRate('another')).toBeUndefined()
    const calls = [1, 2, 3].map(() => client.me())
    await vi.advanceTimersByTimeAsync(0)
    rateLimiter.setRate('org', undefined)
    await settled(Promise.all(calls))
    expect(sentAt).toHaveLength(3)
    expect(rateLimiter.getRate('org')).toBeUndefined()
  })
})

describe('keys', () => {
  test('do not affect each other', async () => {
    const rateLimiter = new AdaptiveRateLimiter()
    rateLimiter.penalize('noisy', 60_000)
    const fetch = fromRequest(async () => json({}))
    const quiet = makeClient({ fetch, rateLimiter, rateLimitKey: 'quiet' })
    const noisy = makeClient({ fetch, rateLimiter, rateLimitKey: 'noisy' })
    await settled(quiet.me({ maxRetries: 0 }))
    expect(await settled(rejection(noisy.me({ maxRetries: 0 })))).toMatchObject({ retryAfter: 60 })
  })

  test('that are still held back after ten minutes are kept', async () => {
    const rateLimiter = new AdaptiveRateLimiter()
    const client = makeClient({ fetch: fromRequest(async () => json({})), rateLimiter, rateLimitKey: 'org' })
    rateLimiter.penalize('org', 1_200_000)
    await vi.advanceTimersByTimeAsync(900_000)
    for (let count = 0; count < 200; count += 1) rateLimiter.penalize(`org-${count}`, 1)
    expect(await settled(rejection(client.me({ maxRetries: 0 })))).toMatchObject({ retryAfter: 300 })
  })

  test('can be held back without end', async () => {
    const rateLimiter = new AdaptiveRateLimiter()
    rateLimiter.penalize('org', Number.POSITIVE_INFINITY)
    const client = makeClient({ fetch: fromRequest(async () => json({})), rateLimiter, rateLimitKey: 'org' })
    expect(await settled(rejection(client.me({ maxRetries: 0 })))).toMatchObject({ retryAfter: 31_536_000 })
  })
})

describe('maxConcurrency', () => {
  test('limits the requests of a key that are in flight, without onWait', async () => {
    let inFlight = 0
    let most = 0
    const waits: unknown[] = []
    const fetch = fromRequest(async () => {
      inFlight += 1
      most = Math.max(most, inFlight)
      await new Promise((resolve) => setTimeout(resolve, 100))
      inFlight -= 1
      return json({})
    })
    const rateLimiter = new AdaptiveRateLimiter({ maxConcurrency: 3 })
    const hooks = { onWait: (event: WaitEvent) => void waits.push(event) }
    const client = makeClient({ fetch, rateLimiter, rateLimitKey: 'org', hooks })
    const calls = Array.from({ length: 10 }, () => client.me())
    await vi.advanceTimersByTimeAsync(400)
    await settled(Promise.all(calls))
    expect(most).toBe(3)
    expect(waits).toEqual([])
  })

  test('frees the place of a call that was aborted while it waited or was sent', async () => {
    const fetch = fromRequest((request) => {
      return new Promise((resolve, reject) => {
        request.signal.addEventListener('abort', () => reject(request.signal.reason))
        setTimeout(() => resolve(json({})), 1_000)
      })
    })
    const rateLimiter = new AdaptiveRateLimiter({ maxConcurrency: 1 })
    const client = makeClient({ fetch, rateLimiter, rateLimitKey: 'org' })
    const controller = new AbortController()
    const aborted = [1, 2].map(() => rejection(client.me({ signal: controller.signal })))
    const last = client.me()
    await vi.advanceTimersByTimeAsync(100)
    controller.abort('enough')
    expect(await settled(Promise.all(aborted))).toEqual(['enough', 'enough'])
    await vi.advanceTimersByTimeAsync(1_000)
    await settled(last)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('maxConcurrency with maxRetries 0', () => {
  test('lets calls wait for their turn', async () => {
    const fetch = fromRequest(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      return json({})
    })
    const rateLimiter = new AdaptiveRateLimiter({ maxConcurrency: 2 })
    rateLimiter.setRate('org', 100)
    const client = makeClient({ fetch, rateLimiter, rateLimitKey: 'org', maxRetries: 0 })
    const calls = Array.from({ length: 6 }, () => client.me())
    await vi.advanceTimersByTimeAsync(300)
    await settled(Promise.all(calls))
  })
})

describe('a turn', () => {
  test('is given back when the call is aborted at any moment around its grant', async () => {
    for (let microtasks = 0; microtasks < 12; microtasks += 1) {
      const rateLimiter = new AdaptiveRateLimiter({ maxConcurrency: 1 })
      const controller = new AbortController()
      const hooks = {
        onAttemptEnd: async () => {
          for (let count = 0; count < microtasks; count += 1) await null
          controller.abort()
        },
      }
      const fetch = fromRequest(async () => json({}))
      const first = makeClient({ fetch, rateLimiter, rateLimitKey: 'org', hooks }).me()
      const client = makeClient({ fetch, rateLimiter, rateLimitKey: 'org' })
      const aborted = client.me({ signal: controller.signal }).catch(() => {})
      await settled(Promise.all([first, aborted]))
      await settled(client.me())
    }
  })
})

describe('invalid arguments', () => {
  test.each([
    ['maxConcurrency', () => new RetryAfterLimiter({ maxConcurrency: 0 })],
    ['maxConcurrency', () => new RetryAfterLimiter({ maxConcurrency: 1.5 })],
    ['maxConcurrency', () => new AdaptiveRateLimiter({ maxConcurrency: '8' as never })],
    ['maxConcurency', () => new RetryAfterLimiter({ maxConcurency: 8 } as never)],
    ['maxConcurency', () => new AdaptiveRateLimiter({ maxConcurency: 8 } as never)],
    ['duration', () => new RetryAfterLimiter().penalize('org', -1)],
    ['duration', () => new AdaptiveRateLimiter().penalize('org', Number.NaN)],
    ['duration', () => new AdaptiveRateLimiter().penalize('org', '1000' as never)],
    ['duration', () => new AdaptiveRateLimiter().penalize('org', 1n as never)],
    ['rate', () => new AdaptiveRateLimiter().setRate('org', '2' as never)],
    ['rate', () => new AdaptiveRateLimiter().setRate('org', 0)],
    ['rate', () => new AdaptiveRateLimiter().setRate('org', Number.NaN)],
  ])('%s is named by the error', (argument, create) => {
    expect(create).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument }))
  })
})
