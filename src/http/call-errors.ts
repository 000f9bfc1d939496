import {
  ActorSelfRequiredError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  CursorRejectedError,
  InsufficientScopeError,
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
} from '../errors/index.ts'
import { innermost, redact, safeCause, withoutSecrets } from '../errors/redact.ts'
import type { RequestErrorDetails } from '../errors/request-error.ts'
import type { Operation } from '../operation.ts'
import type { CallRecord } from './call-record.ts'
import type { FetchFault } from './connect-error.ts'
import type { ErrorBody } from './envelope.ts'
import type { ResponseHead, UnusableResponse } from './response.ts'
import { longestRetryAfter } from './retry.ts'

/** What every error is created with. The rest follows from the call. */
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
  { message, hint, isConfiguration, outcome: last, remedy, cause }: Failure,
  details: Omit<Details, keyof RequestErrorDetails>,
): RequestError {
  const { attempts, secrets } = record
  const { operation } = record.call
  const outcome = record.outcomeAfter(last)
  const needsCheck = outcome === 'unknown' && !canRepeat(operation, remedy)
  return new ErrorClass(withoutSecrets(message, secrets), {
    operation: withoutSecrets(operation.id, secrets),
    outcome,
    remedy: needsCheck ? 'verify' : remedy,
    attempts,
    hint: needsCheck ? `${checkFirst}${isConfiguration ? ` ${hint}` : ''}` : hint,
    ...(cause !== undefined && { cause: safeCause(cause, secrets) }),
    ...details,
  } as unknown as Details)
}

const checkFirst = 'The write may have been applied. Check before retrying it.'

/** Deleting twice is the same as deleting once (RFC 9110, section 9.2.2). PUT is not used by the service. */
function canRepeat({ method }: Operation, remedy: Remedy): boolean {
  return method === 'DELETE' && remedy === 'retry'
}

/** What is known of an error response. */
export interface Refusal {
  readonly response: ResponseHead
  readonly body: ErrorBody
  /** Whether the request was for the page of a cursor. */
  readonly hasCursor: boolean
  /** The scopes of the token, if known. */
  readonly grantedScopes: readonly string[] | undefined
  /** Requested delay, in milliseconds. */
  readonly retryAfter: number | undefined
}

/** Creates the error for an error response. */
export function refusedError(record: CallRecord, refusal: Refusal, cause?: unknown): RequestError {
  const { operation } = record.call
  const { response, body, grantedScopes, retryAfter } = refusal
  const { status } = response
  const ErrorClass = classFor(refusal)
  const reason = `${body.code === undefined ? '' : ` ${body.code}`}${
    body.description === undefined ? '' : `: ${body.description.replace(/[.\s]+$/, '')}`
  }`
  const failure: Failure = {
    message: `${operation.id} failed with ${status}${reason}.`,
    hint: ErrorClass === CursorRejectedError ? cursorHint : refusalHint(operation, refusal),
    // A 408 or 5xx can come from a proxy after the service has acted. A 3xx does not reject the request.
    outcome: status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown',
    remedy: refusalRemedy(status, ErrorClass),
    cause,
  }
  const details = { response: response.info, status, ...body, retryAfter: toSeconds(retryAfter) }
  if (ErrorClass !== InsufficientScopeError) return create(ErrorClass, record, failure, details)
  const required = operation.scope === undefined ? [] : [operation.scope]
  return create(InsufficientScopeError, record, failure, { ...details, required, granted: grantedScopes })
}

/** Returns the error class for an error response. The code takes precedence, because it is more specific. */
function classFor({ response: { status }, body: { code }, hasCursor }: Refusal): typeof ApiError {
  if (code === 'actor_self_required') return ActorSelfRequiredError
  if (code === 'insufficient_scope') return InsufficientScopeError as typeof ApiError
  if (hasCursor && cursorRefusals.has(status)) return CursorRejectedError
  return byStatus[status] ?? (status >= 500 ? ServerError : ApiError)
}

/** The status for a rejected cursor is not documented. These reject a request for its parameters, or for its length. */
const cursorRefusals: ReadonlySet<number> = new Set([400, 410, 414, 422, 431])

const byStatus: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  422: UnprocessableError,
  429: RateLimitError,
}

function refusalRemedy(status: number, ErrorClass: typeof ApiError): Remedy {
  if (status === 401 || ErrorClass === InsufficientScopeError) return 'reconnect'
  return status === 408 || status === 429 || status >= 500 ? 'retry' : 'fix'
}

const actorHint = 'Log in with actor "self" and use that token.'

const cursorHint =
  'The service no longer accepts the cursor: it may have expired, or belong to another list or query. How long a cursor is valid is not documented. Start over without it; `onRejectedCursor: "restart"` does so if the first request is refused.'

function refusalHint(operation: Operation, { response: { status }, body, retryAfter }: Refusal): string {
  if (body.code === 'actor_self_required') return actorHint
  if (body.code === 'insufficient_scope') {
    const scope = operation.scope === undefined ? 'the missing scope' : `"${operation.scope}"`
    return `Log in again and ask for ${scope} in addition to the scopes you already have; a role without admin rights may not get it.`
  }
  if (operation.evidence === 'inferred' && mayLackPath(operation, status, body)) {
    return `The path ${operation.method} ${operation.path} is inferred, not documented: if yours differs, describe it with \`defineOperation\` and call it with \`workspace.call\`.`
  }
  if (status === 404 && !operation.path.includes('{')) return 'Check `baseUrl`: the service has no such path.'
  if (status === 429) {
    return retryAfter === undefined
      ? 'Call less often, or raise `maxRetries`.'
      : 'Try again after `retryAfter` seconds.'
  }
  const otherwise = status >= 500 ? 'Try again later.' : 'Check the documentation of the service for this status.'
  return statusHints[status] ?? otherwise
}

/**
 * Whether the service may not have the path at all. A 404 that describes what is missing comes from a service that has
 * it; a plain "Not Found" may come from its router.
 */
function mayLackPath({ path }: Operation, status: number, { description }: ErrorBody): boolean {
  if (status !== 404) return status === 405
  if (description === undefined || !path.includes('{')) return true
  return /^\W*(404\W+)?((page|path|route|resource|url)\W+)?(was )?not found\W*$/i.test(description)
}

const statusHints: Readonly<Record<number, string>> = {
  400: 'Check the arguments of the call.',
  401: 'The token is missing, invalid, expired or revoked: log in again for a new one.',
  403: 'The token or its user lacks the permission. Use one that has it.',
  404: 'Check the id, and that it belongs to the organization of the token.',
  408: 'Try again later.',
  422: 'Check the fields of the body. The service rejected their values.',
}

/** Creates the error for a call that a client with `actor: 'app'` refuses to send. */
export function actorSelfRequired(record: CallRecord): RequestError {
  const failure: Failure = {
    message: `${record.call.operation.id} authors content, but the actor of this client is "app".`,
    hint: actorHint,
    outcome: 'not-sent',
    remedy: 'fix',
  }
  return create(ActorSelfRequiredError, record, failure, {
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
  const message = `${record.call.operation.id} ${isBug ? 'failed in the `fetch` option' : what}${reason && `: ${reason}`}.`
  const notSent = 'Nothing was sent. Check the network and `baseUrl`, then try again.'
  const sent = isBug ? 'Fix that function.' : 'Check the network, then try again.'
  const hint = fault.hint ?? (record.outcomeAfter(outcome) === 'not-sent' ? notSent : sent)
  return create(NetworkError, record, { message, hint, outcome, remedy, cause }, {})
}

/** Creates the error when a time limit expires. */
export function timeoutError(
  record: CallRecord,
  { limit, isSent }: { readonly limit: 'attempt' | 'total'; readonly isSent: boolean },
): RequestError {
  const timeout = record.call.settings[limit === 'total' ? 'totalTimeout' : 'timeout']
  const failure: Failure = {
    message: `${record.call.operation.id} took longer than ${limit === 'total' ? 'its total limit of ' : ''}${timeout} ms.`,
    hint: isSent
      ? 'Try again, or raise the timeout.'
      : `${record.attempts.length === 0 ? 'Nothing was sent. ' : ''}Check what the token provider or the rate limiter is waiting for, or raise the timeout.`,
    outcome: isSent ? 'unknown' : 'not-sent',
    remedy: 'retry',
  }
  return create(TimeoutError, record, failure, { limit, timeout })
}

/**
 * Creates the error when a call cannot wait for the rate limit.
 *
 * @param wait in milliseconds
 */
export function heldBackError(record: CallRecord, wait: number): RequestError {
  const what = record.attempts.length === 0 ? 'was not sent' : 'failed and was not retried'
  const failure: Failure = {
    message: `${record.call.operation.id} ${what}: the service has asked this client to slow down.`,
    hint: 'Try again after `retryAfter` seconds, or let the call wait with a longer `totalTimeout` and `maxRetries` above 0.',
    outcome: 'not-sent',
    remedy: 'retry',
  }
  const retryAfter = toSeconds(Math.min(wait, longestRetryAfter))
  return create(RateLimitError, record, failure, { status: 429, code: undefined, description: undefined, retryAfter })
}

function toSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.ceil(milliseconds / 1000)
}

/** Creates the error for a response that cannot be used. */
export function unusableError(record: CallRecord, response: ResponseHead, unusable: UnusableResponse): RequestError {
  const { reason } = unusable
  // It may name a key of the response.
  const problem = redact(unusable.message, record.secrets)
  const failure: Failure = {
    message: `${record.call.operation.id} received an unusable response (${response.status}): ${problem}.`,
    hint: unusable.hint ?? (record.call.isOwn ? ownHints[reason] : undefined) ?? responseHints[reason],
    isConfiguration: reason !== 'not-json' || unusable.hint !== undefined,
    outcome: 'unknown',
    // A gateway may have replaced or cut off the body once.
    remedy: reason === 'not-json' ? 'retry' : 'fix',
  }
  return create(UnexpectedResponseError, record, failure, { reason, response: response.info })
}

/** Hints for operations that the caller defined. */
const ownHints: Partial<Record<UnexpectedResponseReason, string>> = {
  envelope: 'Check that the `envelope` of the operation describes the response, for example "list" or "bare".',
  schema: 'Check that the `response` schema of the operation describes the response.',
}

const responseHints: Readonly<Record<UnexpectedResponseReason, string>> = {
  redirect: 'Redirects are not followed, to protect the token. Set `baseUrl` to the final address of the service.',
  'not-json': 'The response may have been cut off. Try again.',
  envelope: 'Check that `baseUrl` is the API. If the service has changed, update this package.',
  schema: 'Use `validation: "observe"` to accept the data as sent, and report the mismatch.',
  'too-large': 'Request fewer items with `limit`, or raise `maxResponseBytes`.',
}

/** The functions of the caller that are called before an attempt. */
export type CallerPart = 'token provider' | 'rate limiter'

/** Creates the error when a function of the caller fails before a retry. Its error becomes the cause. */
export function couldNotRetryError(record: CallRecord, cause: unknown, part: CallerPart): RequestError {
  const reason = part === 'token provider' ? 'there was no access token' : 'the rate limiter failed'
  const { message } = safeCause(cause, record.secrets)
  const failure: Failure = {
    message: `${record.call.operation.id} failed and could not be retried, because ${reason}: ${message.replace(/\.$/, '')}.`,
    hint: `Check the ${part}, then try again.`,
    outcome: 'not-sent',
    remedy: 'retry',
    cause,
  }
  return create(RequestError, record, failure, {})
}
