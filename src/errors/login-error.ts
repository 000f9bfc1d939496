import { type ErrorDetails, SupportWorkspaceError } from './support-workspace-error.ts'

/**
 * Why a login failed.
 *
 * Before the code exchange, from the callback or the transaction:
 * - `missing_parameter`: the callback lacks `state`, or both `code` and `error`. Also used if a grant passed to
 *   `exchangeCode` lacks its code or code verifier.
 * - `duplicate_parameter`: the callback repeats a parameter (RFC 6749, section 3.1).
 * - `state_mismatch`: the callback's `state` differs from the transaction's.
 * - `issuer_mismatch`: the callback's `iss` differs from the configured issuer (RFC 9207).
 * - `redirect_uri_mismatch`: the URL of the callback differs from the redirect URI of the transaction, or the redirect
 *   URI of the transaction or grant differs from the app's.
 * - `access_denied`: the admin denied access.
 * - `authorization_failed`: the callback has another error. See `code`.
 * - `transaction_missing`: there is no transaction, for example because the browser sent no cookie.
 * - `transaction_expired`: the login took too long.
 * - `transaction_invalid`: the transaction was modified, encrypted with an unknown secret, or started by another app or
 *   for another service.
 * - `transaction_used`: the transaction was already used.
 *
 * From the code exchange:
 * - `invalid_grant`: the code is wrong, expired or used, or the code verifier is wrong.
 * - `invalid_client`: the client id or client secret is wrong.
 * - `exchange_failed`: the token endpoint returned another error or an unusable response. See `status` and `code`.
 */
export type LoginErrorReason =
  | 'missing_parameter'
  | 'duplicate_parameter'
  | 'state_mismatch'
  | 'issuer_mismatch'
  | 'redirect_uri_mismatch'
  | 'access_denied'
  | 'authorization_failed'
  | 'transaction_missing'
  | 'transaction_expired'
  | 'transaction_invalid'
  | 'transaction_used'
  | 'invalid_grant'
  | 'invalid_client'
  | 'exchange_failed'

/** The constructor arguments of a `LoginError`, besides the message. */
export type LoginErrorDetails = ErrorDetails &
  Pick<LoginError, 'reason'> &
  Partial<Pick<LoginError, 'code' | 'description' | 'status'>>

/** A login failed. `reason` says why. */
export class LoginError extends SupportWorkspaceError {
  static override readonly kind: string = 'LoginError'

  /** Why the login failed. */
  readonly reason: LoginErrorReason
  /** Error code of the service, if any. */
  readonly code: string | undefined
  /**
   * Error description of the service, truncated to 500 characters. Untrusted: escape it before you show it in a page.
   */
  readonly description: string | undefined
  /** The HTTP status of the token endpoint, if it responded. */
  readonly status: number | undefined

  constructor(message: string, details: LoginErrorDetails) {
    const { remedy = isMisconfiguration(details) ? 'fix' : 'reconnect' } = details
    super(message, { ...details, remedy })
    this.reason = details.reason
    this.code = details.code
    this.description = details.description
    this.status = details.status
  }
}

/** Whether another login would fail in the same way. */
function isMisconfiguration({ reason, code = '', status = 0 }: LoginErrorDetails): boolean {
  if (reason === 'authorization_failed') return rejectedRequests.has(code)
  if (temporaryCodes.has(code)) return false
  if (reason === 'exchange_failed') return status >= 300 && status < 500 && status !== 408 && status !== 429
  return misconfigured.has(reason)
}

const misconfigured: ReadonlySet<LoginErrorReason> = new Set([
  'invalid_client',
  'issuer_mismatch',
  'redirect_uri_mismatch',
])

/** The codes of a service that is down or busy (RFC 6749, section 4.1.2.1). */
export const temporaryCodes: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable'])

/** The codes that reject the request itself (RFC 6749, section 4.1.2.1). */
export const rejectedRequests: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_scope',
  'unauthorized_client',
  'unsupported_response_type',
])
