import isNetworkError from 'is-network-error'
import {
  type ApiError,
  type Attempt,
  InsufficientScopeError,
  NetworkError,
  type Outcome,
  RateLimitError,
  type Remedy,
  RequestError,
  TimeoutError,
  UnexpectedResponseError,
  type UnexpectedResponseReason,
} from '../errors/index.ts'
import { innermost, isError, safeCause } from '../errors/redact.ts'
import type { Operation } from '../operation.ts'
import type { TimeLimit } from './call-clock.ts'
import { classifyFetchError } from './connect-error.ts'
import { errorClassFor, errorFromResponse, hintFor, type ResponseFacts } from './error-from-response.ts'
import { BadFetch, type ResponseHead } from './response.ts'
import { type FailedAttempt, longestRetryAfter } from './retry.ts'

/** The outcome, remedy and attempts of a failed call. */
interface CallFacts {
  readonly outcome: Outcome
  readonly remedy: Remedy
  readonly attempts: readonly Attempt[]
}

/** The properties of a failed attempt, and how to create the error of the call. */
interface FailureFacts extends FailedAttempt {
  /** Error name, for hooks and the list of attempts. */
  readonly name: string
  /** What to do about it, unless a write may have been applied. */
  readonly remedy: Remedy
  readonly response?: ResponseHead | undefined
  toError(facts: CallFacts): RequestError
}

/** Thrown by the steps of an attempt. The transport retries, or throws the error that `toError` creates. */
export class AttemptFailure implements FailureFacts {
  readonly name: string
  readonly outcome: Outcome
  readonly remedy: Remedy
  readonly status: number | undefined
  readonly retryAfter: number | undefined
  readonly networkFault: boolean
  readonly response: ResponseHead | undefined
  readonly toError: FailureFacts['toError']

  constructor({ name, outcome, remedy, status, retryAfter, networkFault, response, toError }: FailureFacts) {
    this.name = name
    this.outcome = outcome
    this.remedy = remedy
    this.status = status
    this.retryAfter = retryAfter
    this.networkFault = networkFault
    this.response = response
    this.toError = toError
  }
}

/** A failure that is not an attempt. */
export type FailedCall = Pick<AttemptFailure, 'outcome' | 'remedy' | 'toError'>

/** How far a request got before it failed. */
interface SendFacts {
  readonly url: string
  /** Whether it was sent by the platform's `fetch` rather than a custom one. */
  readonly isPlatformFetch: boolean
  readonly sent: boolean
  /** Set if the headers of a response were received. */
  readonly response: ResponseHead | undefined
}

/** Creates the failure when `fetch` rejects or the body is cut off. */
export function networkFailure(
  operation: Operation,
  thrown: unknown,
  secrets: readonly string[],
  { url, isPlatformFetch, sent, response }: SendFacts,
): AttemptFailure {
  const cause = safeCause(thrown, secrets)
  const isBug = thrown instanceof BadFetch || (!isPlatformFetch && response === undefined && isMistake(thrown))
  const fault = classifyFetchError(thrown, url, isPlatformFetch && response === undefined)
  const remedy = isBug ? 'fix' : fault.remedy
  const what = isBug
    ? 'failed in the `fetch` option'
    : response === undefined
      ? 'received no response'
      : 'failed because the response was cut off'
  return new AttemptFailure({
    name: NetworkError.kind,
    outcome: sent ? fault.outcome : 'not-sent',
    remedy,
    networkFault: remedy === 'retry',
    response,
    toError: (context) =>
      new NetworkError(`${operation.id} ${what}: ${innermost(cause).message.replace(/\.$/, '')}.`, {
        operation: operation.id,
        cause,
        ...context,
        hint:
          context.outcome === 'not-sent'
            ? (fault.hint ?? 'Nothing was sent. Check the network and `baseUrl`, then try again.')
            : hintFor(operation, context.outcome, isBug ? 'Fix that function.' : 'Check the network, then try again.'),
      }),
  })
}

/** Whether an error of a custom fetch is a bug, so that a retry would not help. Network errors are TypeErrors too. */
function isMistake(thrown: unknown): boolean {
  try {
    if (isNetworkError(thrown) || !isError(thrown) || thrown.cause !== undefined || 'code' in thrown) return false
    return ['TypeError', 'ReferenceError', 'SyntaxError', 'RangeError'].includes(thrown.name)
  } catch {
    // A getter of the error threw.
    return false
  }
}

/** Creates the failure when a time limit expires. */
export function timeoutFailure(
  operation: Operation,
  { limit, timeout }: TimeLimit,
  sent: boolean,
  response?: ResponseHead,
): AttemptFailure {
  return new AttemptFailure({
    name: TimeoutError.kind,
    outcome: sent ? 'unknown' : 'not-sent',
    remedy: 'retry',
    networkFault: limit === 'attempt',
    response,
    toError: (context) =>
      new TimeoutError(
        `${operation.id} took longer than ${limit === 'total' ? 'its total limit of ' : ''}${timeout} ms.`,
        {
          operation: operation.id,
          limit,
          timeout,
          ...context,
          hint:
            context.outcome === 'not-sent'
              ? 'Nothing was sent. Check what the token provider or the rate limiter is waiting for, or raise the timeout.'
              : hintFor(operation, context.outcome, 'Try again, or raise the timeout.'),
        },
      ),
  })
}

/** Creates the failure for an error response. */
export function apiFailure(facts: ResponseFacts): AttemptFailure {
  const { response, retryAfter } = facts
  const { status } = response
  const ErrorClass = errorClassFor(facts)
  return new AttemptFailure({
    name: ErrorClass.kind,
    // A 408 or 5xx can come from a proxy after the service has acted. A 3xx does not reject the request.
    outcome: status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown',
    remedy: remedyFor(status, ErrorClass),
    status,
    response,
    retryAfter,
    networkFault: false,
    toError: (context) => errorFromResponse(ErrorClass, { ...facts, ...context }),
  })
}

function remedyFor(status: number, ErrorClass: typeof ApiError): Remedy {
  if (status === 401 || ErrorClass === InsufficientScopeError) return 'reconnect'
  return status === 408 || status === 429 || status >= 500 ? 'retry' : 'fix'
}

/** Creates the failure when a call cannot wait for the rate limit. Nothing was sent. */
export function rateLimitFailure(operation: Operation, wait: number): FailedCall {
  return {
    outcome: 'not-sent',
    remedy: 'retry',
    toError: (context) =>
      new RateLimitError(`${operation.id} was not sent: the service has asked this client to slow down.`, {
        operation: operation.id,
        status: 429,
        code: undefined,
        description: undefined,
        retryAfter: Math.ceil(Math.min(wait, longestRetryAfter) / 1000),
        ...context,
        hint: 'Try again after `retryAfter` seconds, or let the call wait with a longer `totalTimeout` and `maxRetries` above 0.',
      }),
  }
}

/** Creates the failure for a response that cannot be used. */
export function unexpectedFailure(
  operation: Operation,
  response: ResponseHead,
  reason: UnexpectedResponseReason,
  what: string,
): AttemptFailure {
  return new AttemptFailure({
    name: UnexpectedResponseError.kind,
    outcome: 'unknown',
    // A gateway may have replaced or cut off the body once.
    remedy: reason === 'not-json' ? 'retry' : 'fix',
    status: response.status,
    response,
    networkFault: false,
    toError: (context) =>
      new UnexpectedResponseError(`${operation.id} received an unusable response (${response.status}): ${what}.`, {
        operation: operation.id,
        reason,
        response: response.info,
        ...context,
        hint: [hintFor(operation, context.outcome, ''), nextStep(operation, reason)].join(' ').trim(),
      }),
  })
}

function nextStep({ evidence }: Operation, reason: UnexpectedResponseReason): string {
  return (evidence === undefined && ownHints[reason]) || hints[reason]
}

/** Hints for operations that the caller defined. */
const ownHints: Partial<Record<UnexpectedResponseReason, string>> = {
  envelope: 'Check that the `envelope` of the operation describes the response, for example "list" or "bare".',
  schema: 'Check that the `response` schema of the operation describes the response.',
}

const hints: Readonly<Record<UnexpectedResponseReason, string>> = {
  redirect: 'Redirects are not followed, to protect the token. Set `baseUrl` to the final address of the service.',
  'not-json': 'Check that `baseUrl` is the API, and that no proxy or login page responds instead.',
  envelope: 'Check that `baseUrl` is the API. If the service has changed, update this package.',
  schema: 'Use `validation: "observe"` to accept the data as sent, and report the mismatch.',
  'too-large': 'Request fewer items with `limit`, or raise `maxResponseBytes`.',
}

/** The functions of the caller that are called before an attempt. */
export type CallerPart = 'token provider' | 'rate limiter'

/** Creates the failure when a function of the caller fails before a retry. Its error becomes the cause. */
export function couldNotRetry(
  operation: Operation,
  thrown: unknown,
  part: CallerPart,
  secrets: readonly string[],
): FailedCall {
  const cause = safeCause(thrown, secrets)
  const reason = part === 'token provider' ? 'there was no access token' : 'the rate limiter failed'
  return {
    outcome: 'not-sent',
    remedy: 'retry',
    toError: (context) =>
      new RequestError(
        `${operation.id} failed and could not be retried, because ${reason}: ${cause.message.replace(/\.$/, '')}.`,
        {
          operation: operation.id,
          cause,
          ...context,
          hint: hintFor(operation, context.outcome, `Check the ${part}, then try again.`),
        },
      ),
  }
}
