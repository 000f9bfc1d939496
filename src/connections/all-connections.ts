import { notify } from '../http/hooks.ts'
import type { WebAbortSignal } from '../web-types.ts'
import { keyMatches } from './connection-key.ts'
import type { ConnectionFilter, ReadConnection } from './connection-list.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import type { Entries } from './entries.ts'
import { type LiveConnections, orUnreadable } from './live-connections.ts'

/** How far `reseal` has come. */
export interface ResealProgress {
  /** The connections looked at so far. */
  readonly checked: number
  /** Those of them that were sealed anew. */
  readonly resealed: number
}

export interface ResealOptions {
  /** Called after each connection. */
  readonly onProgress?: ((progress: ResealProgress) => void) | undefined
  /** Stops between two connections. What is sealed anew by then stays so. */
  readonly signal?: WebAbortSignal | undefined
}

export interface ResealResult extends ResealProgress {
  /**
   * One error for each connection whose entry cannot be read, with its `key`. Keep an older secret in the list as long as
   * one of them is `secret_unknown` that it may open.
   */
  readonly unreadable: readonly ConnectionStoreError[]
}

/** How many entries are read at a time: file systems and connection pools have limits. */
const parallelReads = 16

/** Walks through the connections of a store, several at a time. */
export class AllConnections {
  readonly #entries: Entries
  readonly #live: LiveConnections

  constructor(entries: Entries, live: LiveConnections) {
    this.#entries = entries
    this.#live = live
  }

  /** Reads each connection. Where the storage names a key twice, so does this. */
  read(filter: ConnectionFilter): AsyncIterable<ReadConnection> {
    return mapBounded(this.#keys(filter), parallelReads, async (key) => {
      const found = await orUnreadable(() => this.#live.read(key))
      return found instanceof ConnectionStoreError ? { error: found } : { connection: found?.connection }
    })
  }

  /** Seals each entry that an older secret sealed with the first one. */
  async reseal({ onProgress, signal }: ResealOptions): Promise<ResealResult> {
    let [checked, resealed] = [0, 0]
    const unreadable: ConnectionStoreError[] = []
    const keys = this.#keys({}, signal)
    for await (const result of mapBounded(keys, parallelReads, (key) => orUnreadable(() => this.#live.reseal(key)))) {
      checked += 1
      if (result instanceof ConnectionStoreError) unreadable.push(result)
      else if (result) resealed += 1
      notify(() => onProgress?.({ checked, resealed }))
    }
    return { checked, resealed, unreadable }
  }

  async *#keys(filter: ConnectionFilter, signal?: WebAbortSignal): AsyncGenerator<string, void, undefined> {
    for await (const key of this.#entries.keys()) {
      if (signal?.aborted) throw signal.reason
      if (await keyMatches(key, filter)) yield key
    }
  }
}

/**
 * Maps the items of a source, with at most `limit` of them in progress, and yields the results in the order of the source.
 */
export async function* mapBounded<Item, Result>(
  source: AsyncIterable<Item>,
  limit: number,
  map: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const running: Promise<Result>[] = []
  const next = () => running.shift() as Promise<Result>
  for await (const item of source) {
    const result = map(item)
    // What fails is heard when its turn comes.
    result.catch(() => {})
    running.push(result)
    if (running.length >= limit) yield await next()
  }
  while (running.length > 0) yield await next()
}
