import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { ConnectionStore } from '../../src/oauth.ts'
import { itemsOfMany } from './helpers/many-connections.ts'
import { findRedis, startRedis } from './helpers/redis-server.ts'
import { redisStorage } from './helpers/storages.ts'

const binary = findRedis()

test('lists 3,000 connections on files with 1,024 file descriptors', async () => {
  const base = mkdtempSync(join(tmpdir(), 'many-'))
  for (const [key, value] of await itemsOfMany(3000)) {
    const path = join(base, key.replaceAll(':', '/'))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, value)
  }
  const script = fileURLToPath(new URL('./helpers/list-many.ts', import.meta.url))
  const command = 'ulimit -n 1024 && exec "$0" "$1" "$2"'
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script, base])
  expect(JSON.parse(stdout)).toEqual({ listed: 3000, unreadable: 0 })
  rmSync(base, { recursive: true })
}, 180_000)

test.skipIf(binary === undefined)(
  'lists 50,000 connections (100,000 keys) in Redis without blocking other commands',
  async () => {
    const redis = await startRedis(binary ?? '')
    const [client, other] = [new Redis({ path: redis.path }), new Redis({ path: redis.path })]
    try {
      const items = await itemsOfMany(50_000)
      for (let start = 0; start < items.length; start += 10_000) {
        await client.mset(...items.slice(start, start + 10_000).flat())
      }
      expect(await client.dbsize()).toBe(100_000)

      const store = new ConnectionStore({ baseUrl: 'https://service.example', storage: redisStorage(client) })
      let listing = true
      const pings = (async () => {
        let count = 0
        for (; listing; count += 1) await other.ping()
        return count
      })()
      let connections = 0
      for await (const { actor } of store.list()) if (actor === 'app') connections += 1
      listing = false
      expect(connections).toBe(50_000)
      expect(await pings).toBeGreaterThan(100)
      const statistics = await client.info('commandstats')
      expect(statistics).not.toContain('cmdstat_keys')
      expect(Number(/cmdstat_scan:calls=(\d+)/.exec(statistics)?.[1])).toBeGreaterThanOrEqual(100)
    } finally {
      await Promise.all([client.quit(), other.quit()])
      await redis.close()
    }
  },
  180_000,
)
