import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { findPostgres, type PostgresServer, startPostgres } from '../../examples/helpers/postgres-server.ts'
import { describeOnRedis, type RedisServer, startRedis } from './redis-server.ts'

/** Describes tests on SQLite, Redis with both clients, and Postgres, each with a new database. */
export function describeOnStorages(file: string, tests: (kind: string, address: () => string) => void): void {
  describe('on SQLite', () => {
    // In memory where possible, because each write waits for the disk.
    const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'connections-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    tests('sqlite', () => join(folder, 'connections.db'))
  })

  describeOnRedis(file, (binary) => {
    let redis: RedisServer
    beforeAll(async () => {
      redis = await startRedis(binary)
    })
    afterAll(() => redis.close())
    describe.each([['ioredis', 'redis'] as const, ['node-redis', 'node-redis'] as const])('with %s', (_, kind) =>
      tests(kind, () => redis.path),
    )
  })

  const binaries = findPostgres()
  test.runIf(process.env.REQUIRE_POSTGRES === '1' && binaries === undefined)('finds postgres', () => {
    throw new Error('postgres is not installed')
  })
  describe.skipIf(binaries === undefined)('on Postgres', () => {
    let postgres: PostgresServer
    let url = ''
    beforeAll(async () => {
      postgres = await startPostgres(binaries ?? '')
      url = await postgres.createDatabase()
    })
    afterAll(() => postgres.close())
    tests('postgres', () => url)
  })
}
