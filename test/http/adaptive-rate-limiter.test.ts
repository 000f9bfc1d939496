import {
  AdaptiveRateLimiter,
  RateLimitError,
  type RateLimitedCall,
  type SupportWorkspace,
  type WaitEvent,
} from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { fromRequest, json, makeClient, refusal, rejection } from '../helpers/client.ts'
import { countingSignal } from '../helpers/counting-signal.ts'
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

/** Returns 0 if a request is served at this time, otherwise the milliseconds until it would be. */
type Limit = (now: number) => number

function bucket(perSecond: number, burst: number): Limit {
  let available = burst
  let updatedAt = 0
  return (now) => {
    available = Math.min(burst, available + ((now - updatedAt) / 1_000) * perSecond)
    updatedAt = now
    if (available < 1 - 1e-6) return ((1 - available) / perSecond) * 1_000
    available -= 1
    return 0
  }
}

function fixedWindow(requests: number, length: number): Limit {
  let window = 0
  let served = 0
  return (now) => {
    const current = Math.floor(now / length)
    if (current !== window) served = 0
    window = current
    if (served === requests) return (current + 1) * length - now
    served += 1
    return 0
  }
}

const latency = 40

/** A service with a limit that it does not tell. Counts what it serves and refuses. */
function makeService(limit: Limit, { tellsWait = true } = {}) {
  const counts = { served: 0, refused: 0 }
  const startedAt = performance.now()
  const fetch = fromRequest(async () => {
    await new Promise((resolve) => setTimeout(resolve, latency * (0.5 + Math.random() / 2)))
    const wait = limit(performance.now() - startedAt)
    await new Promise((resolve) => setTimeout(resolve, latency / 2))
    counts[wait > 0 ? 'refused' : 'served'] += 1
    if (wait === 0) return json({})
    return refusal(429, 'slow_down', tellsWait ? { 'retry-after': String(Math.ceil(wait / 1_000)) } : {})
  })
  return { fetch, counts }
}

/** Keeps sending calls, this many at a time. */
function load(client: SupportWorkspace, concurrency: number): void {
  const repeat = async () => {
    for (;;) await client.me().catch(() => {})
  }
  for (let count = 0; count < concurrency; count += 1) void repeat()
}

const unlimited = { timeout: Number.POSITIVE_INFINITY, totalTimeout: Number.POSITIVE_INFINITY, maxRetries: 100 }

describe('a limit that nobody knows', () => {
  test.each([
    { limit: '2 a second', perSecond: 2, make: () => bucket(2, 2) },
    { limit: '10 a second', perSecond: 10, make: () => bucket(10, 10) },
    { limit: '60 a minute', perSecond: 1, make: () => bucket(1, 60) },
    { limit: '10 a minute', perSecond: 1 / 6, make: () => bucket(1 / 6, 10) },
    { limit: '100 in each 10 s', perSecond: 10, make: () => fixedWindow(100, 10_000) },
    { limit: '10 a second, without Retry-After', perSecond: 10, make: () => bucket(10, 10), tellsWait: false },
  ])(
    '$limit: is used to at least 90 %, with at most 1 % of the requests refused, after a warm-up',
    async ({ perSecond, make, tellsWait }) => {
      for (const concurrency of [1, 8]) {
        const { fetch, counts } = makeService(make(), { tellsWait })
        load(makeClient({ fetch, ...unlimited }), concurrency)
        await vi.advanceTimersByTimeAsync(100_000 / perSecond)
        const warm = { ...counts }
        await vi.advanceTimersByTimeAsync(1_000_000 / perSecond)
        const served = counts.served - warm.served
        const refused = counts.refused - warm.refused
        expect(served / 1_000, `share of the limit with ${concurrency} at a time`).toBeGreaterThanOrEqual(0.9)
        expect(refused / (served + refused), `share of 429s with ${concurrency} at a time`).toBeLessThanOrEqual(0.01)
      }
    },
  )

  test('is used again when it rises to ten times as much', async () => {
    let perSecond = 1
    const limits = { 1: bucket(1, 10), 10: bucket(10, 10) }
    const { fetch, counts } = makeService((now) => limits[perSecond as 1 | 10](now))
    load(makeClient({ fetch, ...unlimited }), 4)
    await vi.advanceTimersByTimeAsync(300_000)
    perSecond = 10
    await vi.advanceTimersByTimeAsync(900_000)
    const before = counts.served
    await vi.advanceTimersByTimeAsync(100_000)
    expect(counts.served - before).toBeGreaterThanOrEqual(900)
  })

  test('is found again when it falls to a tenth', async () => {
    let perSecond = 10
    const limits = { 1: bucket(1, 10), 10: bucket(10, 10) }
    const { fetch, counts } = makeService((now) => limits[perSecond as 1 | 10](now))
    load(makeClient({ fetch, ...unlimited }), 4)
    await vi.advanceTimersByTimeAsync(300_000)
    perSecond = 1
    await vi.advanceTimersByTimeAsync(300_000)
    const before = { ...counts }
    await vi.advanceTimersByTimeAsync(1_000_000)
    expect(counts.served - before.served).toBeGreaterThanOrEqual(900)
    expect(counts.refused - before.refused).toBeLessThanOrEqual(15)
  })
})

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

/** Sends calls through a limiter without a client. The calls end when the test ends them. */
function makeLane(options?: ConstructorParameters<typeof AdaptiveRateLimiter>[0]) {
  const limiter = new AdaptiveRateLimiter(options)
  const sent: { at: number; end: () => void }[] = []
  const rates: [calls: number, rate: number | undefined][] = []
  const send = async (call: Partial<RateLimitedCall> = {}, signal = new AbortController().signal) => {
    const defaults = { canWait: true, startedAt: performance.now(), onWait() {} }
    const end = await limiter.acquire('org', signal, { ...defaults, ...call })
    sent.push({ at: performance.now(), end })
    const rate = limiter.getRate('org')
    if (rates.length === 0 || rate !== rates.at(-1)?.[1]) rates.push([sent.length, rate])
    return end
  }
  return {
    limiter,
    sent,
    /** The rate after each call that changed it, with the number of calls until then. */
    rates,
    send,
    /** Makes calls that are over as soon as they are sent. */
    sendAll: (count: number) => {
      for (let index = 0; index < count; index += 1) void send().then((end) => end())
    },
    get sentAt() {
      return sent.map(({ at }) => Math.round(at))
    },
    get rate() {
      return limiter.getRate('org')
    },
  }
}

describe('after the first 429', () => {
  test('one call is in flight at a time, and one more after each 25 calls', async () => {
    const { limiter, send } = makeLane()
    limiter.penalize('org', 1_000)
    let inFlight = 0
    const inFlights: number[] = []
    for (let count = 0; count < 80; count += 1) {
      void send().then(async (end) => {
        inFlight += 1
        inFlights.push(inFlight)
        await new Promise((resolve) => setTimeout(resolve, 100))
        inFlight -= 1
        end()
      })
    }
    await vi.advanceTimersByTimeAsync(10_000)
    expect(inFlights).toHaveLength(80)
    expect([0, 25, 50, 75].map((from) => Math.max(...inFlights.slice(from, from + 25)))).toEqual([1, 2, 3, 4])
  })

  test('a call with maxRetries 0 does not wait for those in flight', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 0)
    for (let count = 0; count < 2; count += 1) void lane.send()
    void lane.send({ canWait: false })
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(2)
  })

  test('all calls are sent at once again after no call was held back', async () => {
    const { limiter, sent, send } = makeLane()
    limiter.penalize('org', 1_000)
    const first = send()
    await vi.advanceTimersByTimeAsync(1_000)
    void send()
    await settled(first.then((end) => end()))
    expect(sent).toHaveLength(2)
    void send()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toHaveLength(2)
    sent[1]?.end()
    await vi.advanceTimersByTimeAsync(0)
    sent[2]?.end()
    for (let count = 0; count < 5; count += 1) void send()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toHaveLength(8)
  })

  test('the calls in flight stay limited as long as there are any', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 0)
    lane.sendAll(25)
    for (let count = 0; count < 2; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(27)
    lane.sent.at(-1)?.end()
    for (let count = 0; count < 3; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(28)
  })

  test.each<[string, (limiter: AdaptiveRateLimiter) => void]>([
    ['the second 429 shows the rate', (limiter) => limiter.penalize('org', 1_000)],
    ['the rate is set', (limiter) => limiter.setRate('org', 1)],
  ])('calls no longer wait for those in flight once %s', async (_, findRate) => {
    const lane = makeLane()
    lane.limiter.penalize('org', 0)
    for (let count = 0; count < 3; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(1_000)
    lane.sent[0]?.end()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(lane.sent).toHaveLength(2)
    findRate(lane.limiter)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(lane.sent).toHaveLength(3)
  })

  test('a second one without a call in between sets no rate', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    lane.limiter.penalize('org', 1_000)
    expect(lane.rate).toBeUndefined()
  })
})

describe('the rate', () => {
  test('is 95 % of what was served between the first two 429s, the wait included and the call in flight not', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    for (let count = 0; count < 20; count += 1) {
      void lane.send().then((end) => {
        // The last one is refused.
        if (count < 19) setTimeout(end, 100)
      })
    }
    await vi.advanceTimersByTimeAsync(3_000)
    lane.limiter.penalize('org', 1_000)
    expect(lane.sentAt.at(-1)).toBe(2_900)
    expect(lane.rate).toBeCloseTo((0.95 * 19) / 2.9, 9)
    // From then on calls are sent at this rate, even if those before them are still in flight.
    for (let count = 0; count < 3; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(lane.sentAt.slice(-3)).toEqual([4_000, 4_161, 4_322])
  })

  test('is known after a single call between the first two 429s', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    lane.sendAll(1)
    await vi.advanceTimersByTimeAsync(1_000)
    lane.limiter.penalize('org', 1_000)
    expect(lane.rate).toBeCloseTo(0.95, 9)
  })

  test.each([
    [60_000, 0.95],
    [500, 1.9],
  ])('counts a pause of %i ms between calls for at most a second: it is %f', async (pause, rate) => {
    const lane = makeLane()
    lane.limiter.penalize('org', 0)
    for (let count = 0; count < 10; count += 1) {
      await vi.advanceTimersByTimeAsync(pause)
      lane.sendAll(1)
    }
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.penalize('org', 0)
    expect(lane.rate).toBeCloseTo(rate, 9)
  })

  test('drops by 5 % at a 429 after fewer than ten calls, once for those that were sent together', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    lane.sendAll(9)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(lane.sent).toHaveLength(9)
    lane.limiter.penalize('org', 1_000)
    lane.limiter.penalize('org', 500)
    expect(lane.rate).toBeCloseTo(9.5, 9)
    await vi.advanceTimersByTimeAsync(1_000)
    lane.limiter.penalize('org', 1_000)
    expect(lane.rate).toBeCloseTo(9.025, 9)
  })

  test.each([
    ['by 10 % of the rate without a calm period before', 0, 10, 9],
    ['by 5 % of the rate after a calm period', 150, 10.5, 9.975],
  ])('drops %s', async (_, calm, before, after) => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    lane.sendAll(1 + calm)
    await vi.advanceTimersByTimeAsync(calm * 100)
    expect(lane.rate).toBeCloseTo(before, 9)
    // A little less than the rate.
    for (let count = 0; count < 20; count += 1) {
      lane.sendAll(1)
      await vi.advanceTimersByTimeAsync(118)
    }
    lane.limiter.penalize('org', 1_000)
    expect(lane.rate).toBeCloseTo(after, 9)
  })

  test('drops to 108 % of the measured one when that is far lower, and then rises quickly to the old one', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 5)
    await vi.advanceTimersByTimeAsync(5_000)
    lane.limiter.setRate('org', 10)
    // One call each half a second: the measured rate is 2.
    for (let count = 0; count < 10; count += 1) {
      await vi.advanceTimersByTimeAsync(500)
      lane.sendAll(1)
    }
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.penalize('org', 0)
    expect(lane.rate).toBeCloseTo(2.16, 9)
    lane.rates.length = 0
    lane.sendAll(2_000)
    await vi.advanceTimersByTimeAsync(500_000)
    // By a quarter, halfway to the old rate, and then by as much as it would have risen without the 429.
    const rises = [2.16, 2.7, 3.375, 4.21875, 5.2734375, 6.591796875, 8.239746094, 9.119873047, 18.239746094]
    expect(lane.rates.slice(0, 9).map(([, rate]) => rate)).toEqual(rises.map((rate) => expect.closeTo(rate, 6)))
  })

  test('rises by 5 %, 5 %, 10 %, 20 % and so on up to 100 % after each 150 held calls, or 10 s if that is longer', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    lane.sendAll(2_056)
    await vi.advanceTimersByTimeAsync(300_000)
    const rises = [
      [1, 10],
      [151, 10.5],
      [301, 11.025],
      [451, 12.1275],
      [601, 14.553],
      [751, 20.3742],
      [955, 36.67356],
      [1_322, 73.34712],
      [2_056, 146.69424],
    ]
    expect(lane.rates).toEqual(rises.map(([calls = 0, rate = 0]) => [calls, expect.closeTo(rate, 6)]))
  })

  test('is not limited any more once it has risen to 1,000 a second', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 953)
    lane.sendAll(9_800)
    await vi.advanceTimersByTimeAsync(12_000)
    expect(lane.rates).toEqual([
      [1, expect.closeTo(953, 6)],
      [9_531, undefined],
    ])
  })

  test('lets two calls catch up after a pause, and no more', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    await vi.advanceTimersByTimeAsync(5_000)
    lane.sendAll(4)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(lane.sentAt).toEqual([5_000, 5_000, 5_100, 5_200])
  })

  test('is kept for ten minutes after it was set, and as long as a call is in flight or held back', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 5)
    await vi.advanceTimersByTimeAsync(300_000)
    lane.limiter.setRate('org', 10)
    await vi.advanceTimersByTimeAsync(600_000)
    expect(lane.limiter.isFree('org')).toBe(false)
    const end = await settled(lane.send())
    await vi.advanceTimersByTimeAsync(600_001)
    expect(lane.limiter.isFree('org')).toBe(false)
    end()
    expect(lane.limiter.isFree('org')).toBe(true)
    lane.limiter.setRate('org', 1 / 1_200)
    lane.sendAll(2)
    await vi.advanceTimersByTimeAsync(600_001)
    expect(lane.limiter.isFree('org')).toBe(false)
    await vi.advanceTimersByTimeAsync(600_001)
    expect(lane.sent).toHaveLength(3)
  })
})

describe('a call that is held back', () => {
  test('is not overtaken by one that arrives while the timer is late', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    const order: number[] = []
    for (const number of [1, 2]) void lane.send().then(() => order.push(number))
    await vi.advanceTimersByTimeAsync(0)
    const now = vi.spyOn(performance, 'now').mockReturnValue(150)
    void lane.send().then(() => order.push(3))
    await vi.advanceTimersByTimeAsync(0)
    now.mockRestore()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(order).toEqual([1, 2, 3])
  })

  test('is told about a longer wait, and not about a shorter one', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    const waits: number[] = []
    void lane.send({ onWait: (wait) => void waits.push(wait) })
    await vi.advanceTimersByTimeAsync(0)
    for (const duration of [1_000, 500, 3_000]) lane.limiter.penalize('org', duration)
    expect(waits).toEqual([1_000, 3_000])
  })

  test.each<[string, (lane: ReturnType<typeof makeLane>, abort: () => void) => void]>([
    ['is sent', ({ limiter }) => limiter.setRate('org', 1_000)],
    ['is aborted', (_, abort) => abort()],
    ['has no time for a longer wait', ({ limiter }) => limiter.penalize('org', 60_000)],
  ])('leaves no timer and no listener when it %s', async (_, end) => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    const counting = countingSignal()
    const onWait = (wait: number) => {
      if (wait > 1_000) throw new Error('too long')
    }
    const call = lane.send({ onWait }, counting.signal).catch(() => {})
    await vi.advanceTimersByTimeAsync(0)
    expect([counting.listeners, vi.getTimerCount()]).toEqual([1, 1])
    end(lane, () => counting.abort('enough'))
    if (lane.rate !== undefined) await vi.advanceTimersByTimeAsync(1_000)
    await settled(call)
    expect([counting.listeners, vi.getTimerCount()]).toEqual([0, 0])
  })

  test('rejects when it is aborted before or in onWait', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    expect(await settled(rejection(lane.send({}, AbortSignal.abort('before'))))).toBe('before')
    lane.limiter.penalize('org', 1_000)
    const controller = new AbortController()
    const onWait = () => controller.abort('in onWait')
    expect(await settled(rejection(lane.send({ onWait }, controller.signal)))).toBe('in onWait')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is not affected when another one is aborted while both are told about a longer wait', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    const controller = new AbortController()
    const isLong = (wait: number) => wait > 1_000
    void lane.send({ onWait: (wait) => isLong(wait) && controller.abort('enough') })
    const onWait = (wait: number) => {
      if (isLong(wait)) throw new Error('too long')
    }
    const aborted = rejection(lane.send({ onWait }, controller.signal))
    void lane.send()
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.penalize('org', 2_000)
    expect(await settled(aborted)).toBe('enough')
    await vi.advanceTimersByTimeAsync(2_000)
    lane.sent[0]?.end()
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(2)
  })
})

describe('a turn', () => {
  test('that is ended twice frees one place', async () => {
    const { sent, send } = makeLane({ maxConcurrency: 1 })
    const end = await settled(send())
    end()
    end()
    for (let count = 0; count < 3; count += 1) void send()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toHaveLength(2)
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

  test('of connections that were not used for ten minutes are removed', async () => {
    const rateLimiter = new AdaptiveRateLimiter()
    for (let count = 0; count < 100; count += 1) rateLimiter.setRate(`org-${count}`, 5)
    await vi.advanceTimersByTimeAsync(600_001)
    rateLimiter.penalize('another', 1)
    expect(rateLimiter.getRate('org-1')).toBeUndefined()
  })

  test('that are still held back after ten minutes are kept', async () => {
    const rateLimiter = new AdaptiveRateLimiter()
    const client = makeClient({ fetch: fromRequest(async () => json({})), rateLimiter, rateLimitKey: 'org' })
    rateLimiter.penalize('org', 1_200_000)
    await vi.advanceTimersByTimeAsync(900_000)
    rateLimiter.penalize('another', 1)
    expect(await settled(rejection(client.me({ maxRetries: 0 })))).toMatchObject({ retryAfter: 300 })
  })

  test('can be held back for the longest time that a timer supports', async () => {
    const rateLimiter = new AdaptiveRateLimiter()
    rateLimiter.penalize('org', Number.POSITIVE_INFINITY)
    const client = makeClient({ fetch: fromRequest(async () => json({})), rateLimiter, rateLimitKey: 'org' })
    expect(await settled(rejection(client.me({ maxRetries: 0 })))).toMatchObject({ retryAfter: 2_147_484 })
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

describe('invalid arguments', () => {
  test.each([
    ['maxConcurrency', () => new AdaptiveRateLimiter({ maxConcurrency: 0 })],
    ['maxConcurrency', () => new AdaptiveRateLimiter({ maxConcurrency: 1.5 })],
    ['maxConcurrency', () => new AdaptiveRateLimiter({ maxConcurrency: '8' as never })],
    ['maxConcurency', () => new AdaptiveRateLimiter({ maxConcurency: 8 } as never)],
    ['duration', () => new AdaptiveRateLimiter().penalize('org', -1)],
    ['duration', () => new AdaptiveRateLimiter().penalize('org', Number.NaN)],
    ['rate', () => new AdaptiveRateLimiter().setRate('org', 0)],
    ['rate', () => new AdaptiveRateLimiter().setRate('org', Number.NaN)],
  ])('%s is named by the error', (argument, create) => {
    expect(create).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument }))
  })
})
