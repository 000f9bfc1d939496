import { expect, test } from 'vitest'
import {
  type FailedRequest,
  noFailures,
  type RetryCounters,
  type RetryLimits,
  repeatAfter,
} from '../../src/core/retry.ts'

const failed: FailedRequest = { remedy: 'retry', isLimited: false, isStarved: false, retryAfter: undefined }
const limited = { isLimited: true, retryAfter: 3_000 }
const starved = { ...limited, isStarved: true }

interface Row {
  readonly title: string
  readonly failure?: Partial<FailedRequest>
  readonly before?: Partial<RetryCounters>
  readonly limits?: Partial<RetryLimits>
  /** Of 0.5, unless it says something else. */
  readonly random?: number
  /** The delay in milliseconds. Undefined if the request is not repeated. */
  readonly delay: number | undefined
  readonly after: Partial<RetryCounters>
}

const once = { failures: 1, retries: 1, refusals: 0 }
const waited = { failures: 1, retries: 0, refusals: 0 }

const rows: readonly Row[] = [
  { title: 'is repeated after half of the first backoff', delay: 250, after: once },
  { title: 'is repeated at once', random: 0, delay: 0, after: once },
  { title: 'is not repeated if the reason lasts', failure: { remedy: 'fix' }, delay: undefined, after: once },
  { title: 'is not repeated if it needs a check', failure: { remedy: 'verify' }, delay: undefined, after: once },
  { title: 'is not repeated without retries', limits: { maxRetries: 0 }, delay: undefined, after: once },
  { title: 'is repeated a second time', before: once, delay: 500, after: { failures: 2, retries: 2 } },
  {
    title: 'is not repeated a third time',
    before: { failures: 2, retries: 2 },
    delay: undefined,
    after: { retries: 3 },
  },
  { title: 'waits 8 s at most', before: { failures: 9 }, random: 1, delay: 8_000, after: { failures: 10 } },
  { title: 'waits as long as the service asks', failure: { retryAfter: 2_000 }, delay: 2_000, after: once },
  { title: 'keeps a longer backoff', failure: { retryAfter: 100 }, delay: 250, after: once },
  { title: 'waits as long as allowed', failure: { retryAfter: 60_000 }, delay: 60_000, after: once },
  { title: 'does not wait longer', failure: { retryAfter: 60_001 }, delay: undefined, after: once },
  { title: 'does not wait until its end', limits: { timeLeft: 250 }, delay: undefined, after: once },
  { title: 'waits until just before its end', limits: { timeLeft: 251 }, delay: 250, after: once },
  { title: 'uses up no retry if it was refused', failure: limited, delay: 3_000, after: waited },
  { title: 'waits exactly as asked after a 429', failure: limited, before: { failures: 9 }, delay: 3_000, after: {} },
  { title: 'keeps the backoff after a 429 without a delay', failure: { isLimited: true }, delay: 250, after: waited },
  {
    title: 'waits on after many a 429',
    failure: limited,
    before: { failures: 99 },
    delay: 3_000,
    after: { refusals: 0 },
  },
  {
    title: 'is not repeated after a 429 without retries',
    failure: limited,
    limits: { maxRetries: 0 },
    delay: undefined,
    after: waited,
  },
  {
    title: 'counts a 429 while no other is served',
    failure: starved,
    delay: 3_000,
    after: { retries: 0, refusals: 1 },
  },
  {
    title: 'ends after too many of them',
    failure: starved,
    before: { refusals: 2 },
    delay: undefined,
    after: { refusals: 3 },
  },
  {
    title: 'forgets them once another is served',
    failure: limited,
    before: { refusals: 2 },
    delay: 3_000,
    after: { refusals: 0 },
  },
  {
    title: 'adds them to other failures',
    before: { retries: 1, refusals: 1 },
    delay: undefined,
    after: { retries: 2, refusals: 1 },
  },
]

test.each(rows)('a failed request $title', ({ failure, before, limits, random = 0.5, delay, after }) => {
  const counters = { ...noFailures, ...before }
  const allowed = { maxRetries: 2, maxRetryAfter: 60_000, timeLeft: 120_000, ...limits }
  const next = repeatAfter({ ...failed, ...failure }, counters, allowed, random)
  expect(next.delay).toBe(delay)
  expect(next.counters).toMatchObject(after)
  expect(counters).toEqual({ ...noFailures, ...before })
})
