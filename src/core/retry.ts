import type { Outcome, Remedy, RequestError } from '../errors/index.ts'
import type { Method } from './operation.ts'
import type { ResponseHead } from './response.ts'

// Whether a request is sent again is decided in two steps. `remedyAfter` protects writes: a write that may have been
// applied gets the remedy `verify`. Then `repeatAfter` looks at the retries and the time that are left. What the reason
// of a failure suggests is in `response-error.ts`, in `call-errors.ts` for timeouts, and in `fetch-error.ts` for the network.

/**
 * Returns what to do after a failure, from what its reason suggests. A write that may have been applied has to be checked
 * instead. Only a DELETE can be repeated, because deleting twice is the same as deleting once (RFC 9110, section 9.2.2).
 * The service has no PUT.
 */
export function remedyAfter(method: Method, outcome: Outcome, suggested: Remedy): Remedy {
  const canRepeat = method === 'DELETE' && suggested === 'retry'
  return outcome === 'unknown' && !canRepeat ? 'verify' : suggested
}

/** The failure of a request. */
export interface Failure {
  readonly error: RequestError
  /** Status and headers, if there was a response. */
  readonly head: ResponseHead | undefined
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfter: number | undefined
  /** Whether the response was a 429. Without a response, the request was deferred after the 429 of another one. */
  readonly isLimited: boolean
}

/** What is left of a call after a failed request. Times are in milliseconds. */
interface RetryLimits {
  /** Failed requests of the call. */
  readonly failures: number
  /** How many of them used up a retry. */
  readonly retries: number
  readonly maxRetries: number
  readonly maxRetryAfter: number
  /** The rest of the `totalTimeout`. */
  readonly timeLeft: number
}

const firstDelay = 500
const longestDelay = 8_000

/**
 * Returns the delay before a failed request is repeated, in milliseconds. Undefined if it is not repeated. The delay is an
 * exponential backoff with full jitter, and at least the delay that the service requests. A `Retry-After: 0` keeps the
 * backoff. If the service requests more, a limited call waits exactly that long, so that it keeps its place among the
 * other limited calls.
 *
 * @param random between 0 and 1
 */
export function repeatAfter(
  { error, isLimited, retryAfter = 0 }: Failure,
  { failures, retries, maxRetries, maxRetryAfter, timeLeft }: RetryLimits,
  random: number,
): number | undefined {
  // In milliseconds: 500, then twice as long each time, up to 8,000.
  const longestBackoff = Math.min(longestDelay, firstDelay * 2 ** (failures - 1))
  const backoff = Math.floor(random * longestBackoff)
  const delay = isLimited && retryAfter > 0 ? retryAfter : Math.max(backoff, retryAfter)
  const isAllowed = maxRetries > 0 && retries <= maxRetries
  const isInTime = retryAfter <= maxRetryAfter && delay < timeLeft
  return error.remedy === 'retry' && isAllowed && isInTime ? delay : undefined
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
