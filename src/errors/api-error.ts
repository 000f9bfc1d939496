import { RequestError, type RequestErrorDetails, type ResponseInfo } from './request-error.ts'

/** The constructor arguments of an `ApiError`, besides the message. */
export type ApiErrorDetails = RequestErrorDetails &
  Pick<ApiError, 'status' | 'code' | 'description'> &
  Partial<Pick<ApiError, 'retryAfter' | 'response' | 'details'>>

/**
 * The service responded with an error.
 *
 * Documented codes are `invalid_token`, `insufficient_scope`, `actor_self_required`, `forbidden` and `invalid_request`
 * ([reference](docs/service.md#errors)). There might be others.
 */
export class ApiError extends RequestError {
  static override readonly kind: string = 'ApiError'

  /** The HTTP status. */
  readonly status: number
  /** Error code: the `error` field of the body. */
  readonly code: string | undefined
  /** Error description: the `error_description` field of the body, truncated to 500 characters. */
  readonly description: string | undefined
  /** Request id, if the service sent one. */
  readonly requestId: string | undefined
  /**
   * Requested delay before the next request, in seconds: from `Retry-After` (RFC 9110, section 10.2.3) or a rate
   * limiter's reset header. Usually set with 429 and 503, otherwise undefined.
   */
  readonly retryAfter: number | undefined
  /** Status and headers of the response. Not included in JSON. */
  declare readonly response: ResponseInfo | undefined
  /**
   * The JSON body of the response without secrets, shortened to 2 kB, 4 levels and strings of 200 characters. It can
   * quote customers, so it is not included in JSON, hooks or spans. Undefined if the body is not JSON.
   */
  declare readonly details: unknown

  constructor(message: string, details: ApiErrorDetails) {
    super(message, details)
    this.status = details.status
    this.code = details.code
    this.description = details.description
    this.requestId = details.response?.requestId
    this.retryAfter = details.retryAfter
    Object.defineProperty(this, 'response', { value: details.response })
    Object.defineProperty(this, 'details', { value: details.details })
  }
}

/** Status 400. The request is malformed. */
export class BadRequestError extends ApiError {
  static override readonly kind: string = 'BadRequestError'
}

/**
 * 400, 410, 414, 422 or 431 for a page of a list that was requested with a cursor. Usually the service no longer
 * accepts the cursor, because the cursor has expired or belongs to another list or query. The service does not document
 * how long a cursor is valid.
 *
 * The service does not say which parameter it rejected, so the reason might be another parameter. `description` has the
 * reason that the service gave, if any.
 *
 * @example
 * const saved = { cursor: 'an expired cursor', done: false }
 * await workspace.contacts.list({}, { resumeFrom: saved }).catch(async (error: unknown) => {
 *   if (!(error instanceof CursorRejectedError)) throw error
 *   console.log('Starting over with', (await workspace.contacts.list()).data.length)
 * })
 */
export class CursorRejectedError extends BadRequestError {
  static override readonly kind: string = 'CursorRejectedError'
}

/** 401: the access token is missing, invalid, expired or revoked. Log in again, because tokens cannot be refreshed. */
export class AuthenticationError extends ApiError {
  static override readonly kind: string = 'AuthenticationError'
}

/** Status 403. The token or its user lacks the permission. */
export class PermissionDeniedError extends ApiError {
  static override readonly kind: string = 'PermissionDeniedError'
}

/** The constructor arguments of an `InsufficientScopeError`, besides the message. */
export type InsufficientScopeDetails = ApiErrorDetails & Pick<InsufficientScopeError, 'required' | 'granted'>

/**
 * Status 403 with the code `insufficient_scope`. The token lacks a scope that the operation needs.
 *
 * @example
 * await workspace.contacts.list().catch(async (error: unknown) => {
 *   if (!(error instanceof InsufficientScopeError)) throw error
 *   const { url } = await app.startLogin({ scope: error.scopesToRequest, actor: 'self' })
 *   console.log('Ask an admin to approve:', url)
 * })
 */
export class InsufficientScopeError extends PermissionDeniedError {
  static override readonly kind: string = 'InsufficientScopeError'

  /** The scopes that the operation requires. Empty if unknown. */
  readonly required: readonly string[]
  /** The scopes of the token, if the client knows them (from its `scopes` option or `SupportWorkspace.connect`). */
  readonly granted: readonly string[] | undefined
  /** The required scopes that are not granted. If the granted scopes are unknown, all required scopes. */
  readonly missing: readonly string[]
  /** The scopes to request at the next login: the granted scopes and the missing scopes. */
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

/** Status 404. The resource does not exist in the organization of the token. */
export class NotFoundError extends ApiError {
  static override readonly kind: string = 'NotFoundError'
}

/** Status 422. The service rejected the values in the request. */
export class UnprocessableError extends ApiError {
  static override readonly kind: string = 'UnprocessableError'
}

/**
 * Status 409 for a POST: the resource already exists. This status is inferred, because the service does not document
 * it.
 *
 * @example
 * await workspace.contacts.create({ email: 'grace@example.com' }).catch((error: unknown) => {
 *   if (!(error instanceof AlreadyExistsError)) throw error
 *   console.log('The contact was there before.')
 * })
 */
export class AlreadyExistsError extends UnprocessableError {
  static override readonly kind: string = 'AlreadyExistsError'
}

/**
 * Status 422 with the code `actor_self_required`. The operation requires an `actor=self` token
 * ([specification](docs/service.md#actors)).
 *
 * A client with `actor: 'app'` throws this error before it sends a request. In this case `outcome` is `not-sent`, and
 * `response` is undefined.
 */
export class ActorSelfRequiredError extends UnprocessableError {
  static override readonly kind: string = 'ActorSelfRequiredError'
}

/**
 * Status 429. The service refused too many requests, and the call has used its retries or the required wait is too
 * long.
 *
 * Also thrown before a request is sent, while the client is rate limited and the call cannot wait. Then `outcome` is
 * `not-sent`, `response` is undefined, and `retryAfter` is the remaining time.
 */
export class RateLimitError extends ApiError {
  static override readonly kind: string = 'RateLimitError'
}

/** Status 5xx. The service failed. A write is then unconfirmed, because the service might have applied it. */
export class ServerError extends ApiError {
  static override readonly kind: string = 'ServerError'
}
