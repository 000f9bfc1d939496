import {
  type Change,
  failureOf,
  GuardedStorage,
  type KeyValueStorage,
  type StoragePage,
  Turns,
} from '../storage/interface.ts'
import { isConnectionKey } from './connection-key.ts'
import type { ConnectionRecord, Found, RecordFormat } from './connection-record.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

/**
 * The records of a store, by connection key. The key in the storage is `<base>:<connection key>`.
 *
 * Every method throws `ConnectionStoreError` (`storage_failed`) if the storage throws, returns an error or an invalid
 * value, or does not respond in time.
 */
export class ConnectionRecords {
  readonly #storage: GuardedStorage
  readonly #format: RecordFormat
  /** Changes of a connection run one after the other in this process, so that the last call wins. */
  readonly #turns = new Turns()

  /** @param base the start of every storage key, without a colon at the end */
  constructor(storage: KeyValueStorage, base: string, format: RecordFormat) {
    this.#storage = new GuardedStorage(storage, `${base}:`, storageFailed)
    this.#format = format
  }

  async find(key: string): Promise<Found> {
    return this.open(key, await this.#storage.get(key))
  }

  /** Returns the record in a text, null if there is none. */
  async open(key: string, text: string | null): Promise<Found> {
    return text === null ? {} : this.#format.read(key, text)
  }

  /**
   * Changes a record by compare-and-set.
   *
   * @param decide called with what was found, before each attempt
   */
  update<Result>(key: string, decide: (found: Found) => Change<Result, ConnectionRecord>): Promise<Result> {
    const change = async (text: string | null): Promise<Change<Result>> => {
      const { write, result } = decide(await this.open(key, text))
      return { write: write && (await this.#format.write(write)), result }
    }
    return this.#turns.run(key, () => this.#storage.update(key, change))
  }

  /** Yields the connection keys and texts of the storage, in pages and in no particular order. */
  async *pages(): AsyncGenerator<StoragePage, void, undefined> {
    for await (const page of this.#storage.pages()) yield page.filter(([key]) => isConnectionKey(key))
  }
}

function storageFailed(key: string | undefined, thrown: unknown): ConnectionStoreError {
  const whose = key === undefined ? 'the connections' : `the connection "${key}"`
  const [message, details] = failureOf(whose, thrown)
  return new ConnectionStoreError(message, { ...details, reason: 'storage_failed', key })
}
