import { AuthenticationError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { checkAccessToken } from '../shared/credentials.ts'
import { isPromise } from './call-clock.ts'
import { type CallerPart, couldNotRetryError, timeoutError } from './call-errors.ts'
import type { CallRecord } from './call-record.ts'
import { readHeaders } from './headers.ts'
import type { Layer } from './layers.ts'

/** A request of a call, on its way through the layers of an attempt. */
export interface AttemptRequest {
  readonly record: CallRecord
  readonly url: string
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Adds the token. Gets the token before the permit. Otherwise, a token provider that makes a call could wait for the
 * permit that this request holds.
 */
export const authorizing: Layer<AttemptRequest> = async (request, next) => {
  const { record, headers } = request
  const { tokenSource } = record.settings
  const accessToken =
    tokenSource.accessToken ??
    (await ask(record, 'token provider', () => tokenSource.getAccessToken(), checkAccessToken))
  record.addSecret(accessToken)
  try {
    return await next({ ...request, headers: { ...headers, authorization: `Bearer ${accessToken}` } })
  } catch (thrown) {
    const error = record.failureOf(thrown)?.error
    if (error instanceof AuthenticationError && error.code === 'invalid_token') {
      await reportInvalidToken(record, error, accessToken)
    }
    throw thrown
  }
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

/** Adds the headers of the client, then the headers of the call. Functions are called for each attempt. */
export const addingHeaders: Layer<AttemptRequest> = async (request, next) => {
  const { record } = request
  const { call, settings } = record
  const headers: Record<string, string> = call.body === undefined ? {} : { 'content-type': 'application/json' }
  for (const source of [...settings.headers, call.headers]) {
    const added = typeof source === 'function' ? await ask(record, 'headers function', source, readHeaders) : source
    Object.assign(headers, added)
  }
  return next({ ...request, headers: Object.assign(headers, request.headers) })
}

/** Runs the guard of a journal around the request. */
export const guarding: Layer<AttemptRequest> = async (request, next) => {
  const { record } = request
  const { call, clock, sent } = record
  if (call.guard === undefined) return next(request)
  try {
    return await call.guard(() => next(request), {
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

/**
 * Returns the error of the call when a function of the caller has thrown. Before the first request, this is the thrown
 * error. Later, the thrown error is the cause.
 */
export function callerError(record: CallRecord, thrown: unknown, part: CallerPart): unknown {
  const isOurs = record.isOwnError(thrown) || record.clock.isEnd(thrown)
  return isOurs || record.sent === 0 ? thrown : couldNotRetryError(record, thrown, part)
}
