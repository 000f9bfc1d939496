import { InvalidArgumentError } from '../errors/index.ts'

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
