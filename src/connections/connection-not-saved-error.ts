import { ConnectionStoreError, type ConnectionStoreErrorDetails } from '../errors/connection-store-error.ts'
import type { Connection } from './connection.ts'

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
