import { InvalidArgumentError } from '../errors/index.ts'
import { isError, placeholder, safeCause } from '../errors/redact.ts'
import { isConnectionKey } from './connection-key.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import type { EntryId } from './entry-id.ts'

/**
 * A storage for connections. Any storage of this shape works, such as one of `unstorage`. The methods may be synchronous.
 * An error that they throw, reject with or return becomes a `ConnectionStoreError` (`storage_failed`), as does a promise
 * that does not settle within 30 seconds. Test your own storage with `storageTests` from
 * `support-workspace-sdk/storage-tests`.
 *
 * Every process must see a write immediately. With a cache or an eventually consistent storage, revoked connections stay
 * in use and new ones are missing. Transactions, locks or compare-and-swap are not required.
 *
 * Restoring an old snapshot brings back connections that were removed since, and replaces newer tokens with those of the
 * snapshot. A revoked token is removed again after its first call. A connection that your app removed works again until
 * you remove it once more.
 */
export interface ConnectionStorage {
  /** Returns the value or a promise of it; null or undefined if there is none. The value may be JSON-parsed. */
  getItem(key: string): unknown
  /** Stores a value. Returns nothing, or a promise that settles when every process can read it. */
  setItem(key: string, value: string): unknown
  /** Removes a value, if there is one. */
  removeItem(key: string): unknown
  /**
   * Returns the full keys that start with `base`. Other keys are ignored. For many keys, return an async generator (for
   * example over Redis `SCAN`): the store does not collect them to iterate.
   */
  getKeys(base?: string): StorageKeys | Promise<StorageKeys>
}

/** A list or any other iterable of keys. */
export type StorageKeys = Iterable<string> | AsyncIterable<string>

/** The default storage. It ends with the process and is not shared with others. */
export function memoryStorage(): ConnectionStorage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
    getKeys: (base = '') => [...items.keys()].filter((key) => key.startsWith(base)),
  }
}

/** Checks that a storage has all methods. */
export function checkStorage(storage: ConnectionStorage): ConnectionStorage {
  const methods = ['getItem', 'setItem', 'removeItem', 'getKeys'] as const
  const missing = methods.filter((method) => typeof storage?.[method] !== 'function')
  if (missing.length === 0) return storage
  throw new InvalidArgumentError(
    'storage',
    `\`storage\` lacks ${missing.map((method) => `\`${method}\``).join(', ')}.`,
    'Pass a storage of the shape of `unstorage`, or leave the option out to keep connections in memory.',
  )
}

/** The time limit of each call of a storage, in milliseconds. Without it, one lost reply would block its connection forever. */
const timeLimit = 30_000

/** What the storage keeps for a connection: entries, the pointer to the current entry, and the mark of a removal. */
export type Place = EntryId | 'current' | 'removing'

/**
 * A storage addressed by connection key and place. The storage key is `<base>:<connection key>:<place>`.
 *
 * Every method throws `ConnectionStoreError` (`storage_failed`) if the storage throws, returns an invalid value or does not
 * respond in time.
 */
export class KeyedStorage {
  readonly #storage: ConnectionStorage
  readonly #base: string
  readonly #secrets: readonly string[]

  /**
   * @param base the start of every storage key, without a colon at the end
   * @param secrets secrets that no error may quote
   */
  constructor(storage: ConnectionStorage, base: string, secrets: readonly string[] = []) {
    this.#storage = storage
    this.#base = base
    this.#secrets = secrets
  }

  /** Returns the same storage with errors that do not quote these secrets. Drivers quote commands, results and pipelines. */
  redacting(secrets: readonly string[]): KeyedStorage {
    return new KeyedStorage(this.#storage, this.#base, secrets)
  }

  /** Returns the value at a place, or undefined if there is none. */
  async get(key: string, place: Place): Promise<unknown> {
    return await this.#call(key, async () => {
      const value = await this.#storage.getItem(this.#storageKey(key, place))
      if (value === null || value === undefined) return undefined
      if (typeof value === 'string' || typeof value === 'object') return value
      throw new TypeError(`getItem returned a ${typeof value} instead of text.`)
    })
  }

  async set(key: string, place: Place, value: string): Promise<void> {
    await this.#call(key, () => this.#storage.setItem(this.#storageKey(key, place), value))
  }

  async remove(key: string, place: Place): Promise<void> {
    await this.#call(key, () => this.#storage.removeItem(this.#storageKey(key, place)))
  }

  /** Yields the places of a connection that have a value, in no particular order. Foreign keys may be included. */
  async *places(key: string): AsyncGenerator<string, void, undefined> {
    yield* this.#remainders(key, this.#storageKey(key, ''))
  }

  /** Yields the keys of the connections that have a pointer. */
  async *keys(): AsyncGenerator<string, void, undefined> {
    const end = ':current'
    for await (const name of this.#remainders(undefined, `${this.#base}:`)) {
      const key = name.endsWith(end) ? name.slice(0, -end.length) : undefined
      if (isConnectionKey(key)) yield key
    }
  }

  /** Yields the remainder of each storage key that starts with `start`. */
  async *#remainders(key: string | undefined, start: string): AsyncGenerator<string, void, undefined> {
    try {
      const names: unknown = await inTime(this.#storage.getKeys(start))
      if (isError(names)) throw names
      for await (const name of eachInTime(names as StorageKeys)) {
        if (name.startsWith(start)) yield name.slice(start.length)
      }
    } catch (thrown) {
      throw this.#failed(key, thrown)
    }
  }

  #storageKey(key: string, place: string): string {
    return `${this.#base}:${key}:${place}`
  }

  /** Some drivers return an error instead of throwing it, for example when no file descriptors are left. */
  async #call(key: string, method: () => unknown): Promise<unknown> {
    try {
      const value = await inTime(method())
      if (isError(value)) throw value
      return value
    } catch (thrown) {
      throw this.#failed(key, thrown)
    }
  }

  #failed(key: string | undefined, thrown: unknown): ConnectionStoreError {
    const cause = withoutTokens(safeCause(thrown, this.#secrets))
    const whose = key === undefined ? 'of the connections' : `of the connection "${key}"`
    return new ConnectionStoreError(`The storage ${whose} failed: ${cause.message.replace(/\.$/, '')}.`, {
      reason: 'storage_failed',
      key,
      cause,
      hint: 'Check that the storage is reachable, then try again.',
    })
  }
}

/**
 * Matches the token of a quoted entry, also if its quotes are escaped because the entry is quoted within JSON. Ends at the
 * first quote with the same escape.
 */
const quotedToken = /((\\*)"accessToken\2"\s*:\s*\2")(?:(?!(?<!\\)\2")[\s\S])*/g

/** Removes the tokens of quoted entries from a copy of an error and its causes. */
function withoutTokens(error: Error): Error {
  for (let part: unknown = error; isError(part); part = part.cause) {
    const hidden = (text: string) => text.replace(quotedToken, `$1${placeholder}`)
    part.message = hidden(part.message)
    part.name = hidden(part.name)
    part.stack = hidden(part.stack ?? '')
    if ('code' in part) part.code = hidden(String(part.code))
  }
  return error
}

/** Awaits a result of the storage, up to the time limit. */
async function inTime<Value>(result: Value): Promise<Awaited<Value>> {
  if (typeof (result as { then?: unknown } | null | undefined)?.then !== 'function') return await result
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not respond within ${timeLimit / 1000} seconds.`)), timeLimit)
  })
  try {
    return await Promise.race([result, limit])
  } finally {
    clearTimeout(timer)
  }
}

/** Yields the keys of a storage, and awaits each of them up to the time limit. */
async function* eachInTime(names: StorageKeys): AsyncGenerator<string, void, undefined> {
  if (typeof (names as Partial<AsyncIterable<string>> | null)?.[Symbol.asyncIterator] !== 'function') {
    yield* names
    return
  }
  const iterator = (names as AsyncIterable<string>)[Symbol.asyncIterator]()
  let isReading = false
  try {
    for (;;) {
      isReading = true
      const { done, value } = await inTime(iterator.next())
      if (done === true) return
      isReading = false
      yield value
    }
  } finally {
    // Left early by the caller. After a failure or the end there is nothing to close.
    if (!isReading) await inTime(iterator.return?.())
  }
}
