import { ConnectionStoreError } from '../errors/connection-store-error.ts'
import { isError, safeCause } from '../errors/redact.ts'
import { isConnectionKey } from './connection-key.ts'
import type { EntryId } from './entry-id.ts'
import type { ConnectionStorage } from './storage.ts'

/** What a connection has in the storage: an entry, the pointer to the current one, and the mark of a removal. */
export type Place = EntryId | 'current' | 'removing'

/**
 * A storage addressed by connection key and place. The storage key is `<base>:<connection key>:<place>`.
 *
 * Every method throws `ConnectionStoreError` (`storage_failed`) when the storage throws or returns no usable value.
 */
export class KeyedStorage {
  readonly #storage: ConnectionStorage
  readonly #base: string
  readonly #secrets: readonly string[]

  /**
   * @param base what every storage key begins with, without a colon at its end.
   * @param secrets what no error may quote.
   */
  constructor(storage: ConnectionStorage, base: string, secrets: readonly string[] = []) {
    this.#storage = storage
    this.#base = base
    this.#secrets = secrets
  }

  /** The same storage, whose errors do not quote these secrets: drivers quote commands, results and whole pipelines. */
  hiding(secrets: readonly string[]): KeyedStorage {
    return new KeyedStorage(this.#storage, this.#base, secrets)
  }

  /** The value at a place; undefined when there is none. */
  async get(key: string, place: Place): Promise<unknown> {
    return await this.#ask(key, async () => {
      const value = await this.#storage.getItem(this.#nameOf(key, place))
      if (value === null || value === undefined) return undefined
      if (typeof value === 'string' || typeof value === 'object') return value
      throw new TypeError(`getItem returned a ${typeof value} instead of text.`)
    })
  }

  async set(key: string, place: Place, value: string): Promise<void> {
    await this.#ask(key, () => this.#storage.setItem(this.#nameOf(key, place), value))
  }

  async remove(key: string, place: Place): Promise<void> {
    await this.#ask(key, () => this.#storage.removeItem(this.#nameOf(key, place)))
  }

  /** The places of a connection that hold something, in no particular order, perhaps with some that are not its own. */
  async *places(key: string): AsyncGenerator<string, void, undefined> {
    yield* this.#names(key, this.#nameOf(key, ''))
  }

  /** The keys of the connections that have a pointer. */
  async *keys(): AsyncGenerator<string, void, undefined> {
    const end = ':current'
    for await (const name of this.#names(undefined, `${this.#base}:`)) {
      const key = name.endsWith(end) ? name.slice(0, -end.length) : undefined
      if (isConnectionKey(key)) yield key
    }
  }

  /** What follows `start` in the storage keys that begin with it. */
  async *#names(key: string | undefined, start: string): AsyncGenerator<string, void, undefined> {
    try {
      const names: unknown = await this.#storage.getKeys(start)
      if (isError(names)) throw names
      for await (const name of names as Iterable<string> | AsyncIterable<string>) {
        if (name.startsWith(start)) yield name.slice(start.length)
      }
    } catch (thrown) {
      throw this.#failed(key, thrown)
    }
  }

  #nameOf(key: string, place: string): string {
    return `${this.#base}:${key}:${place}`
  }

  /** Some drivers return an error instead of throwing it, for example when there are no file descriptors left. */
  async #ask(key: string, question: () => unknown): Promise<unknown> {
    try {
      const value = await question()
      if (isError(value)) throw value
      return value
    } catch (thrown) {
      throw this.#failed(key, thrown)
    }
  }

  #failed(key: string | undefined, thrown: unknown): ConnectionStoreError {
    const cause = safeCause(thrown, this.#secrets)
    const whose = key === undefined ? 'of the connections' : `of the connection "${key}"`
    return new ConnectionStoreError(`The storage ${whose} failed: ${cause.message.replace(/\.$/, '')}.`, {
      reason: 'storage_failed',
      key,
      cause,
      hint: 'Check that the storage can be reached, then try again.',
    })
  }
}
