const firstDelay = 500
const longestDelay = 8_000

/**
 * Returns the delay before a retry, in milliseconds: exponential backoff with full jitter, and at least the delay that
 * the service requests. `Retry-After: 0` does not turn off the backoff.
 *
 * @param retry the number of the retry, starting at 1
 */
export function delayBefore(retry: number, retryAfter = 0): number {
  return Math.max(Math.floor(Math.random() * longestBackoff(retry)), retryAfter)
}

/** Returns the longest backoff before a retry, in milliseconds: 500, then twice as long each time, up to 8,000. */
export function longestBackoff(repeat: number): number {
  return Math.min(longestDelay, firstDelay * 2 ** (repeat - 1))
}

/**
 * Returns the delay that a response requests, in milliseconds: from `Retry-After` (RFC 9110, section 10.2.3) or else the
 * reset headers of rate limiters. Undefined if there is none, or it cannot be parsed.
 */
export function retryAfterOf(
  headers: { get(name: string): string | null },
  now: number = Date.now(),
): number | undefined {
  for (const { name, mayBeTimestamp } of timingHeaders) {
    const value = headers.get(name)
    // The first header decides, even if it cannot be parsed.
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

/** A year, in milliseconds. Nobody means to wait longer. */
export const longestRetryAfter = 31_536_000_000

/** 2024-01-01. Larger numbers are a time in seconds since the Unix epoch, smaller ones a delay in seconds. */
const firstTimestamp = 1_704_067_200

function parseTiming(value: string, mayBeTimestamp: boolean, now: number): number | undefined {
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) {
    const seconds = Number(text)
    const delay = mayBeTimestamp && seconds >= firstTimestamp ? Math.max(0, seconds * 1000 - now) : seconds * 1000
    return Math.min(longestRetryAfter, Math.ceil(delay))
  }
  // HTTP dates start with the name of a day. Date.parse would also accept "-1" and "2030".
  if (!/^[A-Z][a-z]+,? /.test(text)) return undefined
  // The oldest of the three HTTP date formats has no time zone. It is GMT like the others.
  const date = Date.parse(/ [A-Z]+$/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(date) ? undefined : Math.min(longestRetryAfter, Math.max(0, date - now))
}
