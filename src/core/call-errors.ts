import type { InsufficientScopeDetails } from '../shared/errors/api-error.ts'
import {
  ActorSelfRequiredError,
  AlreadyExistsError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  CursorRejectedError,
  InsufficientScopeError,
  isLasting,
  NetworkError,
  NotFoundError,
  type Outcome,
  PermissionDeniedError,
  RateLimitError,
  type Remedy,
  RequestError,
  ServerError,
  TimeoutError,
  UnexpectedResponseError,
  type UnexpectedResponseReason,
  UnprocessableError,
} from '../shared/errors/index.ts'
import { innermost, redact, safeCause, withoutSecrets } from '../shared/errors/redact.ts'
import type { RequestErrorDetails } from '../shared/errors/request-error.ts'
import type { CallRecord } from './call-record.ts'
import type { ErrorBody } from './envelope.ts'
import type { FetchFault } from './fetch-error.ts'
import type { Operation } from './operation.ts'
import type { ResponseHead, UnusableResponse } from './response.ts'
import { longestRetryAfter } from './retry.ts'

/** What an error is created with, beside the properties of its class. The rest follows from the call. */
interface Failure {
  readonly message: string
  /** The next step. If a write may have been applied, it only follows where it is about the configuration. */
  readonly hint: string
  readonly isConfiguration?: boolean
  /** The outcome of the last attempt. */
  readonly outcome: Outcome
  /** What to do about it, unless a write may have been applied. */
  readonly remedy: Remedy
  readonly cause?: unknown
}

/** Creates the error of a call. Every message passes here, so that none holds a secret. */
function create<Details extends RequestErrorDetails>(
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
  return new ErrorClass(withoutSecrets(message, secrets), details as unknown as Details)
}

const checkFirst = 'The write may have been applied. Check before retrying it.'

/** What is known of an error response. */
export interface Refusal {
  readonly response: ResponseHead
  readonly body: ErrorBody
  /** Whether the request was for the page of a cursor. */
  readonly hasCursor: boolean
  /** Requested delay, in milliseconds. */
  readonly retryAfter: number | undefined
}

/** Creates the error for an error response. */
export function refusedError(record: CallRecord, refusal: Refusal, cause: unknown): RequestError {
  const { operation } = record.call
  const { response, body, retryAfter } = refusal
  const { status } = response
  const [ErrorClass, remedy, step] = meaningOf(refusal, operation)
  const code = body.code === undefined ? '' : ` ${body.code}`
  const description = body.description === undefined ? '' : `: ${body.description.replace(/[.\s]+$/, '')}`
  return create<InsufficientScopeDetails>(ErrorClass as typeof InsufficientScopeError, record, {
    message: `${operation.id} failed with ${status}${code}${description}.`,
    hint: body.isHtml ? `The response is HTML, so a proxy or another server sent it. ${step}` : step,
    // A 408 or 5xx can come from a proxy after the service has acted. A 3xx does not reject the request.
    outcome: status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown',
    remedy,
    cause,
    response: response.info,
    status,
    code: body.code,
    description: body.description,
    retryAfter: toSeconds(retryAfter),
    required: operation.scope === undefined ? [] : [operation.scope],
    granted: record.settings.scopes,
  })
}

/** The class of an error response, what to do about it, and the next step. */
type Meaning = readonly [ErrorClass: typeof ApiError, remedy: Remedy, hint: string]

/** The code takes precedence, because it is more specific. */
function meaningOf({ response: { status }, body, hasCursor, retryAfter }: Refusal, operation: Operation): Meaning {
  if (body.code === 'actor_self_required') return [ActorSelfRequiredError, 'fix', actorHint]
  if (body.code === 'insufficient_scope') {
    const scope = operation.scope === undefined ? 'the missing scope' : `"${operation.scope}"`
    const hint = `Log in again and ask for ${scope} in addition to the scopes you already have; a role without admin rights may not get it.`
    return [InsufficientScopeError as typeof ApiError, 'reconnect', hint]
  }
  if (hasCursor && cursorRefusals.has(status)) return [CursorRejectedError, 'fix', cursorHint]
  if (operation.method === 'POST' && saysExists(status, body.code)) return [AlreadyExistsError, 'fix', existsHint]
  const meaning = byStatus[status] ?? (status >= 500 ? serverError : otherStatus)
  const [ErrorClass, remedy] = meaning
  if (operation.evidence === 'inferred' && mayLackPath(operation, status, body)) {
    const path = `${operation.method} ${operation.path}`
    const hint = `The path ${path} is inferred, not documented: if yours differs, describe it with \`defineOperation\` and call it with \`workspace.call\`.`
    return [ErrorClass, remedy, hint]
  }
  if (status === 404 && !operation.path.includes('{')) {
    return [ErrorClass, remedy, 'Check `baseUrl`: the service has no such path.']
  }
  return remedy === 'retry' && retryAfter ? [ErrorClass, remedy, `Try again after ${seconds(retryAfter)}.`] : meaning
}

const byStatus: Readonly<Record<number, Meaning>> = {
  400: [BadRequestError, 'fix', 'Check the arguments of the call.'],
  401: [AuthenticationError, 'reconnect', 'Log in again for a new token.'],
  403: [PermissionDeniedError, 'fix', 'The token or its user lacks the permission. Use one that has it.'],
  404: [NotFoundError, 'fix', 'Check the id, and that it belongs to the organization of the token.'],
  408: [ApiError, 'retry', 'Try again later.'],
  422: [UnprocessableError, 'fix', 'Check the fields of the body. The service rejected their values.'],
  429: [RateLimitError, 'retry', 'Call less often, or raise `maxRetries`.'],
}

const serverError: Meaning = [ServerError, 'retry', 'Try again later.']
const otherStatus: Meaning = [ApiError, 'fix', 'Check the documentation of the service for this status.']

/** The status for a rejected cursor is not documented. These reject a request for its parameters, or for its length. */
const cursorRefusals: ReadonlySet<number> = new Set([400, 410, 414, 422, 431])

/** Inferred: no document says how the service refuses what is already there. */
function saysExists(status: number, code = ''): boolean {
  return status === 409 || (status < 500 && /(^|_)(already_exists|duplicate|taken)(_|$)/i.test(code))
}

const existsHint = 'Look for the existing one, which may differ from what was sent. That it exists is inferred.'

const actorHint = 'Log in with actor "self" and use that token.'

const cursorHint =
  'The service no longer accepts the cursor: it may have expired, or belong to another list or query. How long a cursor is valid is not documented. Start over without it; `onRejectedCursor: "restart"` does so if the first request is refused.'

/**
 * Whether the service may not have the path at all. A 404 that describes what is missing comes from a service that has
 * it; a plain "Not Found" may come from its router.
 */
function mayLackPath({ path }: Operation, status: number, { description }: ErrorBody): boolean {
  if (status !== 404) return status === 405
  if (description === undefined || !path.includes('{')) return true
  return /^\W*(404\W+)?((page|path|route|resource|url)\W+)?(was )?not found\W*$/i.test(description)
}

/** Creates the error for a call that a client with `actor: 'app'` refuses to send. */
export function actorSelfRequired(record: CallRecord): RequestError {
  return create(ActorSelfRequiredError, record, {
    message: `${record.call.operation.id} authors content, but the actor of this client is "app".`,
    hint: actorHint,
    outcome: 'not-sent',
    remedy: 'fix',
    status: 422,
    code: 'actor_self_required',
    description: undefined,
  })
}

/** What a rejection of `fetch`, or of the body of its response, means. */
interface NetworkFault extends FetchFault {
  /** Whether it is a bug in the `fetch` option. */
  readonly isBug: boolean
  readonly hasResponse: boolean
}

/** Creates the error when `fetch` rejects or the body is cut off. */
export function networkError(record: CallRecord, cause: unknown, fault: NetworkFault): RequestError {
  const { outcome, remedy, isBug, hasResponse } = fault
  const reason = innermost(safeCause(cause, record.secrets)).message.replace(/\.$/, '')
  const what = hasResponse ? 'failed because the response was cut off' : 'received no response'
  const isUnsent = record.outcomeAfter(outcome) === 'not-sent'
  const checkNetwork = `Check the network${isUnsent ? ', any proxy and `baseUrl`' : ''}, then try again.`
  const hint = fault.hint ?? (isBug ? 'Fix that function.' : checkNetwork)
  return create(NetworkError, record, {
    message: `${record.call.operation.id} ${isBug ? 'failed in the `fetch` option' : what}${reason && `: ${reason}`}.`,
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
  const timeout = record.call.settings[limit === 'total' ? 'totalTimeout' : 'timeout']
  const nothing = record.attempts.length === 0 ? 'Nothing was sent. ' : ''
  return create(TimeoutError, record, {
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
 * Creates the error when a call cannot wait for the rate limit.
 *
 * @param wait in milliseconds
 */
export function heldBackError(record: CallRecord, wait: number): RequestError {
  const what = record.attempts.length === 0 ? 'was not sent' : 'failed and was not retried'
  const retryAfter = Math.min(wait, longestRetryAfter)
  return create(RateLimitError, record, {
    message: `${record.call.operation.id} ${what}: the service has asked this client to slow down.`,
    hint: `Try again after ${seconds(retryAfter)}, or let the call wait with a longer \`totalTimeout\` and \`maxRetries\` above 0.`,
    outcome: 'not-sent',
    remedy: 'retry',
    status: 429,
    code: undefined,
    description: undefined,
    retryAfter: toSeconds(retryAfter),
  })
}

/** @param milliseconds rounded up to seconds, for a sentence */
function seconds(milliseconds: number): string {
  const count = Math.ceil(milliseconds / 1000)
  return count === 1 ? '1 second' : `${count} seconds`
}

function toSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.ceil(milliseconds / 1000)
}

/** Creates the error for a response that cannot be used. */
export function unusableError(record: CallRecord, response: ResponseHead, unusable: UnusableResponse): RequestError {
  const { reason, message, hint } = unusable
  const { id } = record.call.operation
  return create(UnexpectedResponseError, record, {
    // It may name a key of the response.
    message: `${id} received an unusable response (${response.status}): ${redact(message, record.secrets)}.`,
    hint: hint ?? (record.call.isOwn ? ownHints[reason] : undefined) ?? responseHints[reason],
    isConfiguration: reason !== 'not-json' || hint !== undefined,
    outcome: 'unknown',
    // A gateway may have replaced or cut off the body once.
    remedy: reason === 'not-json' ? 'retry' : 'fix',
    reason,
    response: response.info,
  })
}

/** Hints for operations that the caller defined. */
const ownHints: Partial<Record<UnexpectedResponseReason, string>> = {
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
  '`beforeSend` function': 'the `beforeSend` function failed',
}

export type CallerPart = keyof typeof callerParts

/**
 * Creates the error when a function of the caller fails before a retry. Its error becomes the cause. An error of this package
 * may know that another try is of no use, for example because the connection was removed.
 */
export function couldNotRetryError(record: CallRecord, cause: unknown, part: CallerPart): RequestError {
  const { hint, remedy } = isLasting(cause)
    ? cause
    : { hint: `Check the ${part}, then try again.`, remedy: 'retry' as const }
  const problem = safeCause(cause, record.secrets).message.replace(hint, '').replace(/\. *$/, '')
  return create(RequestError, record, {
    message: `${record.call.operation.id} failed and could not be retried, because ${callerParts[part]}: ${problem}.`,
    hint,
    outcome: 'not-sent',
    remedy,
    cause,
  })
}
