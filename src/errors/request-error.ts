import type { WebHeaders } from '../web-types.ts'
import { type ErrorDetails, SupportWorkspaceError } from './support-workspace-error.ts'

/**
 * What is known of the effect of a failed request.
 *
 * - `not-sent`: the service cannot have seen it; sending it again is safe.
 * - `refused`: the service answered that it did not carry it out.
 * - `unknown`: it may or may not have taken effect; look before you send a write again.
 */
export type Outcome = 'not-sent' | 'refused' | 'unknown'

/** One attempt of a call, kept on the error for the reader of a log. */
export interface Attempt {
  /** When the attempt began, in ms since the epoch. */
  readonly startedAt: number
  /** How long it took, in ms. */
  readonly duration: number
  /** The HTTP status, when an answer came. */
  readonly status?: number
  /** The name of the error that ended it. */
  readonly error?: string
  /** How long the client waited after it, in ms, when it tried again. */
  readonly wait?: number
}

/** The facts of an HTTP answer beside its body. */
export interface ResponseInfo {
  /** The HTTP status. */
  readonly status: number
  /** A copy of the headers, without cookies. */
  readonly headers: WebHeaders
  /** The value of `x-request-id` or `request-id`, when the service sends one. */
  readonly requestId: string | undefined
}

export interface RequestErrorDetails extends ErrorDetails {
  readonly operation: string
  readonly outcome: Outcome
  readonly attempts?: readonly Attempt[]
}

/** The base of every error of a call: which operation, what is known of its effect, and what was tried. */
export class RequestError extends SupportWorkspaceError {
  static override readonly kind: string = 'RequestError'

  /** The id of the operation, for example `conversations.list`. */
  readonly operation: string
  /** What is known of the effect of the request. */
  readonly outcome: Outcome
  /** What was tried, in order. Empty when nothing was sent. */
  readonly attempts: readonly Attempt[]

  constructor(message: string, details: RequestErrorDetails) {
    super(message, details)
    this.operation = details.operation
    this.outcome = details.outcome
    this.attempts = details.attempts ?? []
  }
}

/** No answer came: the connection could not be opened, or broke. `outcome` says whether the request may have arrived. */
export class NetworkError extends RequestError {
  static override readonly kind: string = 'NetworkError'
}

export interface TimeoutErrorDetails extends RequestErrorDetails {
  readonly limit: 'attempt' | 'total'
  readonly timeout: number
}

/** A time limit ran out before the whole answer, body included, was there. */
export class TimeoutError extends RequestError {
  static override readonly kind: string = 'TimeoutError'

  /** Which limit: `timeout` (one attempt) or `totalTimeout` (the call with its retries and waits). */
  readonly limit: 'attempt' | 'total'
  /** The limit, in ms. */
  readonly timeout: number

  constructor(message: string, details: TimeoutErrorDetails) {
    super(message, details)
    this.limit = details.limit
    this.timeout = details.timeout
  }
}

/** The service gave a cursor that it had given before: following it would never end. No item was lost up to here. */
export class PaginationError extends RequestError {
  static override readonly kind: string = 'PaginationError'
}

/**
 * What is wrong with an answer:
 *
 * - `redirect`: a 3xx; the token is not carried to another address.
 * - `not-json`: the body is not JSON (cut short, HTML, empty, not UTF-8).
 * - `envelope`: JSON, but without the documented `data` or with a `page_metadata` of another shape.
 * - `schema`: in `strict` validation, a field is of another kind than documented.
 * - `too-large`: the body is longer than `maxResponseBytes`.
 */
export type UnexpectedResponseReason = 'redirect' | 'not-json' | 'envelope' | 'schema' | 'too-large'

export interface UnexpectedResponseDetails extends RequestErrorDetails {
  readonly reason: UnexpectedResponseReason
  readonly response: ResponseInfo
}

/** An answer came, but it is not one that the service documents. The body is not kept on the error. */
export class UnexpectedResponseError extends RequestError {
  static override readonly kind: string = 'UnexpectedResponseError'

  /** What is wrong with the answer. */
  readonly reason: UnexpectedResponseReason
  /** The HTTP status. */
  readonly status: number
  /** The service's id for the request, when it sends one. */
  readonly requestId: string | undefined
  /** Status and headers of the answer. Not part of the JSON form. */
  declare readonly response: ResponseInfo

  constructor(message: string, details: UnexpectedResponseDetails) {
    super(message, details)
    this.reason = details.reason
    this.status = details.response.status
    this.requestId = details.response.requestId
    Object.defineProperty(this, 'response', { value: details.response })
  }
}
