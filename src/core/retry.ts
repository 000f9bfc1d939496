import type { Remedy } from '../errors/index.ts'

/** A failed request, as far as it decides about the next one. */
export interface FailedRequest {
  /** What to do about its error. Only with `retry` can the reason pass. */
  readonly remedy: Remedy
  /** Whether the service refused it with a 429, or what has to go before it, so that it counts as unsent. */
  readonly isLimited: boolean
  /** Whether a 429 uses up a retry, because the service serves no other request of the operation either. */
  readonly isStarved: boolean
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfter: number | undefined
}

/** What became of the requests of a call. */
export interface RetryCounters {
  /** Every failed request. */
  readonly failures: number
  /** Failed requests that were not refused with a 429. */
  readonly retries: number
  /** Requests in a row that were refused with a 429 while the service served no other. */
  readonly refusals: number
}

export const noFailures: RetryCounters = { failures: 0, retries: 0, refusals: 0 }

export interface RetryLimits {
  readonly maxRetries: number
  /** In milliseconds. */
  readonly maxRetryAfter: number
  /** The rest of the call's `totalTimeout`, in milliseconds. */
  readonly timeLeft: number
}

/**
 * Decides whether a failed request is repeated, and when. Returns the counters after it, and the delay before the next
 * request in milliseconds, which is undefined if there is none.
 *
 * @param random between 0 and 1
 */
export function repeatAfter(
  { remedy, isLimited, isStarved, retryAfter = 0 }: FailedRequest,
  counters: RetryCounters,
  { maxRetries, maxRetryAfter, timeLeft }: RetryLimits,
  random: number,
): { readonly counters: RetryCounters; readonly delay: number | undefined } {
  const failures = counters.failures + 1
  const retries = counters.retries + (isLimited ? 0 : 1)
  // A refused call waits as long as the service serves other calls.
  const refusals = !isLimited ? counters.refusals : isStarved ? counters.refusals + 1 : 0
  const delay = delayBefore(failures, retryAfter, isLimited, random)
  const isAllowed = maxRetries > 0 && retries + refusals <= maxRetries
  const isInTime = retryAfter <= maxRetryAfter && delay < timeLeft
  const isRepeated = remedy === 'retry' && isAllowed && isInTime
  return { counters: { failures, retries, refusals }, delay: isRepeated ? delay : undefined }
}

const firstDelay = 500
const longestDelay = 8_000

/**
 * Returns the delay before a retry, in milliseconds: exponential backoff with full jitter, and at least the delay that
 * the service requests. A `Retry-After: 0` keeps the backoff. If the service requests more, a refused call waits
 * exactly that long, so that it keeps its place among the other refused calls.
 */
function delayBefore(retry: number, retryAfter: number, isLimited: boolean, random: number): number {
  if (isLimited && retryAfter > 0) return retryAfter
  // In milliseconds: 500, then twice as long each time, up to 8,000.
  const longestBackoff = Math.min(longestDelay, firstDelay * 2 ** (retry - 1))
  return Math.max(Math.floor(random * longestBackoff), retryAfter)
}
