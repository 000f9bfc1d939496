import type { Outcome } from '../errors/index.ts'
import { ApiError, NetworkError, RequestError, TimeoutError } from '../errors/index.ts'
import type { Method } from '../operation.ts'

const firstDelay = 500
const longestDelay = 8_000

/** What the policy needs to know of a failed attempt. */
export interface FailedAttempt {
  readonly outcome: Outcome
  /** The HTTP status, when an answer came. */
  readonly status?: number | undefined
  /** How long the service asks to wait, in ms. */
  readonly retryAfter?: number | undefined
  /** The connection broke, or the attempt took too long. */
  readonly networkFault: boolean
}

/**
 * Whether an attempt may be repeated.
 *
 * A write is repeated only when the service cannot have carried it out: it never arrived, or was turned away with 429.
 * GET and DELETE have the same effect sent twice as once (RFC 9110, section 9.2.2).
 */
export function mayRepeat(method: Method, failed: FailedAttempt): boolean {
  if (failed.status === 429 || (failed.networkFault && failed.outcome === 'not-sent')) return true
  if (method !== 'GET' && method !== 'DELETE') return false
  return failed.networkFault || failed.status === 408 || (failed.status !== undefined && failed.status >= 500)
}

/**
 * How long to wait before the next attempt, in ms: full jitter on a doubling delay, and at least what the service asks
 * for. A `Retry-After: 0` does not switch the backoff off.
 */
export function delayBefore(repeat: number, failed: FailedAttempt): number {
  const backoff = Math.floor(Math.random() * Math.min(longestDelay, firstDelay * 2 ** (repeat - 1)))
  return Math.max(backoff, failed.retryAfter ?? 0)
}

/**
 * How long a response asks to wait, in ms: `Retry-After` (RFC 9110, section 10.2.3) where it is there, else the reset
 * headers of rate limiters. Undefined when there is none, or none that can be read.
 */
export function retryAfterOf(
  headers: { get(name: string): string | null },
  now: number = Date.now(),
): number | undefined {
  for (const { name, mayBeTimestamp } of timingHeaders) {
    const value = headers.get(name)
    // A header that is there decides, even one that cannot be read.
    if (typeof value === 'string') return parseTiming(value, mayBeTimestamp, now)
  }
  return undefined
}

/** In order of precedence. */
const timingHeaders = [
  { name: 'retry-after', mayBeTimestamp: false },
  { name: 'ratelimit-reset', mayBeTimestamp: true },
  { name: 'x-ratelimit-retry-after', mayBeTimestamp: false },
  { name: 'x-ratelimit-reset', mayBeTimestamp: true },
  { name: 'x-rate-limit-reset', mayBeTimestamp: true },
]

/** Numbers below are seconds to wait; from here on they are a time, in epoch seconds. No limiter waits 50 years. */
const firstTimestamp = Date.parse('2024-01-01') / 1000

function parseTiming(value: string, mayBeTimestamp: boolean, now: number): number | undefined {
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) {
    const seconds = Number(text)
    return mayBeTimestamp && seconds >= firstTimestamp ? Math.max(0, seconds * 1000 - now) : seconds * 1000
  }
  // An HTTP date begins with the name of a day; Date.parse alone would accept "-1" and "2030" as dates.
  if (!/^[A-Z][a-z]+,? /.test(text)) return undefined
  // The oldest of the three date formats names no zone; it is GMT like the others.
  const date = Date.parse(/ [A-Z]+$/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Whether a request that failed with this error, its retries included, may be sent once more. */
export function isRepeatable(method: Method, error: unknown): boolean {
  // Without a request there is no response to respect: the token provider failed, and may not the next time.
  if (!(error instanceof RequestError)) return true
  const networkFault = error instanceof NetworkError || error instanceof TimeoutError
  const status = error instanceof ApiError ? error.status : undefined
  return mayRepeat(method, { outcome: error.outcome, status, networkFault })
}
