import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findPostgres, type PostgresServer, startPostgres } from './postgres-server.ts'

/**
 * Describes tests that run on SQLite and on Postgres. Each test gets its own database from `createDatabase`. Those on
 * Postgres are skipped if it is not installed, or fail with `REQUIRE_POSTGRES=1`.
 */
export function describeOnDatabases(file: string, tests: (createDatabase: () => Promise<string>) => void): void {
  describe('on SQLite', () => {
    let folder: string
    let databases = 0
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'fleet-'))
    })
    afterAll(() => rmSync(folder, { recursive: true }))
    tests(async () => join(folder, `${++databases}.sqlite`))
  })

  const binaries = findPostgres()
  const isRequired = process.env.REQUIRE_POSTGRES === '1'
  test.runIf(isRequired)('finds the postgres that REQUIRE_POSTGRES requires', () => {
    expect(binaries, 'postgres is not installed').toBeDefined()
  })
  if (binaries === undefined && !isRequired) {
    console.warn(
      `Skipped tests of ${file}: postgres is not installed. To run them: apt-get install postgresql. To fail without it: REQUIRE_POSTGRES=1.`,
    )
  }
  describe.skipIf(binaries === undefined)('on Postgres', () => {
    let postgres: PostgresServer
    beforeAll(async () => {
      postgres = await startPostgres(binaries ?? '')
    })
    afterAll(async () => await postgres.close())
    tests(() => postgres.createDatabase())
  })
}
