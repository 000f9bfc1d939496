import { trace, traced } from '../core/index.ts'
import { notify } from '../shared/notify.ts'
import type { Connection } from './connection.ts'
import type { ConnectionStoreError } from './connection-store-error.ts'
import type { ListConnectionsOptions } from './method-options.ts'
import type { Found } from './record.ts'

/** All connections of a store, as `await store.list()` returns them. */
export interface ConnectionList {
  /** The connections, oldest first. */
  readonly connections: readonly Connection[]
  /** One error for each connection whose entry cannot be read (`secret_unknown`, `entry_damaged`), with its `key`. */
  readonly unreadable: readonly ConnectionStoreError[]
}

/**
 * The connections of a store. Await it for a list of all connections, oldest first. Iterate it for one connection after
 * the other, in any order and with only a few in memory. The storage is read when you await or iterate, and again for
 * each iteration.
 */
export class ConnectionListing implements Promise<ConnectionList>, AsyncIterable<Connection> {
  readonly #read: () => AsyncIterable<Found>
  readonly #options: ListConnectionsOptions
  #all: Promise<ConnectionList> | undefined
  /** @hidden */
  readonly [Symbol.toStringTag] = 'ConnectionListing'

  /** @internal */
  constructor(read: () => AsyncIterable<Found>, options: ListConnectionsOptions) {
    this.#read = read
    this.#options = options
  }

  /** Yields each connection. A connection is yielded twice if the storage lists its key twice (as Redis `SCAN` can). */
  async *[Symbol.asyncIterator](): AsyncGenerator<Connection, void, undefined> {
    try {
      for await (const { record, error } of this.#read()) {
        if (error !== undefined) notify(this.#options.onUnreadable, error)
        if (record !== undefined) yield record.connection
      }
    } catch (thrown) {
      throw trace(thrown)
    }
  }

  /** Handles the list or a rejection, like `then` of any promise. Usually called by `await`. */
  // biome-ignore lint/suspicious/noThenProperty: a listing can be awaited
  then<Fulfilled = ConnectionList, Rejected = never>(
    onFulfilled?: ((list: ConnectionList) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.#all ??= this.#collect()
    const all = this.#all
    return traced(() => all).then(onFulfilled, onRejected)
  }

  /** Handles a rejection, like `catch` of any promise. */
  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<ConnectionList | Rejected> {
    return this.then(null, onRejected)
  }

  /** Runs a callback when the list has been read, like `finally` of any promise. */
  finally(onFinally?: (() => void) | null): Promise<ConnectionList> {
    return this.then().finally(onFinally)
  }

  async #collect(): Promise<ConnectionList> {
    const connections = new Map<string, Connection>()
    const unreadable = new Map<string | undefined, ConnectionStoreError>()
    for await (const { record, error } of this.#read()) {
      if (record !== undefined) connections.set(record.connection.key, record.connection)
      if (error === undefined || unreadable.has(error.key)) continue
      unreadable.set(error.key, error)
      notify(this.#options.onUnreadable, error)
    }
    return {
      connections: [...connections.values()].sort((one, other) => one.connectedAt - other.connectedAt),
      unreadable: [...unreadable.values()],
    }
  }
}
