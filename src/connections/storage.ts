import { InvalidArgumentError } from '../errors/index.ts'
import { isError, safeCause } from '../errors/redact.ts'
import { isConnectionKey } from './connection-key.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import type { EntryId } from './entry-id.ts'

/**
 * Where connections are kept: any storage of this shape, such as one of `unstorage`. Its methods may be synchronous. An
 * error that they throw, reject with or return becomes a `ConnectionStoreError` (`storage_failed`). Test your own with
 * `storageTests` from `support-workspace-sdk/storage-tests`.
 *
 * It must show at once what was written last, to every process: a cache or an eventually consistent storage in front of
 * it makes revoked connections live on and new ones vanish. It needs no transactions, locks or compare-and-swap.
 *
 * Restoring an old snapshot brings back connections that were removed since, and replaces newer tokens by those of the
 * snapshot. A token that was revoked is removed again after its first call; a connection that your app removed works again
 * until you remove it once more.
 */
export interface ConnectionStorage {
  /** The value, or a promise of it; null or undefined when there is none. A value may come back JSON-parsed. */
  getItem(key: string): unknown
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
  /**
   * Returns the full keys that begin with `base`, or more: the store picks its own. Where there are many, return them
   * bit by bit (an async generator, as over Redis `SCAN`): the store does not collect them to iterate.
   */
  getKeys(base?: string): StorageKeys | Promise<StorageKeys>
}

/** A list of keys, or anything that can be iterated. */
export type StorageKeys = Iterable<string> | AsyncIterable<string>

/** The default: gone with the process, and not shared with another. */
export function memoryStorage(): ConnectionStorage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
    getKeys: (base = '') => [...items.keys()].filter((key) => key.startsWith(base)),
  }
}

/** The storage, if it has the methods of one. */
export function checkStorage(storage: ConnectionStorage): ConnectionStorage {
  const methods = ['getItem', 'setItem', 'removeItem', 'getKeys'] as const
  const missing = methods.filter((method) => typeof storage?.[method] !== 'function')
  if (missing.length === 0) return storage
  throw new InvalidArgumentError(
    'storage',
    `\`storage\` has no ${missing.map((method) => `\`${method}\``).join(', ')}.`,
    'Pass a storage with the shape of `unstorage`, or leave the option out to keep connections in memory.',
  )
}

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
