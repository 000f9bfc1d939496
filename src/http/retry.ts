import type { Outcome } from '../errors/index.ts'
import type { Method } from '../operation.ts'

const firstDelay = 500
const longestDelay = 8_000

/** The properties of a failed attempt that decide about a retry. */
export interface FailedAttempt {
  readonly outcome: Outcome
  /** The HTTP status, if a response was received. */
  readonly status?: number | undefined
  /** Requested delay, in milliseconds. */
  readonly retryAfter?: number | undefined
  /** Whether the connection failed or the attempt timed out. */
  readonly networkFault: boolean
}

/**
 * Whether a failed attempt can be retried.
 *
 * A write is retried only if the service cannot have applied it: the request was not sent, or was rejected with 429.
 * GET and DELETE are idempotent (RFC 9110, section 9.2.2).
 */
export function mayRepeat(method: Method, failed: FailedAttempt): boolean {
  if (failed.status === 429 || (failed.networkFault && failed.outcome === 'not-sent')) return true
  if (!isIdempotent(method)) return false
  return failed.networkFault || failed.status === 408 || (failed.status !== undefined && failed.status >= 500)
}

/** Whether doing it twice is the same as doing it once. PUT is not used by the service, and counts as a write. */
export function isIdempotent(method: Method): boolean {
  return method === 'GET' || method === 'DELETE'
}

/**
 * Returns the delay before the next attempt, in milliseconds: exponential backoff with full jitter, and at least the
 * delay that the service requests. `Retry-After: 0` does not turn off the backoff.
 */
export function delayBefore(repeat: number, failed: FailedAttempt): number {
  const backoff = Math.floor(Math.random() * longestBackoff(repeat))
  return Math.max(backoff, failed.retryAfter ?? 0)
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
