import isNetworkError from 'is-network-error'
import {
  type Attempt,
  NetworkError,
  type Outcome,
  RateLimitError,
  RequestError,
  type ResponseInfo,
  TimeoutError,
  UnexpectedResponseError,
  type UnexpectedResponseReason,
} from '../errors/index.ts'
import { isError, safeCause } from '../errors/redact.ts'
import type { Operation } from '../operation.ts'
import type { TimeLimit } from './call-clock.ts'
import { isConnectError } from './connect-error.ts'
import { errorClassFor, errorFromResponse, hintFor, type ResponseFacts } from './error-from-response.ts'
import { BadFetch } from './response.ts'
import type { FailedAttempt } from './retry.ts'

/** The facts of an error once no attempt follows. */
interface CallFacts {
  readonly outcome: Outcome
  readonly attempts: readonly Attempt[]
}

/** What is known of a failed attempt, and how to make the error of the call from it. */
interface FailureFacts extends FailedAttempt {
  /** The name of the error, for hooks and the list of attempts. */
  readonly name: string
  readonly response?: ResponseInfo | undefined
  toError(facts: CallFacts): RequestError
}

/** A failed attempt. The steps of an attempt throw it; the transport retries, or throws the error it makes. */
export class AttemptFailure implements FailureFacts {
  readonly name: string
  readonly outcome: Outcome
  readonly status: number | undefined
  readonly retryAfter: number | undefined
  readonly networkFault: boolean
  readonly response: ResponseInfo | undefined
  readonly toError: FailureFacts['toError']

  constructor({ name, outcome, status, retryAfter, networkFault, response, toError }: FailureFacts) {
    this.name = name
    this.outcome = outcome
    this.status = status
    this.retryAfter = retryAfter
    this.networkFault = networkFault
    this.response = response
    this.toError = toError
  }
}

/** How far a request got before it broke. */
interface SendFacts {
  readonly url: string
  /** Whether the platform's own `fetch` sent it, not a function of the caller's. */
  readonly isPlatformFetch: boolean
  readonly sent: boolean
  /** There when a response had begun. */
  readonly response: ResponseInfo | undefined
}

/** `fetch` rejected, or the body broke off. */
export function networkFailure(
  operation: Operation,
  thrown: unknown,
  secrets: readonly string[],
  { url, isPlatformFetch, sent, response }: SendFacts,
): AttemptFailure {
  const cause = safeCause(thrown, secrets)
  const isBug = !isPlatformFetch && response === undefined && isMistake(thrown)
  const notSent = !sent || (isPlatformFetch && response === undefined && isConnectError(thrown, url))
  const what = isBug
    ? 'failed in the `fetch` option'
    : response === undefined
      ? 'received no response'
      : 'failed because the response was cut off'
  return new AttemptFailure({
    name: NetworkError.kind,
    outcome: notSent ? 'not-sent' : 'unknown',
    networkFault: !isBug && !(thrown instanceof BadFetch),
    response,
    toError: (context) =>
      new NetworkError(`${operation.id} ${what}: ${deepest(cause).message.replace(/\.$/, '')}.`, {
        operation: operation.id,
        cause,
        ...context,
        hint:
          context.outcome === 'not-sent'
            ? 'Nothing was sent: check the network and `baseUrl`, then try again.'
            : hintFor(operation, context.outcome, isBug ? 'Fix that function.' : 'Check the network, then try again.'),
      }),
  })
}

/** Whether a function of the caller is broken, so that it would fail the same way each time. Network errors are TypeErrors too. */
function isMistake(thrown: unknown): boolean {
  if (thrown instanceof BadFetch) return true
  if (isNetworkError(thrown) || !isError(thrown) || thrown.cause !== undefined || 'code' in thrown) return false
  return ['TypeError', 'ReferenceError', 'SyntaxError', 'RangeError'].includes(thrown.name)
}

/** A time limit ran out. */
export function timeoutFailure(
  operation: Operation,
  { limit, timeout }: TimeLimit,
  sent: boolean,
  response?: ResponseInfo,
): AttemptFailure {
  return new AttemptFailure({
    name: TimeoutError.kind,
    outcome: sent ? 'unknown' : 'not-sent',
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
              ? 'Nothing was sent: check what the token provider is waiting for, or allow more time, then try again.'
              : hintFor(operation, context.outcome, 'Try again, or allow more time.'),
        },
      ),
  })
}

/** The service responded with an error status. */
export function apiFailure(facts: ResponseFacts): AttemptFailure {
  const { response, body, retryAfter } = facts
  const { status } = response
  const ErrorClass = errorClassFor(status, body.code)
  return new AttemptFailure({
    name: ErrorClass.kind,
    // A 408 and a 5xx may come from a proxy, after the service has acted; a 3xx is no refusal.
    outcome: status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown',
    status,
    response,
    retryAfter,
    networkFault: false,
    toError: (context) => errorFromResponse(ErrorClass, { ...facts, ...context }),
  })
}

/** The call would have to wait for the rate limit longer than it may. Nothing was sent. */
export function rateLimitFailure(operation: Operation, wait: number): AttemptFailure {
  return new AttemptFailure({
    name: RateLimitError.kind,
    outcome: 'not-sent',
    networkFault: false,
    toError: (context) =>
      new RateLimitError(`${operation.id} was not sent: the service has asked this client to slow down.`, {
        operation: operation.id,
        status: 429,
        code: undefined,
        description: undefined,
        retryAfter: Math.ceil(wait / 1000),
        ...context,
        hint: 'Try again after `retryAfter` seconds, or allow the call to wait: see `totalTimeout` and `maxRetries`.',
      }),
  })
}

/** The answer is not one that the service documents. */
export function unexpectedFailure(
  operation: Operation,
  response: ResponseInfo,
  reason: UnexpectedResponseReason,
  what: string,
): AttemptFailure {
  return new AttemptFailure({
    name: UnexpectedResponseError.kind,
    outcome: 'unknown',
    status: response.status,
    response,
    networkFault: false,
    toError: (context) =>
      new UnexpectedResponseError(`${operation.id} got an answer that cannot be used (${response.status}): ${what}.`, {
        operation: operation.id,
        reason,
        response,
        ...context,
        hint: [hintFor(operation, context.outcome, ''), hints[reason]].join(' ').trim(),
      }),
  })
}

const hints: Readonly<Record<UnexpectedResponseReason, string>> = {
  redirect: 'The token is not carried elsewhere: set `baseUrl` to the final address of the service.',
  'not-json': 'Check that `baseUrl` is the API and that no proxy or login page answers for it.',
  envelope: 'Check that `baseUrl` is the API; if the service has changed, update this package.',
  schema: 'Use `validation: "observe"` to take the data as sent, and report the difference.',
  'too-large': 'Ask for fewer items with `limit`, or raise `maxResponseBytes`.',
}

/** There is no token for the retry of a request that was sent. What the provider threw becomes the cause. */
export function noTokenFailure(operation: Operation, thrown: unknown): Pick<AttemptFailure, 'outcome' | 'toError'> {
  const cause = safeCause(thrown)
  return {
    outcome: 'not-sent',
    toError: (context) =>
      new RequestError(
        `${operation.id} failed and could not be retried, because there was no access token: ${cause.message.replace(/\.$/, '')}.`,
        {
          operation: operation.id,
          cause,
          ...context,
          hint: hintFor(operation, context.outcome, 'Check the token provider, then try again.'),
        },
      ),
  }
}

function deepest(error: Error): Error {
  return error.cause instanceof Error ? deepest(error.cause) : error
}
