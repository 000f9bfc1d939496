import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeOnPostgres } from '../../fleet/helpers/databases.ts'
import { type RedisServer, startRedis } from '../../fleet/helpers/redis-server.ts'

/** Describes tests on SQLite, Redis with both clients, and Postgres, each with a new database. */
export function describeOnStorages(tests: (kind: string, address: () => string) => void): void {
  describe('on SQLite', () => {
    // In memory where possible, because each write waits for the disk.
    const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'connections-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    tests('sqlite', () => join(folder, 'connections.db'))
  })

  describeOnRedis((path) => {
    describe.each([['ioredis', 'redis'] as const, ['node-redis', 'node-redis'] as const])('with %s', (_, kind) =>
      tests(kind, path),
    )
  })

  describeOnPostgres((createDatabase) => {
    let url = ''
    beforeAll(async () => {
      url = await createDatabase()
    })
    tests('postgres', () => url)
  })
}

/** Describes tests that need `redis-server`. Without it they are skipped, or fail with `REQUIRE_REDIS=1`. */
export function describeOnRedis(tests: (path: () => string) => void): void {
  describe('on a Redis server', () => {
    if (spawnSync('redis-server', ['--version']).status !== 0) {
      if (process.env.REQUIRE_REDIS === '1') test('needs redis-server in the PATH', () => expect.fail())
      else test.skip('needs redis-server in the PATH: apt-get install redis-server', () => {})
      return
    }
    let redis: RedisServer
    beforeAll(async () => {
      redis = await startRedis()
    })
    afterAll(() => redis.close())
    tests(() => redis.url)
  })
}
