import { failureOf, GuardedStorage, type KeyValueStorage, type StoragePage, Turns } from '../key-value/index.ts'
import { isConnectionKey } from './connection-key.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import type { ConnectionRecord, Found, RecordFormat } from './record.ts'

/** What to do with the record of a connection. */
export interface Change<Result> {
  /** The record to write; null to remove it. Undefined to leave it as it is. */
  readonly write?: ConnectionRecord | null | undefined
  /** Returned once the write has been made. */
  readonly result: Result
}

const maxAttempts = 100

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
   * Changes a record: reads it, decides, and writes only if its text is still the one that was read. Otherwise starts
   * again.
   *
   * @param decide called with what was found, before each attempt
   */
  update<Result>(key: string, decide: (found: Found) => Change<Result>): Promise<Result> {
    return this.#turns.run(key, () => this.#update(key, decide))
  }

  async #update<Result>(key: string, decide: (found: Found) => Change<Result>): Promise<Result> {
    const sent = new Map<string | null, Result>()
    let failure: unknown
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const text = await this.#storage.get(key).catch((thrown: unknown) => {
        throw failure ?? thrown
      })
      // Drivers send a command again when its response is lost, and the second one finds the text of the first.
      if (sent.has(text)) return sent.get(text) as Result
      const { write, result } = decide(await this.open(key, text))
      if (write === undefined || (write === null && text === null)) return result
      if (failure !== undefined) throw failure
      const next = write === null ? null : await this.#format.write(write)
      try {
        if (await this.#storage.compareAndSet(key, text, next)) return result
      } catch (thrown) {
        // The write might have been applied. The next read shows whether it was.
        failure = thrown
      }
      sent.set(next, result)
    }
    throw new ConnectionStoreError(`The storage refused ${maxAttempts} changes of the connection "${key}" in a row.`, {
      reason: 'storage_failed',
      remedy: 'fix',
      key,
      hint: 'Check the `compareAndSet` of your storage with `storageTests`.',
    })
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
