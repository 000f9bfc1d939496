import type { Actor } from '../actor.ts'
import { checkOptionalFunction, checkOptions } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { notify } from '../notify.ts'
import type { Connection } from './connection.ts'
import type { ConnectionStoreError } from './connection-store-error.ts'
import type { ReadResult } from './record.ts'

/** Filters connections by actor and by the ids that `/me` returns. A connection must match all of them. */
export interface ConnectionFilter {
  /** Id of the app. */
  readonly application?: string | undefined
  /** Id of the organization. */
  readonly organization?: string | undefined
  /** Who the token acts as. */
  readonly actor?: Actor | undefined
  /** Id of the user. Excludes connections of the app itself. */
  readonly user?: string | undefined
}

const filterNames = {
  application: true,
  organization: true,
  actor: true,
  user: true,
} satisfies Record<keyof ConnectionFilter, true>

/**
 * Returns a copy of a filter.
 *
 * @throws InvalidArgumentError if it is invalid: a filter that is ignored would list the connections of others
 */
export function copyFilter(filter: ConnectionFilter): ConnectionFilter {
  checkOptions('filter', filter, filterNames, 'a connection filter')
  const { application, organization, actor, user } = filter
  for (const [name, id] of Object.entries({ application, organization, user })) {
    if (id === undefined || (typeof id === 'string' && id !== '')) continue
    throw new InvalidArgumentError(name, `\`${name}\` must be a non-empty string.`, 'Pass an id, or leave it out.')
  }
  if (actor === undefined || actor === 'app' || actor === 'self') return { application, organization, actor, user }
  throw new InvalidArgumentError('actor', '`actor` must be "app" or "self".', 'Pass one of them, or leave it out.')
}

/** The options of `ConnectionStore.list`. */
export interface ListConnectionsOptions {
  /**
   * Called for each connection whose entry cannot be read (`secret_unknown`, `entry_damaged`), with an error that has its
   * `key`. An iteration skips such connections.
   */
  readonly onUnreadable?: ((error: ConnectionStoreError) => void) | undefined
}

const optionNames = { onUnreadable: true } satisfies Record<keyof ListConnectionsOptions, true>

/** Returns a copy of the options of a listing. */
export function copyListOptions(options: ListConnectionsOptions): ListConnectionsOptions {
  checkOptions('options', options, optionNames, '`list`')
  return { onUnreadable: checkOptionalFunction('onUnreadable', options.onUnreadable) }
}

/** All connections of a store, as `await store.list()` returns them. */
export interface ConnectionList {
  /** The connections, oldest first. */
  readonly connections: readonly Connection[]
  /** One error for each connection whose entry cannot be read (`secret_unknown`, `entry_damaged`), with its `key`. */
  readonly unreadable: readonly ConnectionStoreError[]
}

/** A connection, undefined if there is none, or why its entry cannot be read. */
export type ReadConnection = ReadResult<Connection | undefined>

/**
 * The connections of a store. Await it for all of them, oldest first, or iterate it for one after the other, in no
 * particular order and with only a few in memory. Nothing is read until then, and each iteration reads again.
 */
export class ConnectionListing implements Promise<ConnectionList>, AsyncIterable<Connection> {
  readonly #read: () => AsyncIterable<ReadConnection>
  readonly #options: ListConnectionsOptions
  #all: Promise<ConnectionList> | undefined
  /** @hidden */
  readonly [Symbol.toStringTag] = 'ConnectionListing'

  constructor(read: () => AsyncIterable<ReadConnection>, options: ListConnectionsOptions) {
    this.#read = read
    this.#options = options
  }

  /** Yields each connection. A connection is yielded twice if the storage lists its key twice (as Redis `SCAN` may). */
  async *[Symbol.asyncIterator](): AsyncGenerator<Connection, void, undefined> {
    for await (const { value: connection, error } of this.#read()) {
      if (error !== undefined) notify(() => this.#options.onUnreadable?.(error))
      if (connection !== undefined) yield connection
    }
  }

  /** Handles the list or a rejection, like `then` of any promise. Usually called by `await`. */
  // biome-ignore lint/suspicious/noThenProperty: a listing can be awaited
  then<Fulfilled = ConnectionList, Rejected = never>(
    onFulfilled?: ((list: ConnectionList) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.#all ??= this.#collect()
    return this.#all.then(onFulfilled, onRejected)
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
    for await (const { value: connection, error } of this.#read()) {
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
