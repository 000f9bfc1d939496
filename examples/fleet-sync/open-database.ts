// Opens SQLite or Postgres.
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import { type KeyValueStorage, postgresStorage, sqliteStorage } from 'support-workspace-sdk/storage'
import { log, messageOf } from './log.ts'
import { SettingsError } from './settings.ts'
import { type Database, migrations, type Tables } from './tables.ts'

export interface OpenDatabase {
  readonly database: Database
  /** The storage of the connections and their tokens, in the same database. */
  readonly storage: KeyValueStorage
  close(): Promise<void>
}

/**
 * Opens a `postgres://` URL or the path of a SQLite file, and creates the tables if they are missing. Rejects if the
 * database cannot be reached. Use `untilItWorks` to try again.
 */
export async function openDatabase(url: string): Promise<OpenDatabase> {
  const opened = /^postgres(ql)?:\/\//.test(url) ? openPostgres(url) : await openSqlite(url)
  const { database } = opened
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => migrations } })
  const { error } = await migrator.migrateToLatest()
  if (error === undefined) return opened
  await opened.close()
  throw error
}

/** Time limits for Postgres, so that a job ends even if the connection has gone silent. */
const timeouts = {
  connectionTimeoutMillis: 5_000,
  query_timeout: 15_000,
  statement_timeout: 10_000,
  lock_timeout: 5_000,
  // Postgres ends the idle transaction of a stopped worker, which releases its locks.
  idle_in_transaction_session_timeout: 10_000,
  keepAlive: true,
}

function openPostgres(url: string): OpenDatabase {
  const types = new pg.TypeOverrides()
  // Counts and milliseconds are safe integers.
  types.setTypeParser(pg.types.builtins.INT8, Number)
  const pool = new pg.Pool({ connectionString: url, types, max: 10, ...timeouts })
  const logError = (error: Error) => log('postgres', { message: error.message })
  // Without listeners, a lost connection ends the process, whether it is in the pool or in use.
  pool.on('error', logError)
  pool.on('connect', (client) => {
    client.on('error', logError)
    const query = client.query.bind(client) as (...values: unknown[]) => unknown
    Object.assign(client, { query: (...values: unknown[]) => endIfSilent(client, query(...values)) })
  })
  const database = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return { database, storage: postgresStorage(pool), close: () => database.destroy() }
}

/** Takes a connection that no longer responds out of the pool, which would lend it again. */
function endIfSilent(client: pg.ClientBase, result: unknown): unknown {
  if (result instanceof Promise) {
    result.catch((error) => {
      if (/timeout/.test(messageOf(error))) void (client as pg.Client).end()
    })
  }
  return result
}

async function openSqlite(path: string): Promise<OpenDatabase> {
  // The store has a separate handle of the file, so that its writes stay outside of the replica's transactions. It
  // opens the file first, because it creates a file that only this user can read.
  const storage = sqliteStorage(path)
  await storage.get('')
  const sqlite = new DatabaseSync(path)
  // A writer waits for the writers of other processes. WAL lets readers go on meanwhile.
  sqlite.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  const dialect = new SqliteDialect({
    database: {
      prepare(text) {
        // SQLite has already rolled back if the disk is full. A second rollback would fail and hide the first error.
        const isRolledBack = text === 'rollback' && !sqlite.isTransaction
        const statement = sqlite.prepare(isRolledBack ? 'SELECT 1' : text)
        const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
        return {
          reader: statement.columns().length > 0,
          all: (parameters) => statement.all(...values(parameters)),
          run: (parameters) => statement.run(...values(parameters)),
          iterate: (parameters) => statement.iterate(...values(parameters)),
        }
      },
      close: () => sqlite.close(),
    },
  })
  const database = new Kysely<Tables>({ dialect })
  return {
    database,
    storage,
    async close() {
      storage.close()
      await database.destroy()
    },
  }
}

/** Repeats a function until it succeeds. Stops when `signal` aborts, and if a setting is wrong. */
export async function untilItWorks<Value>(name: string, run: () => Promise<Value>, signal: AbortSignal) {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof SettingsError) throw error
      log('waiting', { for: name, message: messageOf(error) })
      await new Promise((resolve) => setTimeout(resolve, 2_000))
    }
  }
}
