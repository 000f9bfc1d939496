import { RequestError, type RequestErrorDetails, type ResponseInfo } from './request-error.ts'

export interface ApiErrorDetails extends RequestErrorDetails {
  readonly status: number
  readonly code: string | undefined
  readonly description: string | undefined
  /** In seconds. */
  readonly retryAfter?: number | undefined
  /** Absent when the SDK refused the call before sending it. */
  readonly response?: ResponseInfo | undefined
}

/**
 * The service answered with an error.
 *
 * `code` is one of those of the reference, section 4 (`invalid_token`, `insufficient_scope`, `actor_self_required`,
 * `forbidden`, `invalid_request`), or another: the service's list is not closed.
 */
export class ApiError extends RequestError {
  static override readonly kind: string = 'ApiError'

  /** The HTTP status. */
  readonly status: number
  /** The service's code for the error, the `error` field of its body. */
  readonly code: string | undefined
  /** The service's own words, the `error_description` field of its body, cut at 500 characters. */
  readonly description: string | undefined
  /** The service's id for the request, when it sends one. */
  readonly requestId: string | undefined
  /**
   * How long the service asks to wait before the next request, in seconds: from `Retry-After` (RFC 9110, section
   * 10.2.3) or a rate limiter's reset header. Undefined when it does not say; usually there with 429 and 503.
   */
  readonly retryAfter: number | undefined
  /** Status and headers of the response. Not part of the JSON form. */
  declare readonly response: ResponseInfo | undefined

  constructor(message: string, details: ApiErrorDetails) {
    super(message, details)
    this.status = details.status
    this.code = details.code
    this.description = details.description
    this.requestId = details.response?.requestId
    this.retryAfter = details.retryAfter
    Object.defineProperty(this, 'response', { value: details.response })
  }
}

/** 400: a parameter or value is malformed. */
export class BadRequestError extends ApiError {
  static override readonly kind: string = 'BadRequestError'
}

/** 401: the access token is missing, invalid, expired or revoked. It cannot be refreshed: log in again. */
export class AuthenticationError extends ApiError {
  static override readonly kind: string = 'AuthenticationError'
}

/** 403: authenticated, but not allowed. */
export class PermissionDeniedError extends ApiError {
  static override readonly kind: string = 'PermissionDeniedError'
}

export interface InsufficientScopeDetails extends ApiErrorDetails {
  readonly required: readonly string[]
  readonly granted: readonly string[] | undefined
}

/** 403 `insufficient_scope`: the token lacks a scope that the operation needs. */
export class InsufficientScopeError extends PermissionDeniedError {
  static override readonly kind: string = 'InsufficientScopeError'

  /** The scopes that the operation needs. Empty for an operation whose scope is not known. */
  readonly required: readonly string[]
  /** The scopes of the token, when the client knows them (option `scopes`, or `SupportWorkspace.connect`). */
  readonly granted: readonly string[] | undefined
  /** The required scopes that are not granted; all of the required ones when the granted ones are not known. */
  readonly missing: readonly string[]
  /** What to ask for at the next login: the granted scopes and the missing ones together. */
  readonly scopesToRequest: readonly string[]

  constructor(message: string, details: InsufficientScopeDetails) {
    super(message, details)
    const granted = details.granted ?? []
    this.required = details.required
    this.granted = details.granted
    this.missing = details.required.filter((scope) => !granted.includes(scope))
    this.scopesToRequest = [...new Set([...granted, ...details.required])]
  }
}

/** 404: there is no such resource, or the organization of the token does not have it. */
export class NotFoundError extends ApiError {
  static override readonly kind: string = 'NotFoundError'
}

/** 422: understood, but it cannot be carried out; validation failed. */
export class UnprocessableError extends ApiError {
  static override readonly kind: string = 'UnprocessableError'
}

/**
 * 422 `actor_self_required`: the operation authors content, and the token is not an `actor=self` one
 * (specification, section 5).
 *
 * Also thrown before anything is sent, by a client made with `actor: 'app'`: then `outcome` is `not-sent` and
 * `response` is undefined.
 */
export class ActorSelfRequiredError extends UnprocessableError {
  static override readonly kind: string = 'ActorSelfRequiredError'
}

/**
 * 429: too many requests, and no retry is left or the wait is longer than the call may take.
 *
 * Also thrown before anything is sent, while the service has asked the client to slow down and the call cannot wait:
 * then `outcome` is `not-sent`, `response` is undefined, and `retryAfter` is the time left.
 */
export class RateLimitError extends ApiError {
  static override readonly kind: string = 'RateLimitError'
}

/** 5xx: the service failed. Whether a write took effect is not known. */
export class ServerError extends ApiError {
  static override readonly kind: string = 'ServerError'
}
