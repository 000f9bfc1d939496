import type { Outcome, Remedy } from '../errors/index.ts'
import type { Method } from './operation.ts'
import type { ResponseHead } from './response.ts'

// Whether a request is sent again is decided in two steps. `remedyAfter` protects writes: a write that may have been
// applied gets the remedy `verify`. Then `repeatAfter` looks at the retries and the time that are left. What the reason
// of a failure suggests is in `call-errors.ts` for responses and timeouts, and in `fetch-error.ts` for the network.

/**
 * Returns what to do after a failure, from what its reason suggests. A write that may have been applied has to be checked
 * instead. Only a DELETE can be repeated, because deleting twice is the same as deleting once (RFC 9110, section 9.2.2).
 * The service has no PUT.
 */
export function remedyAfter(method: Method, outcome: Outcome, suggested: Remedy): Remedy {
  const canRepeat = method === 'DELETE' && suggested === 'retry'
  return outcome === 'unknown' && !canRepeat ? 'verify' : suggested
}

/** A failed request, as far as it decides about the next one. */
export interface FailedRequest {
  /** What to do about its error. Only after `retry`, the request is repeated. */
  readonly remedy: Remedy
  /** Whether the response was a 429, or the request was deferred after a 429. */
  readonly isLimited: boolean
  /** Whether the service has served no other request of the operation since the last request of the call. */
  readonly isStarved: boolean
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfter: number | undefined
}

/** What became of the requests of a call. */
export interface RetryCounters {
  /** Every failed request. */
  readonly failures: number
  /** Failed requests that were not limited. */
  readonly retries: number
  /** Starved requests in a row. */
  readonly starved: number
}

export const noFailures: RetryCounters = { failures: 0, retries: 0, starved: 0 }

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
  // A limited call keeps waiting while the service serves other calls.
  const starved = !isLimited ? counters.starved : isStarved ? counters.starved + 1 : 0
  const delay = delayBefore(failures, retryAfter, isLimited, random)
  const isAllowed = maxRetries > 0 && retries + starved <= maxRetries
  const isInTime = retryAfter <= maxRetryAfter && delay < timeLeft
  const isRepeated = remedy === 'retry' && isAllowed && isInTime
  return { counters: { failures, retries, starved }, delay: isRepeated ? delay : undefined }
}

const firstDelay = 500
const longestDelay = 8_000

/**
 * Returns the delay before a retry, in milliseconds: exponential backoff with full jitter, and at least the delay that
 * the service requests. A `Retry-After: 0` keeps the backoff. If the service requests more, a limited call waits
 * exactly that long, so that it keeps its place among the other limited calls.
 */
function delayBefore(retry: number, retryAfter: number, isLimited: boolean, random: number): number {
  if (isLimited && retryAfter > 0) return retryAfter
  // In milliseconds: 500, then twice as long each time, up to 8,000.
  const longestBackoff = Math.min(longestDelay, firstDelay * 2 ** (retry - 1))
  return Math.max(Math.floor(random * longestBackoff), retryAfter)
}

/** A year, in milliseconds. Longer delays are probably mistakes. */
export const longestRetryAfter = 31_536_000_000

/**
 * Returns the delay that an error response requests, in milliseconds: from `Retry-After` (RFC 9110, section 10.2.3), or
 * else from `RateLimit-Reset`. Undefined if the header is missing or invalid.
 */
export function retryAfterOf(response: Pick<ResponseHead, 'status' | 'get'>): number | undefined {
  const { status } = response
  const retryAfter = delayOf(response, 'retry-after')
  // Gateways send the reset with every response. A 503 has to do with the limit only if nothing remains of it.
  const isExceeded = status === 429 || (status === 503 && response.get('ratelimit-remaining') === '0')
  return retryAfter ?? (isExceeded ? delayOf(response, 'ratelimit-reset') : undefined)
}

/** Returns the longest of the delays in a header. If a gateway and the service both send one, the header is "3, 10". */
function delayOf(response: Pick<ResponseHead, 'get'>, name: string): number | undefined {
  // The comma after the day is part of an HTTP date.
  const parts = response.get(name)?.split(/(?<![a-z]),/) ?? []
  const delays = parts.flatMap((part) => {
    const { delay, time } = parse(part.trim())
    if (delay !== undefined) return [delay]
    return time === undefined ? [] : [delayUntil(time, response)]
  })
  const longest = delays.sort((a, b) => b - a)[0]
  return longest && Math.min(longestRetryAfter, Math.ceil(longest))
}

/**
 * Returns the time until a date. The clock of this machine can be wrong, and so can the `Date` of the response, which is
 * older in a response from a cache. So the shorter wait counts, unless it is over.
 */
function delayUntil(time: number, response: Pick<ResponseHead, 'get'>): number {
  const sentAt = Date.parse(response.get('date') ?? '')
  const waits = [time - Date.now(), time - sentAt].filter((wait) => wait > 0)
  return waits.length === 0 ? 0 : Math.min(...waits)
}

/** Returns a delay, or a time since the Unix epoch, both in milliseconds. */
function parse(text: string): { readonly delay?: number; readonly time?: number } {
  if (/^\d+(\.\d+)?$/.test(text)) return { delay: Number(text) * 1000 }
  // HTTP dates start with the name of a day. Date.parse would also accept "-1" and "2030".
  if (!/^[A-Z][a-z]+,? /.test(text)) return {}
  // The oldest of the three HTTP date formats has no time zone. It is GMT like the others.
  const time = Date.parse(/ [A-Z]+$/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(time) ? {} : { time }
}

/** @param milliseconds rounded up to seconds, for a sentence */
export function seconds(milliseconds: number): string {
  const count = Math.ceil(milliseconds / 1000)
  return count === 1 ? '1 second' : `${count} seconds`
}

export function toSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.ceil(milliseconds / 1000)
}
