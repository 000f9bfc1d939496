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
