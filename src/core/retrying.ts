import ky from 'ky'
import { longestTimer } from '../shared/check-options.ts'
import type { AttemptRequest } from './attempt.ts'
import type { Layer, Next, Reply } from './layers.ts'

/** Sends the request. If the request fails and can be repeated, starts ky, which repeats it. */
export const retrying: Layer<AttemptRequest> = async (request, next) => {
  const { record } = request
  let retries = 0
  let refusals = 0
  /** Announces a retry, and returns the delay before it. Undefined if the request is not repeated. */
  const delayAfter = (thrown: unknown): number | undefined => {
    const failure = record.failureOf(thrown)
    if (failure?.error.remedy !== 'retry') return undefined
    // A refused call counts as unsent. It waits as long as the service serves other calls.
    const isRefused = failure.head?.status === 429
    if (!isRefused) retries += 1
    else refusals = failure.countsAsRetry ? refusals + 1 : 0
    const { maxRetries } = record.call
    const { retryAfter = 0, delay } = failure
    if (maxRetries === 0 || retries + refusals > maxRetries) return undefined
    if (retryAfter > record.settings.maxRetryAfter || delay >= record.clock.remaining) return undefined
    if (record.clock.end !== undefined) return undefined
    record.retryAfter(delay)
    return delay
  }
  try {
    return await next(request)
  } catch (thrown) {
    const delay = delayAfter(thrown)
    if (delay === undefined) throw thrown
    return await repeat(request, next, delay, delayAfter)
  }
}

/**
 * Repeats the request with ky, which waits, and asks after each failure whether to repeat. ky expects to send the
 * requests itself, so it gets placeholders. These are an unused address, a failure until the wait is over, and an empty
 * response at the end.
 *
 * @param left the rest of the wait, in milliseconds. It can exceed the maximum of a timer.
 */
async function repeat(
  request: AttemptRequest,
  next: Next<AttemptRequest>,
  left: number,
  delayAfter: (thrown: unknown) => number | undefined,
): Promise<Reply> {
  const { clock } = request.record
  let reply: Reply | undefined
  /** The error of the last attempt, because ky might wrap it. Undefined during a wait. */
  let failed: { readonly thrown: unknown } | undefined
  try {
    await ky('https://placeholder.invalid', {
      signal: clock.waitSignal,
      timeout: false,
      async fetch() {
        if (left > 0) throw new Error('The wait is not over.')
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
          const delay = delayAfter(failed.thrown)
          if (delay === undefined) return false
          failed = undefined
          left = delay
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
