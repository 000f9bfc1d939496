import { type ErrorDetails, SupportWorkspaceError } from '../errors/support-workspace-error.ts'
import type { Connection } from './connection.ts'

/**
 * Why the connection store could not do what it was asked:
 *
 * - `not_connected`: there is no such connection: never made, removed, or its token was revoked. Log in again.
 * - `me_failed`: `/me`, which names the connection of a new token, could not be read; `cause` says why.
 * - `identity_incomplete`: `/me` does not name application, organization, actor or, for `self`, the user.
 * - `identity_mismatch`: `/me` names another application than `clientId`, or another connection than the one to verify.
 * - `storage_failed`: the storage threw or returned an error, or no usable value; `cause` is a copy of its error.
 * - `secret_unknown`: the entry is sealed with a secret that the store was not given.
 * - `entry_damaged`: the entry is not what this package wrote under that key, or not sealed though the store has a secret.
 */
export type ConnectionStoreErrorReason =
  | 'not_connected'
  | 'me_failed'
  | 'identity_incomplete'
  | 'identity_mismatch'
  | 'storage_failed'
  | 'secret_unknown'
  | 'entry_damaged'

export interface ConnectionStoreErrorDetails extends ErrorDetails {
  readonly reason: ConnectionStoreErrorReason
  readonly key?: string | undefined
}

/**
 * The connection store has no usable connection, or its storage failed. A call of `store.workspace(key)` rejects with it
 * before anything is sent.
 */
export class ConnectionStoreError extends SupportWorkspaceError {
  static override readonly kind: string = 'ConnectionStoreError'

  /** Why, from a closed list. */
  readonly reason: ConnectionStoreErrorReason
  /** The key of the connection. Undefined when `/me` has not named it yet, or when it is about all of them. */
  readonly key: string | undefined
  /** No operation was sent to the service, so a call can be made again. (`save` asks `/me`, which changes nothing.) */
  readonly outcome: 'not-sent' = 'not-sent'

  constructor(message: string, details: ConnectionStoreErrorDetails) {
    super(message, details)
    this.reason = details.reason
    this.key = details.key
  }
}

export interface ConnectionNotSavedDetails extends ConnectionStoreErrorDetails {
  readonly retry: () => Promise<Connection>
}

/**
 * A new token could not be saved. It is not lost: `retry` holds it, and prints nothing of it. A connection that was there
 * before is untouched.
 */
export class ConnectionNotSavedError extends ConnectionStoreError {
  static override readonly kind: string = 'ConnectionNotSavedError'

  /**
   * Saves the token again, and returns the connection. Asks `/me` only if it has not responded yet. When a newer login of
   * the connection has been saved since the first try, keeps that one and returns it. Rejects with a new
   * `ConnectionNotSavedError`, which can be retried in turn.
   */
  declare readonly retry: () => Promise<Connection>

  constructor(message: string, details: ConnectionNotSavedDetails) {
    super(message, details)
    Object.defineProperty(this, 'retry', { value: details.retry })
  }
}
