import type { ResponseHead } from './response.ts'

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

/**
 * 2024-01-01. Smaller numbers are a delay in seconds, larger ones a time in seconds or milliseconds since the Unix
 * epoch.
 */
const firstTimestamp = 1_704_067_200

/** Returns a delay, or a time since the Unix epoch, both in milliseconds. */
function parse(text: string): { readonly delay?: number; readonly time?: number } {
  if (/^\d+(\.\d+)?$/.test(text)) {
    const number = Number(text)
    if (number < firstTimestamp) return { delay: number * 1000 }
    return { time: number < firstTimestamp * 1000 ? number * 1000 : number }
  }
  // HTTP dates start with the name of a day. Date.parse would also accept "-1" and "2030".
  if (!/^[A-Z][a-z]+,? /.test(text)) return {}
  // The oldest of the three HTTP date formats has no time zone. It is GMT like the others.
  const time = Date.parse(/ [A-Z]+$/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(time) ? {} : { time }
}
