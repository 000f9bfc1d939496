import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeOnPostgres, describeOnSqlite } from '../../fleet/helpers/databases.ts'
import { type RedisServer, startRedis } from '../../fleet/helpers/redis-server.ts'

/** Describes tests on SQLite, Redis with both clients, and Postgres, each with a new database. */
export function describeOnStorages(tests: (kind: string, address: () => string) => void): void {
  const inNewDatabase = (kind: string) => (createDatabase: () => Promise<string>) => {
    let address = ''
    beforeAll(async () => {
      address = await createDatabase()
    })
    tests(kind, () => address)
  }
  describeOnSqlite(inNewDatabase('sqlite'))
  describeOnRedis((path) => {
    describe('with ioredis', () => tests('redis', path))
    describe('with node-redis', () => tests('node-redis', path))
  })
  describeOnPostgres(inNewDatabase('postgres'))
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
