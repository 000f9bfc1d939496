import { type ErrorDetails, SupportWorkspaceError } from './support-workspace-error.ts'

/**
 * How a login failed.
 *
 * Before the code exchange, from the callback or the transaction:
 * - `missing_parameter`: the callback has neither `code` nor `error`, or no `state`; or a grant handed to
 *   `exchangeCode` lacks its code or code verifier.
 * - `duplicate_parameter`: the callback has a parameter twice (RFC 6749, section 3.1).
 * - `state_mismatch`: the callback's `state` is not the one of this transaction.
 * - `issuer_mismatch`: the callback's `iss` is not the configured issuer (RFC 9207).
 * - `redirect_uri_mismatch`: the callback came to another address than the transaction's, or the transaction is for
 *   another redirect URI than the app's.
 * - `access_denied`: the admin said no.
 * - `authorization_failed`: the service sent another error to the callback; see `code`.
 * - `transaction_missing`: there is no transaction (no cookie) for this callback.
 * - `transaction_expired`: the login took longer than it may.
 * - `transaction_invalid`: the transaction was tampered with, sealed with a key that is not known, or started by
 *   another app or for another service.
 * - `transaction_used`: the transaction has been finished before.
 *
 * From the code exchange:
 * - `invalid_grant`: the code is wrong, expired or used, or the code verifier does not match.
 * - `invalid_client`: client id or client secret is wrong.
 * - `exchange_failed`: the token endpoint answered something else; see `status` and `code`.
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

export interface LoginErrorDetails extends ErrorDetails {
  readonly reason: LoginErrorReason
  readonly code?: string | undefined
  readonly description?: string | undefined
  readonly status?: number | undefined
}

/** A login did not end with a token. `reason` says why, from a closed list. */
export class LoginError extends SupportWorkspaceError {
  static override readonly kind: string = 'LoginError'

  /** Why, from a closed list. */
  readonly reason: LoginErrorReason
  /** The service's code for the error, when it gave one. */
  readonly code: string | undefined
  /** The service's own words, cut at 500 characters. Text from outside: escape it before you show it in a page. */
  readonly description: string | undefined
  /** The HTTP status of the token endpoint, when it answered. */
  readonly status: number | undefined

  constructor(message: string, details: LoginErrorDetails) {
    super(message, details)
    this.reason = details.reason
    this.code = details.code
    this.description = details.description
    this.status = details.status
  }
}
