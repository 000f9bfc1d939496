import { InvalidArgumentError } from '../../errors/index.ts'

/**
 * Where connections are kept: any storage of this shape, such as one of `unstorage`. Its methods may be synchronous, and
 * what they throw is heard.
 *
 * It must show at once what was written last, to every process: a cache or an eventually consistent storage in front of
 * it makes revoked connections live on and new ones vanish. It needs no transactions, locks or compare-and-swap.
 */
export interface ConnectionStorage {
  /** The value, or a promise of it; null or undefined when there is none. A value may come back JSON-parsed. */
  getItem(key: string): unknown
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
  /** The full keys that begin with `base`, or more: the store picks its own. */
  getKeys(base?: string): readonly string[] | Promise<readonly string[]>
}

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
