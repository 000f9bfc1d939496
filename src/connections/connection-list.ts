import type { Actor } from '../actor.ts'
import { notify } from '../http/hooks.ts'
import type { Connection } from './connection.ts'
import type { ConnectionStoreError } from './connection-store-error.ts'

/** Which connections to list: those that match everything given. Ids, as `/me` names them. */
export interface ConnectionFilter {
  readonly application?: string | undefined
  readonly organization?: string | undefined
  readonly actor?: Actor | undefined
  readonly user?: string | undefined
}

export interface ListConnectionsOptions {
  /**
   * Called for each connection whose entry cannot be read (`secret_unknown`, `entry_damaged`), with an error that has its
   * `key`. An iteration leaves those out.
   */
  readonly onUnreadable?: ((error: ConnectionStoreError) => void) | undefined
}

export interface ConnectionList {
  /** Oldest first. */
  readonly connections: readonly Connection[]
  /** One error for each connection whose entry cannot be read (`secret_unknown`, `entry_damaged`), with its `key`. */
  readonly unreadable: readonly ConnectionStoreError[]
}

export interface ReadConnection {
  readonly connection?: Connection | undefined
  readonly error?: ConnectionStoreError | undefined
}

/**
 * The connections of a store: awaited, all of them, oldest first; iterated, one after the other, in no particular order
 * and without holding more than a few. Nothing is read before one or the other, and each iteration starts anew.
 */
export class ConnectionListing implements Promise<ConnectionList>, AsyncIterable<Connection> {
  readonly #read: () => AsyncIterable<ReadConnection>
  readonly #options: ListConnectionsOptions
  #all: Promise<ConnectionList> | undefined
  readonly [Symbol.toStringTag] = 'ConnectionListing'

  constructor(read: () => AsyncIterable<ReadConnection>, options: ListConnectionsOptions) {
    this.#read = read
    this.#options = options
  }

  /** Each connection. A storage that names a key twice (as Redis may while it resizes its table) makes it come twice. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Connection, void, undefined> {
    for await (const { connection, error } of this.#read()) {
      if (error !== undefined) notify(() => this.#options.onUnreadable?.(error))
      if (connection !== undefined) yield connection
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaitable is what it is for
  then<Fulfilled = ConnectionList, Rejected = never>(
    onFulfilled?: ((list: ConnectionList) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.#all ??= this.#collect()
    return this.#all.then(onFulfilled, onRejected)
  }

  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<ConnectionList | Rejected> {
    return this.then(null, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<ConnectionList> {
    return this.then().finally(onFinally)
  }

  async #collect(): Promise<ConnectionList> {
    const connections = new Map<string, Connection>()
    const unreadable = new Map<string | undefined, ConnectionStoreError>()
    for await (const { connection, error } of this.#read()) {
      if (connection !== undefined) connections.set(connection.key, connection)
      if (error === undefined || unreadable.has(error.key)) continue
      unreadable.set(error.key, error)
      notify(() => this.#options.onUnreadable?.(error))
    }
    return {
      connections: [...connections.values()].sort((one, other) => one.connectedAt - other.connectedAt),
      unreadable: [...unreadable.values()],
    }
  }
}
