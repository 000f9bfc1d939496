import ky from 'ky'
import { sendAttempt } from './attempt.ts'
import type { Reply } from './call.ts'
import type { CallRecord } from './call-record.ts'
import { noFailures, repeatAfter } from './retry.ts'

/**
 * Sends a request, and repeats it with ky while it fails for a reason that can pass. The `fetch` of ky is an attempt,
 * which resolves with the reply. A call that succeeds at once does without ky, because ky takes more time than the call.
 */
export async function sendUntilDone(record: CallRecord, url: string): Promise<Reply> {
  const { call, clock, settings } = record
  const { method } = call.operation
  let attempt: Promise<Reply> | undefined = sendAttempt(record, url)
  try {
    return await attempt
  } catch (thrown) {
    if (record.failureOf(thrown)?.error.remedy !== 'retry') throw thrown
  }
  let counters = noFailures
  let delay: number | undefined
  const isRepeated = ({ error }: { readonly error: unknown }) => {
    const failure = record.failureOf(error)
    if (failure === undefined || clock.isOver) return false
    const failed = {
      remedy: failure.error.remedy,
      isLimited: failure.head?.status === 429 || failure.isHeldBack === true,
      isStarved: failure.countsAsRetry === true,
      retryAfter: failure.retryAfter,
    }
    const limits = {
      maxRetries: call.maxRetries,
      maxRetryAfter: settings.maxRetryAfter,
      timeLeft: clock.remaining,
    }
    const next = repeatAfter(failed, counters, limits, Math.random())
    counters = next.counters
    delay = next.delay
    if (delay === undefined) return false
    record.retryAfter(delay)
    return true
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
        shouldRetry: isRepeated,
        delay: () => delay ?? 0,
      },
    })
    return reply as Reply
  } catch (thrown) {
    // ky wraps what looks like an error of `fetch`, such as the reason of an abort.
    throw clock.end === undefined || record.isOwnError(thrown) ? thrown : clock.end.reason
  }
}
