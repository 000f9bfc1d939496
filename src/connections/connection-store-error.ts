import {
  type ErrorDetails,
  isSupportWorkspaceError,
  type Remedy,
  SupportWorkspaceError,
} from '../shared/errors/index.ts'
import type { Connection } from './connection.ts'

/**
 * Why an operation of the connection store failed:
 *
 * - `not_connected`: The connection does not exist, was removed, or its token was revoked. Log in again.
 * - `me_failed`: The call of `/me`, which identifies a new token, failed. See `cause`.
 * - `identity_incomplete`: The response of `/me` lacks the application, organization, actor or, for `self`, the user.
 * - `identity_mismatch`: The response of `/me` names another application than `clientId`, or a connection other than
 *   the connection to verify.
 * - `storage_failed`: The storage threw or returned an error, of which `cause` is a copy. The remedy is `fix` if the
 *   storage returned an invalid value or refused every write, because a retry would fail again.
 * - `secret_unknown`: The entry is encrypted with a secret that the store did not get.
 * - `entry_damaged`: The entry was written by another program or for another key, or it is in plain text although the
 *   store has a secret.
 */
export type ConnectionStoreErrorReason =
  | 'not_connected'
  | 'me_failed'
  | 'identity_incomplete'
  | 'identity_mismatch'
  | 'storage_failed'
  | 'secret_unknown'
  | 'entry_damaged'

interface ConnectionStoreErrorDetails extends ErrorDetails {
  readonly reason: ConnectionStoreErrorReason
  readonly key?: string | undefined
}

/**
 * The connection store has no valid connection, or its storage failed. Calls of a client from `store.workspace(key)`
 * reject with this error before a request is sent.
 */
export class ConnectionStoreError extends SupportWorkspaceError {
  static override readonly kind: string = 'ConnectionStoreError'

  /** Why the operation failed. */
  readonly reason: ConnectionStoreErrorReason
  /** The key of the connection. Undefined if `/me` has not identified it yet, or if the error concerns all of them. */
  readonly key: string | undefined
  /** The service was not changed, so the operation can be called again. (`save` calls `/me`, which only reads.) */
  readonly outcome: 'not-sent' = 'not-sent'

  constructor(message: string, details: ConnectionStoreErrorDetails) {
    const { cause, reason } = details
    const remedy = isSupportWorkspaceError(cause) ? cause.remedy : remedies[reason]
    super(message, { remedy, ...details })
    this.reason = reason
    this.key = details.key
  }
}

const remedies: Readonly<Record<ConnectionStoreErrorReason, Remedy>> = {
  not_connected: 'reconnect',
  me_failed: 'retry',
  identity_incomplete: 'fix',
  identity_mismatch: 'fix',
  storage_failed: 'retry',
  secret_unknown: 'fix',
  entry_damaged: 'fix',
}

interface ConnectionNotSavedDetails extends ConnectionStoreErrorDetails {
  readonly retry: () => Promise<Connection>
}

/**
 * A new token could not be saved. Call `retry` to save it again. The error keeps the token for this, and hides it in
 * every printed form. An earlier connection is unchanged.
 */
export class ConnectionNotSavedError extends ConnectionStoreError {
  static override readonly kind: string = 'ConnectionNotSavedError'

  /**
   * Saves the token again, and returns the connection. Calls `/me` only if it has not succeeded yet. If a newer login
   * of the connection has been saved since the first attempt, keeps and returns that one. Rejects with a new
   * `ConnectionNotSavedError`, which can be retried in turn.
   */
  declare readonly retry: () => Promise<Connection>

  constructor(message: string, details: ConnectionNotSavedDetails) {
    super(message, details)
    Object.defineProperty(this, 'retry', { value: details.retry })
  }
}
