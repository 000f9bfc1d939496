import { AuthenticationError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { checkAccessToken } from '../shared/credentials.ts'
import type { Reply } from './call.ts'
import { isPromise } from './call-clock.ts'
import { type CallerPart, callerError, heldBackError, timeoutError } from './call-errors.ts'
import type { CallRecord } from './call-record.ts'
import { exchange } from './exchange.ts'
import { readHeaders } from './headers.ts'
import { takeTurn } from './taking-turns.ts'

/**
 * Sends a request of a call: with a token, headers and a permit of the rate limiter. The permit comes last. Otherwise, a
 * token provider that makes a call could wait for the permit that this request holds.
 */
export async function sendAttempt(record: CallRecord, url: string): Promise<Reply> {
  const accessToken = await tokenOf(record)
  const headers = await headersOf(record, accessToken)
  const turn = await takeTurn(record)
  try {
    const reply = await guarded(record, accessToken, () => exchange(record, url, headers))
    turn.end('served')
    return reply
  } catch (thrown) {
    const failure = record.failureOf(thrown)
    turn.end(failure)
    const isInvalid = failure?.error instanceof AuthenticationError && failure.error.code === 'invalid_token'
    if (isInvalid) await reportInvalidToken(record, failure.error, accessToken)
    throw thrown
  }
}

async function tokenOf(record: CallRecord): Promise<string> {
  const { tokenSource } = record.settings
  const accessToken =
    tokenSource.accessToken ??
    (await ask(record, 'token provider', () => tokenSource.getAccessToken(), checkAccessToken))
  record.addSecret(accessToken)
  return accessToken
}

/** Calls `onInvalidToken`. If it throws, its error becomes the cause of the 401. */
async function reportInvalidToken({ settings, call, clock, secrets }: CallRecord, error: Error, accessToken: string) {
  try {
    const reported = settings.tokenSource.onInvalidToken?.(accessToken)
    if (isPromise(reported)) await clock.run(reported, call.timeout, () => new Error('onInvalidToken took too long'))
  } catch (thrown) {
    if (clock.end !== undefined && !clock.end.isLate) throw clock.end.reason
    const cause = safeCause(thrown ?? new Error('onInvalidToken failed'), secrets)
    Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true })
  }
}

/** Returns the headers of the client, then the headers of the call. Functions are called for each attempt. */
async function headersOf(record: CallRecord, accessToken: string): Promise<Readonly<Record<string, string>>> {
  const { call, settings } = record
  const headers: Record<string, string> = call.body === undefined ? {} : { 'content-type': 'application/json' }
  for (const source of [...settings.headers, call.headers]) {
    const added = typeof source === 'function' ? await ask(record, 'headers function', source, readHeaders) : source
    Object.assign(headers, added)
  }
  return Object.assign(headers, { authorization: `Bearer ${accessToken}` })
}

/** Runs the guard of a journal around the request. */
async function guarded(record: CallRecord, accessToken: string, send: () => Promise<Reply>): Promise<Reply> {
  const { call, clock, sent, settings } = record
  if (settings.guard === undefined || call.operation.method === 'GET') return send()
  try {
    return await settings.guard.around(send, {
      accessToken,
      signal: clock.waitSignal,
      timeLeft: clock.remaining,
      heldBack: (retryAfter) => record.holdBack(heldBackError(record, (retryAfter || 1) * 1000), retryAfter),
      untilEnd: (step) => clock.run(step),
      mayHaveBeenApplied: (thrown) => record.mayHaveBeenApplied(thrown, sent),
    })
  } catch (thrown) {
    throw callerError(record, thrown, 'journal')
  }
}

/**
 * Asks a function of the caller, for at most the `timeout` of an attempt.
 *
 * @param use checks what it returns
 */
export async function ask<Value, Result>(
  record: CallRecord,
  part: CallerPart,
  run: () => Value | PromiseLike<Value>,
  use: (value: Value) => Result,
): Promise<Result> {
  const { clock, call } = record
  try {
    const value = run()
    if (!isPromise(value)) return use(value as Value)
    const expired = () => timeoutError(record, { limit: 'attempt', isSent: false })
    return use((await clock.run(value, call.timeout, expired)) as Value)
  } catch (thrown) {
    throw callerError(record, thrown, part)
  }
}
