import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { createStorage, prefixStorage } from 'unstorage'
import fsDriver from 'unstorage/drivers/fs'
import type { ConnectionStorage } from '../../../src/oauth.ts'
import { sqliteStorage } from './sqlite-storage.ts'

export interface OpenStorage {
  readonly storage: ConnectionStorage
  readonly close: () => void | Promise<void>
}

/** The storages that the store is tested with, except Redis, by name. */
export const storages: Readonly<Record<string, () => OpenStorage>> = {
  'a Map': () => ({ storage: mapStorage(), close: () => {} }),
  'unstorage in memory': () => unstorage(createStorage()),
  'unstorage with a prefix': () => {
    const storage = createStorage()
    return { storage: prefixStorage(storage, 'of-this-app'), close: () => storage.dispose() }
  },
  'unstorage on files': () => {
    const base = mkdtempSync(join(tmpdir(), 'connections-'))
    const { storage, close } = unstorage(createStorage({ driver: fsDriver({ base }) }))
    return { storage, close: async () => Promise.resolve(close()).then(() => rmSync(base, { recursive: true })) }
  },
  SQLite: () => {
    const storage = sqliteStorage(':memory:')
    return { storage, close: storage.dispose }
  },
  'unstorage on SQLite': () => unstorage(createStorage({ driver: sqliteStorage(':memory:') })),
}

function unstorage(storage: ReturnType<typeof createStorage>): OpenStorage {
  return { storage, close: () => storage.dispose() }
}

/** A storage on Redis that scans its keys, so that listing many keys does not block other commands. */
export function redisStorage(client: Redis): ConnectionStorage {
  return {
    getItem: (key) => client.get(key),
    setItem: (key, value) => client.set(key, value),
    removeItem: (key) => client.del(key),
    async *getKeys(base = '') {
      const pattern = `${base.replace(/[*?[\]\\]/g, '\\$&')}*`
      for await (const keys of client.scanStream({ match: pattern, count: 1000 })) yield* keys as string[]
    },
  }
}

/** A storage whose items a test can read and change. */
export function mapStorage(items = new Map<string, string>()) {
  return {
    items,
    getItem: (key: string): string | null => items.get(key) ?? null,
    setItem: (key: string, value: string): void => void items.set(key, value),
    removeItem: (key: string): void => void items.delete(key),
    getKeys: (): string[] => [...items.keys()],
  }
}

export type Method = 'getItem' | 'setItem' | 'removeItem' | 'getKeys'

/** A storage that records each call, and first awaits `before`, which may throw or wait. */
export function watched(storage: ConnectionStorage = mapStorage()) {
  const calls: { method: Method; key: string }[] = []
  const watch = {
    calls,
    /** Called with the number of the call, starting at 1. */
    before: (_call: { method: Method; key: string; number: number }): unknown => undefined,
    count: (method: Method) => calls.filter((call) => call.method === method).length,
    reset: () => void calls.splice(0),
    storage: {
      getItem: (key) => pass('getItem', key, () => storage.getItem(key)),
      setItem: (key, value) => pass('setItem', key, () => storage.setItem(key, value)),
      removeItem: (key) => pass('removeItem', key, () => storage.removeItem(key)),
      getKeys: (base = '') => pass('getKeys', base, async () => storage.getKeys(base)),
    } satisfies ConnectionStorage as ConnectionStorage,
  }
  async function pass<Value>(method: Method, key: string, proceed: () => Value): Promise<Awaited<Value>> {
    calls.push({ method, key })
    await watch.before({ method, key, number: calls.length })
    return await proceed()
  }
  return watch
}
