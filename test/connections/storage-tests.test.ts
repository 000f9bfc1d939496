import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type ConnectionStorage, storageTests } from 'support-workspace-sdk/storage-tests'
import { createStorage } from 'unstorage'
import fsDriver from 'unstorage/drivers/fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryStorage } from '../../src/connections/storage.ts'
import { findRedis, type RedisServer, startRedis } from './helpers/redis-server.ts'
import { sqliteStorage } from './helpers/sqlite-storage.ts'
import { mapStorage, redisStorage } from './helpers/storages.ts'

function runAll(open: () => ConnectionStorage) {
  for (const { name, run } of storageTests({ open })) test(name, run)
}

describe('the storage in memory', () => {
  const storage = memoryStorage()
  runAll(() => storage)
})

describe('files, through unstorage', () => {
  const base = mkdtempSync(join(tmpdir(), 'storage-tests-'))
  afterAll(() => rmSync(base, { recursive: true }))
  runAll(() => createStorage({ driver: fsDriver({ base }) }))
})

describe('node:sqlite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'storage-tests-'))
  const open: { dispose: () => void }[] = []
  afterAll(() => {
    for (const storage of open) storage.dispose()
    rmSync(folder, { recursive: true })
  })
  runAll(() => {
    const storage = sqliteStorage(join(folder, 'storage.db'))
    open.push(storage)
    return storage
  })
})

const binary = findRedis()

describe.skipIf(binary === undefined)('Redis', () => {
  let redis: RedisServer
  const clients: Redis[] = []
  beforeAll(async () => {
    redis = await startRedis(binary ?? '')
  })
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.quit()))
    await redis.close()
  })
  runAll(() => {
    const client = new Redis({ path: redis.path })
    clients.push(client)
    return redisStorage(client)
  })
})

describe('an unsuitable storage fails', () => {
  const parts = ({ items: _, ...storage }: ReturnType<typeof mapStorage>): ConnectionStorage => storage
  const good = () => parts(mapStorage())
  const shared = (change: (storage: ConnectionStorage) => Partial<ConnectionStorage>) => {
    const storage = good()
    return () => ({ ...storage, ...change(storage) })
  }
  const bad: [string, () => ConnectionStorage, RegExp][] = [
    ['because it stores nothing', shared(() => ({ setItem: () => {} })), /returns the text/],
    ['because it removes nothing', shared(() => ({ removeItem: () => {} })), /removes a key/],
    ['because it lists no keys', shared(() => ({ getKeys: () => [] })), /lists the full keys/],
    [
      'because it lists keys without their base',
      shared((storage) => ({
        getKeys: (base = '') => (storage.getKeys() as string[]).map((key) => key.slice(base.length)),
      })),
      /lists the full keys/,
    ],
    [
      'because it ignores punctuation',
      shared((storage) => ({
        getItem: (key) => storage.getItem(key.replaceAll(/[.=-]/g, '')),
        setItem: (key, value) => storage.setItem(key.replaceAll(/[.=-]/g, ''), value),
      })),
      /distinguishes similar keys/,
    ],
    [
      'because it returns errors',
      shared((storage) => ({ getItem: (key) => storage.getItem(key) ?? new Error('none') })),
      /returns nothing for a key/,
    ],
    [
      'because it truncates keys',
      shared((storage) => ({
        getItem: (key) => storage.getItem(key),
        setItem: (key, value) => storage.setItem(key.slice(0, 200), value),
      })),
      /247 characters/,
    ],
    ['because processes do not share it', good, /another process/],
  ]

  test.each(bad)('%s', async (_title, open, failing) => {
    const failed: string[] = []
    for (const { name, run } of storageTests({ open })) {
      await run().catch((error: unknown) => {
        expect(error).toBeInstanceOf(Error)
        failed.push(name)
      })
    }
    expect(failed.join('\n')).toMatch(failing)
  })

  test('with a message that describes the problem', async () => {
    const open = shared(() => ({ setItem: () => {} }))
    const { run } = storageTests({ open }).find(({ name }) => name.startsWith('replaces')) ?? { run: async () => {} }
    await expect(run()).rejects.toThrow('The storage is not suitable for connections: expected a value to be')
  })
})
