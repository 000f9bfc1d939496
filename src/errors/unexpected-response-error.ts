import type { ResponseInfo } from './api-error.ts'
import { RequestError, type RequestErrorDetails } from './request-error.ts'

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
