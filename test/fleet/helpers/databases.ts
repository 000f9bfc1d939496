import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findPostgres, type PostgresServer, startPostgres } from './postgres-server.ts'

type Tests = (createDatabase: () => Promise<string>) => void

/** Describes tests that run on SQLite. Each test gets its own database from `createDatabase`. */
export function describeOnSqlite(tests: Tests): void {
  describe('on SQLite', () => {
    // In memory where possible, because each write waits for the disk.
    const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'sqlite-'))
    let databases = 0
    afterAll(() => rmSync(folder, { recursive: true }))
    tests(async () => join(folder, `${++databases}.sqlite`))
  })
}

/** Describes tests that need Postgres. Without it they are skipped, or fail with `REQUIRE_POSTGRES=1`. */
export function describeOnPostgres(tests: Tests): void {
  describe('on Postgres', () => {
    const binaries = findPostgres()
    if (binaries === undefined) {
      if (process.env.REQUIRE_POSTGRES === '1') test('needs postgres', () => expect.fail())
      else test.skip('needs postgres: apt-get install postgresql', () => {})
      return
    }
    let postgres: PostgresServer
    beforeAll(async () => {
      postgres = await startPostgres(binaries)
    })
    afterAll(async () => await postgres.close())
    tests(() => postgres.createDatabase())
  })
}
