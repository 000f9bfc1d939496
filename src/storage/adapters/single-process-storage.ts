import { checkMethods, inTime, type KeyValueStorage, pageOf, Turns, unfit } from '../interface.ts'

/** A storage of `unstorage`. */
export interface UnstorageLike {
  /** Returns the value of a key; null if there is none. */
  getItem(key: string): unknown
  /** Sets the value of a key. */
  setItem(key: string, value: string): unknown
  /** Removes a key. */
  removeItem(key: string): unknown
  /** Returns the keys that start with `base`. */
  getKeys(base: string): Promise<string[]> | string[]
}

const pageSize = 100

/**
 * Keeps connections in a storage of `unstorage`, which has no conditional write, so only ONE PROCESS may use it. Wrap
 * the storage once: two wraps, like two processes, lose logins and bring back revoked tokens. For several processes use
 * `sqliteStorage`, `redisStorage` or `postgresStorage`.
 *
 * Some drivers, among them the one for files, lose the record that they are writing when the process is killed.
 */
export function singleProcessStorage(storage: UnstorageLike): KeyValueStorage {
  const methods = ['getItem', 'setItem', 'removeItem', 'getKeys'] as const
  checkMethods('storage', storage, methods, 'Pass what `createStorage` of `unstorage` returns.')
  const turns = new Turns()
  /** Drivers can return parts of a text that is being written, so reads take turns as well. */
  const get = async (key: string): Promise<string | null> => {
    const value: unknown = (await inTime(storage.getItem(key))) ?? null
    if (value === null || typeof value === 'string') return value
    throw value instanceof Error ? value : unfit(`getItem returned a value of type ${typeof value}.`)
  }
  return {
    get: (key) => turns.run(key, () => get(key)),
    compareAndSet: (key, expected, value) =>
      turns.run(key, async () => {
        if ((await get(key)) !== expected) return false
        if (value !== null) await inTime(storage.setItem(key, value))
        else await inTime(storage.removeItem(key))
        return true
      }),
    async *list(prefix) {
      // `getKeys` takes whole parts of keys only, each of which ends with a colon.
      const keys = await storage.getKeys(prefix.slice(0, prefix.lastIndexOf(':') + 1))
      for (const left = keys.filter((key) => key.startsWith(prefix)); left.length > 0; ) {
        const some = left.splice(0, pageSize)
        const texts = await Promise.all(some.map((key) => turns.run(key, () => get(key))))
        yield pageOf(some, texts)
      }
    },
  }
}
