import type { SupportWorkspace } from 'support-workspace-sdk'
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
    { limit: '10 a minute', perSecond: 1 / 6, make: () => bucket(1 / 6, 10), most: 0.015 },
    { limit: '100 in each 10 s', perSecond: 10, make: () => fixedWindow(100, 10_000), most: 0.015 },
    { limit: '10 a second, without Retry-After', perSecond: 10, make: () => bucket(10, 10), tellsWait: false },
  ])(
    '$limit: is used to at least 90 % after a warm-up, with few of the requests refused',
    async ({ perSecond, make, tellsWait, most = 0.01 }) => {
      for (const concurrency of [1, 8]) {
        const { fetch, counts } = makeService(make(), { tellsWait })
        load(makeClient({ fetch, ...unlimited }), concurrency)
        await vi.advanceTimersByTimeAsync(100_000 / perSecond)
        const warm = { ...counts }
        await vi.advanceTimersByTimeAsync(1_000_000 / perSecond)
        const served = counts.served - warm.served
        const refused = counts.refused - warm.refused
        expect(served / 1_000, `share of the limit with ${concurrency} at a time`).toBeGreaterThanOrEqual(0.9)
        expect(refused / (served + refused), `share of 429s with ${concurrency} at a time`).toBeLessThanOrEqual(most)
      }
    },
  )

  test('is seldom exceeded with the default timeouts, and a call that cannot wait changes nothing', async () => {
    for (const [perSecond, makeLimit] of [
      [10, () => bucket(10, 10)],
      [1, () => fixedWindow(60, 60_000)],
    ] as const) {
      const { fetch, counts } = makeService(makeLimit())
      const client = makeClient({ fetch })
      load(client, 8)
      await vi.advanceTimersByTimeAsync(300_000 / perSecond)
      const warm = { ...counts }
      for (let minute = 0; minute < 20; minute += 1) {
        await settled(rejection(client.me({ totalTimeout: 50 })))
        await vi.advanceTimersByTimeAsync(60_000)
      }
      const served = counts.served - warm.served
      const refused = counts.refused - warm.refused
      expect(served / 1_200 / perSecond).toBeGreaterThanOrEqual(0.9)
      expect(refused / (served + refused)).toBeLessThanOrEqual(0.015)
    }
  })

  test('is shared by clients that do not know of each other', async () => {
    const { fetch, counts } = makeService(bucket(10, 10))
    for (let count = 0; count < 3; count += 1) load(makeClient({ fetch, ...unlimited }), 3)
    await vi.advanceTimersByTimeAsync(100_000)
    const warm = { ...counts }
    await vi.advanceTimersByTimeAsync(1_000_000)
    const served = counts.served - warm.served
    const refused = counts.refused - warm.refused
    expect(served).toBeGreaterThanOrEqual(9_500)
    expect(refused / (served + refused)).toBeLessThanOrEqual(0.03)
  })

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

describe('a service without a limit', () => {
  /** Makes this many calls a second. Counts those that succeed and those that reject. */
  async function makeCalls(client: SupportWorkspace, perSecond: number, seconds: number) {
    const counts = { succeeded: 0, rejected: 0 }
    for (let count = 0; count < perSecond * seconds; count += 1) {
      client.me().then(
        () => counts.succeeded++,
        () => counts.rejected++,
      )
      await vi.advanceTimersByTimeAsync(1_000 / perSecond)
    }
    return counts
  }

  test.each([
    { share: 0.01, retryAfter: '1', least: 0.9 },
    { share: 0.1, retryAfter: '0', least: 0.75 },
  ])(
    'that refuses $share of the calls at random serves at least $least of them',
    async ({ share, retryAfter, least }) => {
      const fetch = fromRequest(async () => {
        await new Promise((resolve) => setTimeout(resolve, latency))
        return Math.random() < share ? refusal(429, 'busy', { 'retry-after': retryAfter }) : json({})
      })
      const { succeeded } = await makeCalls(makeClient({ fetch }), 5, 1_200)
      expect(succeeded).toBeGreaterThanOrEqual(least * 6_000)
    },
  )

  test.each([0.005, 0.02, 0.05])(
    'that refuses %f of the calls at random is not asked ever more slowly',
    async (share) => {
      const { fetch, counts } = makeService(() => (Math.random() < share ? 1_000 : 0))
      load(makeClient({ fetch, ...unlimited }), 8)
      await vi.advanceTimersByTimeAsync(1_800_000)
      const before = counts.served
      await vi.advanceTimersByTimeAsync(1_800_000)
      expect((counts.served - before) / 1_800).toBeGreaterThanOrEqual(2)
    },
  )

  test('that refuses everything for five minutes gets few requests in that time, and many again soon after', async () => {
    const counts = { refused: 0, served: 0 }
    let isDown = false
    const fetch = fromRequest(async () => {
      counts[isDown ? 'refused' : 'served'] += 1
      return isDown ? refusal(429, 'down', { 'retry-after': '0' }) : json({})
    })
    const client = makeClient({ fetch, totalTimeout: 10_000 })
    await makeCalls(client, 10, 10)
    isDown = true
    await makeCalls(client, 10, 300)
    expect(counts.refused).toBeLessThanOrEqual(100)
    isDown = false
    await makeCalls(client, 10, 10)
    const { succeeded } = await makeCalls(client, 10, 10)
    expect(succeeded).toBe(100)
  })

  test('that refuses one of many slow calls serves all of them in time', async () => {
    let isFirst = true
    const fetch = fromRequest(async () => {
      if (isFirst) {
        isFirst = false
        return refusal(429, 'busy', { 'retry-after': '1' })
      }
      await new Promise((resolve) => setTimeout(resolve, 10_000))
      return json({})
    })
    const client = makeClient({ fetch })
    const first = client.me()
    await vi.advanceTimersByTimeAsync(0)
    const calls = [first, ...Array.from({ length: 50 }, () => client.me())]
    await vi.advanceTimersByTimeAsync(120_000)
    await settled(Promise.all(calls))
  })
})
