// This folder sends calls. Middleware runs around a call, and `sendAttempt` once for each request. For this folder,
// operations are only data.

import type { Reply } from './call.ts'
import { actorSelfRequired, timeoutError } from './call-errors.ts'
import { CallRecord } from './call-record.ts'
import { type PreparedCall, urlOf } from './input.ts'
import { sendUntilDone } from './retrying.ts'
import { type Sending, sendThrough } from './send-through.ts'
import type { ClientSettings } from './settings.ts'

/** The settings of a client, and the function that sends its calls. */
export interface Core {
  readonly settings: ClientSettings
  readonly send: (call: PreparedCall) => Promise<Reply>
}

export function createCore(settings: ClientSettings): Core {
  if (settings.middleware.length === 0) return { settings, send: (call) => sendCall(call, settings) }
  const sendOne = (call: PreparedCall, sending: Sending) => sendCall(call, settings, sending)
  return { settings, send: (call) => sendThrough(settings, call, sendOne) }
}

/**
 * Rejects with a `RequestError`, an `InvalidArgumentError`, the caller's abort reason, or the token provider's error.
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
    // The time can be over outside of an attempt, too.
    const isLate = clock.end?.isLate && clock.isEnd(thrown)
    const error = isLate ? timeoutError(record, { limit: 'total', isSent: false }) : thrown
    record.endCall({ error })
    if (sending !== undefined && record.mayHaveBeenApplied(error)) sending.outcome = 'unknown'
    throw error
  } finally {
    clock.stop()
  }
}
