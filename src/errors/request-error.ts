import { type ErrorDetails, SupportWorkspaceError } from './support-workspace-error.ts'

/**
 * Whether a failed call might have had an effect.
 *
 * - `not-sent`: the service received no request. A retry is safe.
 * - `refused`: the service rejected the request, so the call had no effect.
 * - `no-effect`: a read failed after it was sent. A retry is safe.
 * - `unknown`: the write is unconfirmed, because the service may or may not have applied it. Check before you retry.
 */
export type Outcome = 'not-sent' | 'refused' | 'no-effect' | 'unknown'

/** An attempt of a failed call, for logs. */
export interface Attempt {
  /** Start time, in milliseconds since the Unix epoch. */
  readonly startedAt: number
  /** Duration, in milliseconds. */
  readonly duration: number
  /** The HTTP status, if a response was received. */
  readonly status?: number
  /** The name of the error. */
  readonly error?: string
  /** Delay before the retry, in milliseconds, if there was one. */
  readonly wait?: number
}

/** Status, headers and request id of a response. */
export interface ResponseInfo {
  /** The HTTP status. */
  readonly status: number
  /** A copy of the headers, without cookies. */
  readonly headers: Headers
  /** The value of `x-request-id` or `request-id`, if the service sent one. */
  readonly requestId: string | undefined
}

/** The constructor arguments of a `RequestError`, besides the message. */
export type RequestErrorDetails = ErrorDetails &
  Pick<RequestError, 'operation' | 'outcome' | 'remedy'> &
  Partial<Pick<RequestError, 'attempts'>>

/**
 * The base class of the errors of a call, with its operation, outcome and attempts.
 *
 * @example
 * await workspace.messages.create(conversationId, { body_html: '<p>Hello</p>' }).catch((error: unknown) => {
 *   if (!(error instanceof RequestError) || error.remedy !== 'verify') throw error
 *   console.log('Check whether the message is there before you send it again.')
 * })
 */
export class RequestError extends SupportWorkspaceError {
  static override readonly kind: string = 'RequestError'

  /** The id of the operation, for example `conversations.list`. */
  readonly operation: string
  /** Whether the call might have had an effect. */
  readonly outcome: Outcome
  /** The failed attempts, in order. Empty if the call failed before its first request, or after a successful one. */
  readonly attempts: readonly Attempt[]

  constructor(message: string, details: RequestErrorDetails) {
    super(message, details)
    this.operation = details.operation
    this.outcome = details.outcome
    this.attempts = details.attempts ?? []
  }
}

/**
 * The connection could not be opened, or failed before the response was complete. `outcome` tells whether the request
 * might have arrived.
 */
export class NetworkError extends RequestError {
  static override readonly kind: string = 'NetworkError'
}

/** The constructor arguments of a `TimeoutError`, besides the message. */
export type TimeoutErrorDetails = RequestErrorDetails & Pick<TimeoutError, 'limit' | 'timeout'>

/** A timeout expired before the response, including its body, was complete. */
export class TimeoutError extends RequestError {
  static override readonly kind: string = 'TimeoutError'

  /** Which timeout expired: `attempt` for `timeout` (a step of an attempt), `total` for `totalTimeout` (the whole call). */
  readonly limit: 'attempt' | 'total'
  /** The timeout, in milliseconds. */
  readonly timeout: number

  constructor(message: string, details: TimeoutErrorDetails) {
    super(message, details)
    this.limit = details.limit
    this.timeout = details.timeout
  }
}

/**
 * The service returned the same cursor twice, so paging would never end. The list has already returned the items of all
 * pages before.
 */
export class PaginationError extends RequestError {
  static override readonly kind: string = 'PaginationError'
}

/**
 * Why a response cannot be used:
 *
 * - `redirect`: the response is a redirect. Redirects are never followed, to protect the token.
 * - `not-json`: the body is HTML, empty, cut off, or otherwise unreadable as JSON in UTF-8.
 * - `envelope`: the JSON lacks the documented `data`, or `page_metadata` has the wrong type.
 * - `schema`: a field has the wrong type, in `strict` validation or with your own schema.
 * - `too-large`: the body exceeds `maxResponseBytes`.
 */
export type UnexpectedResponseReason = 'redirect' | 'not-json' | 'envelope' | 'schema' | 'too-large'

/** The constructor arguments of an `UnexpectedResponseError`, besides the message. */
export type UnexpectedResponseDetails = RequestErrorDetails & Pick<UnexpectedResponseError, 'reason' | 'response'>

/** The response differs from the documents. The error does not contain the body. */
export class UnexpectedResponseError extends RequestError {
  static override readonly kind: string = 'UnexpectedResponseError'

  /** Why the response cannot be used. */
  readonly reason: UnexpectedResponseReason
  /** The HTTP status. */
  readonly status: number
  /** Request id, if the service sent one. */
  readonly requestId: string | undefined
  /** Status and headers of the response. Not included in JSON. */
  declare readonly response: ResponseInfo

  constructor(message: string, details: UnexpectedResponseDetails) {
    super(message, details)
    this.reason = details.reason
    this.status = details.response.status
    this.requestId = details.response.requestId
    Object.defineProperty(this, 'response', { value: details.response })
  }
}
