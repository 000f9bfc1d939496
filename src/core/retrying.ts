import ky from 'ky'
import { sendAttempt } from './attempt.ts'
import type { Reply } from './call.ts'
import type { CallRecord } from './call-record.ts'

/**
 * Sends a request, and repeats it with ky while it fails for a reason that can pass. The `fetch` of ky is an attempt,
 * which resolves with the reply. A call that succeeds at once does without ky, because ky takes more time than the call.
 */
export async function sendUntilDone(record: CallRecord, url: string): Promise<Reply> {
  const { clock } = record
  const { method } = record.call.operation
  let attempt: Promise<Reply> | undefined = sendAttempt(record, url)
  try {
    return await attempt
  } catch (thrown) {
    if (!canPass(record, thrown)) throw thrown
  }
  try {
    const reply: unknown = await ky(url, {
      method,
      signal: clock.waitSignal,
      timeout: false,
      throwHttpErrors: false,
      fetch() {
        // The attempt that has just failed is the first one.
        const current = attempt ?? sendAttempt(record, url)
        attempt = undefined
        return current as Promise<never>
      },
      retry: {
        methods: [method.toLowerCase() as 'get'],
        limit: Number.MAX_SAFE_INTEGER,
        shouldRetry: retryPolicy(record),
        delay: () => record.failure?.delay ?? 0,
      },
    })
    return reply as Reply
  } catch (thrown) {
    // ky wraps what looks like an error of `fetch`, such as the reason of an abort.
    throw clock.end === undefined || record.isOwnError(thrown) ? thrown : clock.end.reason
  }
}

function canPass(record: CallRecord, thrown: unknown): boolean {
  return record.failureOf(thrown)?.error.remedy === 'retry'
}

/** Returns a function that decides after each failure whether the request is repeated, and announces the retry. */
function retryPolicy(record: CallRecord): (failed: { readonly error: unknown }) => boolean {
  const { call, clock, settings } = record
  let retries = 0
  let refusals = 0
  return ({ error }) => {
    const failure = record.failureOf(error)
    if (failure === undefined || !canPass(record, error) || clock.isOver) return false
    // A refused call counts as unsent. It waits as long as the service serves other calls.
    if (failure.head?.status !== 429 && !failure.isHeldBack) retries += 1
    else refusals = failure.countsAsRetry ? refusals + 1 : 0
    const { retryAfter = 0, delay } = failure
    if (call.maxRetries === 0 || retries + refusals > call.maxRetries) return false
    if (retryAfter > settings.maxRetryAfter || delay >= clock.remaining) return false
    record.retryAfter(delay)
    return true
  }
}
