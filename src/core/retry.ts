const firstDelay = 500
const longestDelay = 8_000

/**
 * Returns the delay before a retry, in milliseconds: exponential backoff with full jitter, and at least the delay that
 * the service requests. `Retry-After: 0` does not turn off the backoff. With another one, a call that exceeded a rate
 * limit waits exactly that long, like all the calls that the limiter holds back, so that it keeps its place among them.
 *
 * @param retry the number of the retry, starting at 1
 */
export function delayBefore(retry: number, retryAfter = 0, { isLimited }: { readonly isLimited: boolean }): number {
  if (isLimited && retryAfter > 0) return retryAfter
  return Math.max(Math.floor(Math.random() * longestBackoff(retry)), retryAfter)
}

/** Returns the longest backoff before a retry, in milliseconds: 500, then twice as long each time, up to 8,000. */
export function longestBackoff(repeat: number): number {
  return Math.min(longestDelay, firstDelay * 2 ** (repeat - 1))
}

/**
 * Returns the delay that an error response requests, in milliseconds: from `Retry-After` (RFC 9110, section 10.2.3), or
 * else from the reset header of a rate limiter. Undefined if there is none, or it cannot be parsed.
 */
export function retryAfterOf(
  headers: { get(name: string): string | null },
  status: number,
  now: number = Date.now(),
): number | undefined {
  const retryAfter = delayOf(headers.get('retry-after'), now)
  if (retryAfter !== undefined || (status !== 429 && status !== 503)) return retryAfter
  for (const [reset, remaining] of resetHeaders) {
    // Gateways send reset headers with every response. A 503 has to do with the limit only if nothing remains of it.
    const isExceeded = status === 429 || headers.get(remaining) === '0'
    const delay = isExceeded ? delayOf(headers.get(reset), now) : undefined
    if (delay !== undefined) return delay
  }
  return undefined
}

/** In order of precedence, each with the header that says how many requests remain. */
const resetHeaders = [
  ['ratelimit-reset', 'ratelimit-remaining'],
  ['x-ratelimit-retry-after', 'x-ratelimit-remaining'],
  ['x-ratelimit-reset', 'x-ratelimit-remaining'],
  ['x-rate-limit-reset', 'x-rate-limit-remaining'],
] as const

/** A year, in milliseconds. Nobody means to wait longer. */
export const longestRetryAfter = 31_536_000_000

/** 2024-01-01. Smaller numbers are a delay in seconds, larger ones a time in seconds or milliseconds since the Unix epoch. */
const firstTimestamp = 1_704_067_200

/** Returns the longest of the delays in a header: a gateway and the service may both have sent it ("3, 10"). */
function delayOf(value: string | null, now: number): number | undefined {
  // The comma after the day of an HTTP date separates nothing.
  const delays = value?.split(/(?<![a-z]),/).map((part) => delayUntil(parseTime(part.trim(), now), now))
  return delays?.filter((delay) => !Number.isNaN(delay)).sort((a, b) => b - a)[0]
}

function delayUntil(time: number, now: number): number {
  return Math.min(longestRetryAfter, Math.max(0, Math.ceil(time - now)))
}

/** Returns a time in milliseconds since the Unix epoch, or NaN. */
function parseTime(text: string, now: number): number {
  if (/^\d+(\.\d+)?$/.test(text)) {
    const number = Number(text)
    if (number < firstTimestamp) return now + number * 1000
    return number < firstTimestamp * 1000 ? number * 1000 : number
  }
  // HTTP dates start with the name of a day. Date.parse would also accept "-1" and "2030".
  if (!/^[A-Z][a-z]+,? /.test(text)) return Number.NaN
  // The oldest of the three HTTP date formats has no time zone. It is GMT like the others.
  return Date.parse(/ [A-Z]+$/.test(text) ? text : `${text} GMT`)
}
