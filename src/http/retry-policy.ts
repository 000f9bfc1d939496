import type { Outcome } from '../errors/index.ts'
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
  readonly fault: boolean
}

/**
 * Whether an attempt may be repeated.
 *
 * A write is repeated only when the service cannot have carried it out: it never arrived, or was turned away with 429.
 * GET and DELETE have the same effect sent twice as once (RFC 9110, section 9.2.2).
 */
export function mayRepeat(method: Method, failed: FailedAttempt): boolean {
  if (failed.status === 429 || (failed.fault && failed.outcome === 'not-sent')) return true
  if (method !== 'GET' && method !== 'DELETE') return false
  return failed.fault || failed.status === 408 || (failed.status !== undefined && failed.status >= 500)
}

/**
 * How long to wait before the next attempt, in ms: full jitter on a doubling delay, and at least what the service asks
 * for. A `Retry-After: 0` does not switch the backoff off.
 */
export function delayBefore(repeat: number, failed: FailedAttempt): number {
  const backoff = Math.floor(Math.random() * Math.min(longestDelay, firstDelay * 2 ** (repeat - 1)))
  return Math.max(backoff, failed.retryAfter ?? 0)
}
