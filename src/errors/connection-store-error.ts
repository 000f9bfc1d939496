import { type ErrorDetails, SupportWorkspaceError } from './support-workspace-error.ts'

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
