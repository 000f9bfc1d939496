// This folder sends calls. Middleware runs around a call, and `sendAttempt` once for each request.

import ky from 'ky'
import { sendAttempt } from './attempt.ts'
import type { Reply } from './call.ts'
import { actorSelfRequired, withTotalTimeout } from './call-errors.ts'
import { CallRecord } from './call-record.ts'
import { type PreparedCall, urlOf } from './input.ts'
import { repeatAfter } from './retry.ts'
import { type Sending, sendThrough } from './send-through.ts'
import type { ClientSettings } from './settings.ts'

/** The settings of a client, and the function that sends its calls. */
export interface Core {
  readonly settings: ClientSettings
  readonly send: (call: PreparedCall) => Promise<Reply>
}

export function createCore(settings: ClientSettings): Core {
  if (settings.middleware.length === 0) return { settings, send: (call) => sendCall(call, settings) }
  const sendInside = (call: PreparedCall, sending: Sending) => sendCall(call, settings, sending)
  return { settings, send: (call) => sendThrough(settings, call, sendInside) }
}

/**
 * Rejects with a `RequestError`, an `InvalidArgumentError`, the caller's abort reason, or what a token provider, headers
 * function, rate limiter or journal has thrown.
 */
async function sendCall(call: PreparedCall, settings: ClientSettings, sending?: Sending): Promise<Reply> {
  const url = urlOf(call, settings.baseUrl)
  const record = new CallRecord(call, settings, sending)
  const { clock } = record
  record.startCall()
  try {
    clock.throwIfOver()
    if (call.operation.actor === 'self' && settings.actor === 'app') throw actorSelfRequired(record)
    const reply = await sendUntilDone(record, url)
    record.endCall()
    return reply
  } catch (thrown) {
    const error = withTotalTimeout(record, thrown)
    record.endCall({ error })
    if (sending !== undefined && record.mayHaveBeenApplied(error)) sending.isUnknown = true
    throw error
  } finally {
    clock.stop()
  }
}

/**
 * Sends a request, and repeats it with ky while `repeatAfter` allows it. A loop would do the same, but the package is
 * required to build on ky (decisions/0001-ky-repeats-what-failed.md). The `fetch` of ky is an attempt, which resolves with
 * the reply. A call whose first attempt is not repeated does not start ky, because ky takes more time than the call.
 */
async function sendUntilDone(record: CallRecord, url: string): Promise<Reply> {
  const { call, clock, settings } = record
  const { method } = call.operation
  let failures = 0
  let notLimited = 0
  let delay: number | undefined
  const isRepeated = (thrown: unknown): boolean => {
    const failure = record.failureOf(thrown)
    if (failure === undefined || clock.checkEnd()) return false
    failures += 1
    if (!failure.isLimited) notLimited += 1
    const limits = {
      failures,
      retries: notLimited + record.starved,
      maxRetries: call.maxRetries,
      maxRetryAfter: settings.maxRetryAfter,
      timeLeft: clock.remaining,
    }
    delay = repeatAfter(failure, limits, Math.random())
    if (delay === undefined) return false
    // After the delay, the attempt waits for a permit too, which can end the call with a `RateLimitError`.
    record.announceRetry(delay)
    return true
  }
  let first: Promise<Reply> | undefined = sendAttempt(record, url)
  try {
    return await first
  } catch (thrown) {
    if (!isRepeated(thrown)) throw thrown
  }
  try {
    const reply: unknown = await ky(url, {
      method,
      signal: clock.createCallSignal(),
      timeout: false,
      throwHttpErrors: false,
      fetch() {
        // The attempt that has just failed is the first one.
        const attempt = first ?? sendAttempt(record, url)
        first = undefined
        return attempt as Promise<never>
      },
      retry: {
        methods: [method.toLowerCase() as 'get'],
        limit: Number.MAX_SAFE_INTEGER,
        shouldRetry: ({ error, retryCount }) => retryCount === 1 || isRepeated(error),
        delay: () => delay ?? 0,
      },
    })
    return reply as Reply
  } catch (thrown) {
    // ky wraps what looks like an error of `fetch`, such as the reason of an abort.
    throw clock.end === undefined || record.isOwnError(thrown) ? thrown : clock.end.reason
  }
}
