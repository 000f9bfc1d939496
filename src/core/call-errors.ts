import {
  ActorSelfRequiredError,
  isLasting,
  NetworkError,
  type Outcome,
  RateLimitError,
  type Remedy,
  RequestError,
  TimeoutError,
} from '../errors/index.ts'
import { innermost, safeCause, withoutSecrets } from '../errors/redact.ts'
import type { RequestErrorDetails } from '../errors/request-error.ts'
import { actorHint } from '../shared/actor.ts'
import type { CallRecord } from './call-record.ts'
import type { FetchFault } from './fetch-error.ts'
import { longestRetryAfter, remedyAfter, seconds, toSeconds } from './retry.ts'

/** The details of an error, besides the properties of its class. The call record has the rest. */
interface CommonDetails {
  readonly message: string
  /** The next step. For an unconfirmed write, it is used only if it is about the configuration. */
  readonly hint: string
  readonly isConfiguration?: boolean
  /** The outcome of the last attempt. */
  readonly outcome: Outcome
  /** What the reason of the failure suggests to do. `remedyAfter` decides. */
  readonly remedy: Remedy
  readonly cause?: unknown
}

/** Creates the error of a call, and removes secrets from its message. */
export function createError<Details extends RequestErrorDetails>(
  ErrorClass: new (message: string, details: Details) => RequestError,
  record: CallRecord,
  { message, hint, isConfiguration, cause, ...failure }: CommonDetails & Omit<Details, keyof RequestErrorDetails>,
): RequestError {
  const { attempts, secrets } = record
  const { operation } = record.call
  const outcome = record.outcomeAfter(failure.outcome)
  const remedy = remedyAfter(operation.method, outcome, failure.remedy)
  const needsCheck = remedy === 'verify'
  const details = {
    ...failure,
    operation: withoutSecrets(operation.id, secrets),
    outcome,
    remedy,
    attempts,
    hint: withoutSecrets(needsCheck ? `${checkFirst}${isConfiguration ? ` ${hint}` : ''}` : hint, secrets),
    ...(cause !== undefined && { cause: safeCause(cause, secrets) }),
  }
  const error = new ErrorClass(withoutSecrets(message, secrets), details as unknown as Details)
  record.addError(error)
  return error
}

const checkFirst = 'The write may have been applied. Check before retrying it.'

/** Creates the error for a call that a client with `actor: 'app'` does not send. */
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
      : `${nothing}Check what the token provider, the headers function, the rate limiter or a hook is waiting for, or raise the timeout.`,
    outcome: isSent ? 'unknown' : 'not-sent',
    remedy: 'retry',
    limit,
    timeout,
  })
}

/** Returns the error of a call whose total time ended outside of a request. Any other error stays the same. */
export function withTotalTimeout(record: CallRecord, thrown: unknown): unknown {
  const { clock } = record
  const isLate = clock.end?.isLate === true && clock.isEnd(thrown)
  return isLate ? timeoutError(record, { limit: 'total', isSent: false }) : thrown
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
export function cannotWaitError(record: CallRecord, wait: number): RequestError {
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
export function callerError(record: CallRecord, cause: unknown, part: CallerPart): unknown {
  if (record.isOwnError(cause) || record.clock.isEnd(cause) || record.sent === 0) return cause
  // An error of this package can say that another try is useless, for example because the connection was removed.
  const advice = { hint: `Check the ${part}, then try again.`, remedy: 'retry' } as const
  const { hint, remedy } = isLasting(cause) ? cause : advice
  const problem = safeCause(cause, record.secrets).message.replace(hint, '').replace(/\. *$/, '')
  return createError(RequestError, record, {
    message: `${record.call.operation.id} failed and could not be retried, because ${callerParts[part]}: ${problem}.`,
    hint,
    outcome: 'not-sent',
    remedy,
    cause,
  })
}
