import {
  ActorSelfRequiredError,
  isLasting,
  NetworkError,
  type Outcome,
  RateLimitError,
  type Remedy,
  RequestError,
  TimeoutError,
  UnexpectedResponseError,
  type UnexpectedResponseReason,
} from '../errors/index.ts'
import { innermost, redact, safeCause, withoutSecrets } from '../errors/redact.ts'
import type { RequestErrorDetails } from '../errors/request-error.ts'
import type { CallRecord } from './call-record.ts'
import type { FetchFault } from './fetch-error.ts'
import { isCustom } from './operation.ts'
import type { ResponseHead, UnusableResponse } from './response.ts'
import { longestRetryAfter } from './retry.ts'

/** The details of an error, besides the properties of its class. The call record has the rest. */
interface Failure {
  readonly message: string
  /** The next step. For an unconfirmed write, it is used only if it is about the configuration. */
  readonly hint: string
  readonly isConfiguration?: boolean
  /** The outcome of the last attempt. */
  readonly outcome: Outcome
  /** What to do about the error. For an unconfirmed write, the remedy is `verify` instead. */
  readonly remedy: Remedy
  readonly cause?: unknown
}

/** Creates the error of a call, and removes secrets from its message. */
export function createError<Details extends RequestErrorDetails>(
  ErrorClass: new (message: string, details: Details) => RequestError,
  record: CallRecord,
  { message, hint, isConfiguration, cause, ...failure }: Failure & Omit<Details, keyof RequestErrorDetails>,
): RequestError {
  const { attempts, secrets } = record
  const { operation } = record.call
  const outcome = record.outcomeAfter(failure.outcome)
  // Deleting twice is the same as deleting once (RFC 9110, section 9.2.2). The service has no PUT.
  const canRepeat = operation.method === 'DELETE' && failure.remedy === 'retry'
  const needsCheck = outcome === 'unknown' && !canRepeat
  const details = {
    ...failure,
    operation: withoutSecrets(operation.id, secrets),
    outcome,
    attempts,
    ...(needsCheck && { remedy: 'verify' }),
    hint: withoutSecrets(needsCheck ? `${checkFirst}${isConfiguration ? ` ${hint}` : ''}` : hint, secrets),
    ...(cause !== undefined && { cause: safeCause(cause, secrets) }),
  }
  const error = new ErrorClass(withoutSecrets(message, secrets), details as unknown as Details)
  record.addError(error)
  return error
}

const checkFirst = 'The write may have been applied. Check before retrying it.'

export const actorHint = 'Log in with actor "self" and use that token.'

/** Creates the error for a call that a client with `actor: 'app'` refuses to send. */
export function actorSelfRequired(record: CallRecord): RequestError {
  return createError(ActorSelfRequiredError, record, {
    message: `${record.call.operation.id} needs an actor=self token, but the actor of this client is "app".`,
    hint: actorHint,
    outcome: 'not-sent',
    remedy: 'fix',
    status: 422,
    code: 'actor_self_required',
    description: undefined,
  })
}

/** Creates the error when `fetch` rejects or the body is cut off. */
export function networkError(record: CallRecord, cause: unknown, fault: FetchFault): RequestError {
  const { outcome, remedy, what } = fault
  const reason = innermost(safeCause(cause, record.secrets)).message.replace(/\.$/, '')
  const isUnsent = record.outcomeAfter(outcome) === 'not-sent'
  const hint = fault.hint ?? `Check the network${isUnsent ? ', any proxy and `baseUrl`' : ''}, then try again.`
  return createError(NetworkError, record, {
    message: `${record.call.operation.id} ${what}${reason && `: ${reason}`}.`,
    hint: isUnsent ? `Nothing was sent. ${hint}` : hint,
    isConfiguration: fault.hint !== undefined,
    outcome,
    remedy,
    cause,
  })
}

/** Creates the error when a time limit expires. */
export function timeoutError(
  record: CallRecord,
  { limit, isSent }: { readonly limit: 'attempt' | 'total'; readonly isSent: boolean },
): RequestError {
  const timeout = record.call[limit === 'total' ? 'totalTimeout' : 'timeout']
  const nothing = record.sent === 0 ? 'Nothing was sent. ' : ''
  return createError(TimeoutError, record, {
    message: `${record.call.operation.id} took longer than ${limit === 'total' ? 'its total limit of ' : ''}${timeout} ms.`,
    hint: isSent
      ? 'Try again, or raise the timeout.'
      : `${nothing}Check what the token provider, the headers function or the rate limiter is waiting for, or raise the timeout.`,
    outcome: isSent ? 'unknown' : 'not-sent',
    remedy: 'retry',
    limit,
    timeout,
  })
}

/**
 * Creates the error when the schemas of this package, which are loaded when they are first used, could not be loaded.
 */
export function notLoadedError(record: CallRecord, cause: unknown): RequestError {
  return createError(RequestError, record, {
    message: `${record.call.operation.id} was not sent, because the schemas of this package could not be loaded.`,
    hint: 'They are a separate file. Check that your build contains every file of this package, then try again.',
    outcome: 'not-sent',
    remedy: 'retry',
    cause,
  })
}

/**
 * Creates the error when a call cannot wait for the rate limit.
 *
 * @param wait in milliseconds
 */
export function heldBackError(record: CallRecord, wait: number): RequestError {
  const what = record.sent === 0 ? 'was not sent' : 'failed and was not retried'
  const retryAfter = Math.min(wait, longestRetryAfter)
  return createError(RateLimitError, record, {
    message: `${record.call.operation.id} ${what}: the service has asked this client to slow down.`,
    hint: `Try again after ${seconds(retryAfter)}, or let the call wait with a longer \`totalTimeout\` or \`maxRetryAfter\`, and \`maxRetries\` above 0.`,
    outcome: 'not-sent',
    remedy: 'retry',
    status: 429,
    code: undefined,
    description: undefined,
    retryAfter: toSeconds(retryAfter),
  })
}

/** @param milliseconds rounded up to seconds, for a sentence */
export function seconds(milliseconds: number): string {
  const count = Math.ceil(milliseconds / 1000)
  return count === 1 ? '1 second' : `${count} seconds`
}

export function toSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.ceil(milliseconds / 1000)
}

/** Creates the error for a response that cannot be used. */
export function unusableError(record: CallRecord, response: ResponseHead, unusable: UnusableResponse): RequestError {
  const { reason, message, hint } = unusable
  const { id } = record.call.operation
  return createError(UnexpectedResponseError, record, {
    // It can name a key of the response.
    message: `${id} received an unusable response (${response.status}): ${redact(message, record.secrets)}.`,
    hint: hint ?? (isCustom(record.call.operation) ? customHints[reason] : undefined) ?? responseHints[reason],
    isConfiguration: reason !== 'not-json' || hint !== undefined,
    outcome: 'unknown',
    // A gateway might have replaced or cut off the body once.
    remedy: reason === 'not-json' ? 'retry' : 'fix',
    reason,
    response: response.info,
  })
}

/** Hints for operations that the caller defined. */
const customHints: Partial<Record<UnexpectedResponseReason, string>> = {
  envelope: 'Make sure that the `envelope` of the operation describes the response, for example "list" or "bare".',
  schema: 'Make sure that the `response` schema of the operation describes the response.',
}

const responseHints: Readonly<Record<UnexpectedResponseReason, string>> = {
  redirect: 'Redirects are not followed, to protect the token. Set `baseUrl` to the final address of the service.',
  'not-json': 'The response may have been cut off. Try again.',
  envelope: 'Make sure that `baseUrl` is the API. If the service has changed, update this package.',
  schema: 'Use `validation: "observe"` to accept the data as sent, and report the mismatch.',
  'too-large': 'Request fewer items with `limit`, or raise `maxResponseBytes`.',
}

/** The functions of the caller that are called before an attempt, and what their failure means. */
const callerParts = {
  'token provider': 'there was no access token',
  'headers function': 'there were no headers',
  'rate limiter': 'the rate limiter failed',
  journal: 'the journal failed',
}

export type CallerPart = keyof typeof callerParts

/**
 * Returns the error of the call when a function of the caller has thrown. Before the first request, this is the thrown
 * error. Later, the thrown error is the cause.
 */
export function callerError(record: CallRecord, thrown: unknown, part: CallerPart): unknown {
  const isOurs = record.isOwnError(thrown) || record.clock.isEnd(thrown)
  return isOurs || record.sent === 0 ? thrown : couldNotRetryError(record, thrown, part)
}

/**
 * Creates the error when a function of the caller fails before a retry. Its error becomes the cause. If this error is
 * from the package, its hint and remedy can say that another try is useless, for example because the connection was
 * removed.
 */
function couldNotRetryError(record: CallRecord, cause: unknown, part: CallerPart): RequestError {
  const { hint, remedy } = isLasting(cause)
    ? cause
    : { hint: `Check the ${part}, then try again.`, remedy: 'retry' as const }
  const problem = safeCause(cause, record.secrets).message.replace(hint, '').replace(/\. *$/, '')
  return createError(RequestError, record, {
    message: `${record.call.operation.id} failed and could not be retried, because ${callerParts[part]}: ${problem}.`,
    hint,
    outcome: 'not-sent',
    remedy,
    cause,
  })
}
