import ky from 'ky'
import { longestTimer } from '../shared/check-options.ts'
import type { AttemptRequest } from './attempt.ts'
import type { Layer, Next, Reply } from './layers.ts'

/**
 * Sends the request, and again if it has failed and can be repeated. A request that succeeds, or fails for good, never
 * starts ky.
 */
export const retrying: Layer<AttemptRequest> = async (request, next) => {
  const { record } = request
  let retries = 0
  let refusals = 0
  /** Decides about the last failure, and announces the retry. */
  const isRepeated = (thrown: unknown): boolean => {
    const failure = record.failureOf(thrown)
    if (failure === undefined || failure.error.remedy !== 'retry') return false
    // A refused call is one that was not sent: it waits as long as the service goes on serving others.
    const isRefused = failure.head?.status === 429
    if (!isRefused) retries += 1
    else refusals = failure.countsAsRetry ? refusals + 1 : 0
    const { maxRetries } = record.call
    const { retryAfter = 0, delay } = failure
    if (maxRetries === 0 || retries + refusals > maxRetries || retryAfter > record.settings.maxRetryAfter) return false
    if (record.clock.end !== undefined || delay >= record.clock.remaining) return false
    record.retryAfter(delay)
    return true
  }
  try {
    return await next(request)
  } catch (thrown) {
    if (isRepeated(thrown)) return await repeat(request, next, isRepeated)
    throw thrown
  }
}

/**
 * Repeats the request with ky, which waits and asks after each failure. ky expects to send the requests itself. It
 * therefore gets an address that is not used, a failure to start with, and an empty response at the end.
 */
async function repeat(
  request: AttemptRequest,
  next: Next<AttemptRequest>,
  isRepeated: (thrown: unknown) => boolean,
): Promise<Reply> {
  const { record } = request
  let reply: Reply | undefined
  let isStart = true
  /** The rest of the wait, in milliseconds, which might be longer than a timer can be. */
  let left = record.failure?.delay ?? 0
  /** What the last attempt failed with, which ky might wrap. Undefined during a wait. */
  let failed: { readonly thrown: unknown } | undefined
  try {
    await ky('https://placeholder.invalid', {
      signal: record.clock.waitSignal,
      timeout: false,
      async fetch() {
        if (isStart || left > 0) {
          isStart = false
          throw new Error('The wait is not over.')
        }
        try {
          reply = await next(request)
          return new Response()
        } catch (thrown) {
          failed = { thrown }
          throw thrown
        }
      },
      retry: {
        limit: Number.MAX_SAFE_INTEGER,
        delay() {
          const wait = Math.min(left, longestTimer)
          left -= wait
          return wait
        },
        shouldRetry() {
          if (failed === undefined) return true
          if (!isRepeated(failed.thrown)) return false
          failed = undefined
          left = record.failure?.delay ?? 0
          return true
        },
      },
    })
    return reply as unknown as Reply
  } catch (thrown) {
    // Only the end of the call ends a wait, with its reason.
    throw failed === undefined ? thrown : failed.thrown
  }
}
