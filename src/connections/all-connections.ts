import { throwIfAborted } from '../abort.ts'
import { checkOptionalFunction, checkOptions } from '../check-options.ts'
import { checkSignal } from '../http/input.ts'
import { notify } from '../notify.ts'
import type { WebAbortSignal } from '../web-types.ts'
import { keyMatches } from './connection-key.ts'
import type { ConnectionFilter, ReadConnection } from './connection-list.ts'
import type { ConnectionStoreError } from './connection-store-error.ts'
import type { Entries } from './entries.ts'
import { type LiveConnections, tryRead } from './live-connections.ts'

/** The progress of `reseal`. */
export interface ResealProgress {
  /** The number of connections checked so far. */
  readonly checked: number
  /** The number of connections resealed so far. */
  readonly resealed: number
}

/** The options of `ConnectionStore.reseal`. */
export interface ResealOptions {
  /** Called after each connection. */
  readonly onProgress?: ((progress: ResealProgress) => void) | undefined
  /** Stops between two connections. Connections resealed before stay resealed. */
  readonly signal?: WebAbortSignal | undefined
}

const resealOptionNames = { onProgress: true, signal: true } satisfies Record<keyof ResealOptions, true>

/** The result of `ConnectionStore.reseal`. */
export interface ResealResult extends ResealProgress {
  /**
   * One error for each connection whose entry cannot be read, with its `key`. While there is a `secret_unknown`, keep the
   * older secrets that may open its entry.
   */
  readonly unreadable: readonly ConnectionStoreError[]
}

/** The number of entries read at the same time. File systems and connection pools have limits. */
const parallelReads = 16

/** Walks through the connections of a store, several at a time. */
export class AllConnections {
  readonly #entries: Entries
  readonly #live: LiveConnections

  constructor(entries: Entries, live: LiveConnections) {
    this.#entries = entries
    this.#live = live
  }

  /** Reads each connection. Yields a connection twice if the storage lists its key twice. */
  read(filter: ConnectionFilter): AsyncIterable<ReadConnection> {
    return mapParallel(this.#keys(filter), parallelReads, (key) =>
      tryRead(async () => (await this.#live.read(key))?.connection),
    )
  }

  /** Seals every entry that an older secret sealed with the first secret. */
  async reseal(options: ResealOptions): Promise<ResealResult> {
    checkOptions('options', options, resealOptionNames, '`reseal`')
    const { onProgress, signal } = options
    checkOptionalFunction('onProgress', onProgress)
    checkSignal('signal', signal)
    let [checked, resealed] = [0, 0]
    const unreadable: ConnectionStoreError[] = []
    const results = mapParallel(this.#keys({}, signal), parallelReads, (key) => tryRead(() => this.#live.reseal(key)))
    for await (const { value, error } of results) {
      checked += 1
      if (error !== undefined) unreadable.push(error)
      else if (value) resealed += 1
      notify(() => onProgress?.({ checked, resealed }))
    }
    return { checked, resealed, unreadable }
  }

  async *#keys(filter: ConnectionFilter, signal?: WebAbortSignal): AsyncGenerator<string, void, undefined> {
    for await (const key of this.#entries.keys()) {
      throwIfAborted(signal)
      if (await keyMatches(key, filter)) yield key
    }
  }
}

/** Maps the items of a source, at most `limit` of them at the same time, and yields the results in the order of the source. */
async function* mapParallel<Item, Result>(
  source: AsyncIterable<Item>,
  limit: number,
  map: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const running: Promise<Result>[] = []
  const next = () => running.shift() as Promise<Result>
  for await (const item of source) {
    const result = map(item)
    // A rejection is thrown when its turn comes. Until then it must not count as unhandled.
    result.catch(() => {})
    running.push(result)
    if (running.length >= limit) yield await next()
  }
  while (running.length > 0) yield await next()
}
