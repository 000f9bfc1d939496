import { notify } from '../shared/notify.ts'
import type { Connection } from './connection.ts'
import type { Found } from './connection-record.ts'
import type { ListConnectionsOptions } from './method-options.ts'

/** The connections of a store. Each iteration reads the storage from its start. */
export interface ConnectionList extends AsyncIterable<Connection> {
  /** Returns all connections in memory: each once, and the oldest first. */
  toArray(): Promise<Connection[]>
}

/**
 * Returns the connections that `read` finds. Reports the ones that cannot be read, and goes on.
 *
 * @internal
 */
export function connectionList(
  read: () => AsyncIterable<Found>,
  { onUnreadable }: ListConnectionsOptions,
): ConnectionList {
  async function* iterate(): AsyncGenerator<Connection, void, undefined> {
    for await (const { record, error } of read()) {
      if (error !== undefined) notify(onUnreadable, error)
      if (record !== undefined) yield record.connection
    }
  }
  return {
    [Symbol.asyncIterator]: iterate,
    async toArray() {
      const byKey = new Map<string, Connection>()
      for await (const connection of iterate()) byKey.set(connection.key, connection)
      return [...byKey.values()].sort((one, other) => one.connectedAt - other.connectedAt)
    },
  }
}
