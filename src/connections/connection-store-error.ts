import { type ErrorDetails, isSupportWorkspaceError, type Remedy, SupportWorkspaceError } from '../errors/index.ts'
import type { Connection } from './connection.ts'

/**
 * Why an operation of the connection store failed:
 *
 * - `not_connected`: the connection never existed, was removed, or its token was revoked. Log in again.
 * - `me_failed`: the call of `/me`, which identifies a new token, failed. See `cause`.
 * - `identity_incomplete`: the response of `/me` lacks application, organization, actor or, for `self`, the user, or it
 *   repeats the token.
 * - `identity_mismatch`: `/me` names another application than `clientId`, or another connection than the one to verify.
 * - `storage_failed`: the storage threw or returned an error, of which `cause` is a copy. If the storage returned an
 *   invalid value or refused every write, the remedy is `fix`, because a retry would fail again.
 * - `secret_unknown`: the entry was encrypted with a secret that the store lacks.
 * - `entry_damaged`: the entry under the key was changed, or written by another program. If the store has a secret,
 *   this is also the reason for an unencrypted entry.
 */
export type ConnectionStoreErrorReason =
  | 'not_connected'
  | 'me_failed'
  | 'identity_incomplete'
  | 'identity_mismatch'
  | 'storage_failed'
  | 'secret_unknown'
  | 'entry_damaged'

type ConnectionStoreErrorDetails = ErrorDetails &
  Pick<ConnectionStoreError, 'reason'> &
  Partial<Pick<ConnectionStoreError, 'key'>>

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
  /** `not-sent`, so the operation can be called again. (`save` calls `/me`, which is a read.) */
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

/** The constructor arguments of a `ConnectionNotSavedError`, besides the message. */
type ConnectionNotSavedDetails = ConnectionStoreErrorDetails & Pick<ConnectionNotSavedError, 'retry'>

/**
 * A new token could not be saved. Call `retry` to save it again: the error keeps the token, but reveals it in no
 * printed form. An earlier connection is unchanged.
 */
export class ConnectionNotSavedError extends ConnectionStoreError {
  static override readonly kind: string = 'ConnectionNotSavedError'

  /**
   * Saves the token again, and returns the connection. Calls `/me` only if it has not succeeded yet. If a newer login
   * of the connection has been saved since the first attempt, keeps and returns the newer login. Rejects with a new
   * `ConnectionNotSavedError`, which has a `retry` too.
   */
  declare readonly retry: () => Promise<Connection>

  constructor(message: string, details: ConnectionNotSavedDetails) {
    super(message, details)
    Object.defineProperty(this, 'retry', { value: details.retry })
  }
}
