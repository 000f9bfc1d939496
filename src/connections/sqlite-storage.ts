import { InvalidArgumentError } from '../errors/index.ts'
import type { ConnectionStorage } from './storage.ts'

/** A SQLite database, as `node:sqlite` opens it. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

/** A prepared statement of a `SqliteDatabase`. */
export interface SqliteStatement {
  get(...values: string[]): unknown
  all(...values: string[]): unknown[]
  run(...values: (string | null)[]): { readonly changes: number | bigint }
}

/** A storage on SQLite. */
export interface SqliteStorage extends ConnectionStorage {
  /** Closes the file. A database that was passed open stays open. */
  close(): void
}

/** SQLite allows one writer at a time. The others try again, for at most 10 seconds, in milliseconds. */
const longestWait = 10_000
const pageSize = 1000

/**
 * Keeps connections in a SQLite database, which all processes of one machine can share. Uses `node:sqlite`, which Node has
 * from 22.13. Creates the table `connections` when it is first used.
 *
 * @param database the path of the file, which is created if it does not exist, or an open database
 * @throws InvalidArgumentError from the first call if the runtime has no `node:sqlite`
 *
 * @example
 * const store = new ConnectionStore({ baseUrl, secret, storage: sqliteStorage('connections.db') })
 */
export function sqliteStorage(database: string | SqliteDatabase): SqliteStorage {
  let opened: Statements | undefined
  let isClosed = false
  /** Waits for a lock without blocking the event loop, so SQLite itself must not wait. */
  async function run<Result>(use: (statements: Statements) => Result): Promise<Result> {
    for (const start = performance.now(); ; ) {
      if (isClosed) throw new Error('The storage is closed.')
      try {
        opened ??= open(database)
        return use(opened)
      } catch (thrown) {
        if (!isLocked(thrown) || performance.now() - start > longestWait) throw thrown
        await new Promise((resolve) => setTimeout(resolve, 1 + 9 * Math.random()))
      }
    }
  }
  return {
    get: (key) => run(({ get }) => (get.get(key) as Row | undefined)?.value),
    compareAndSet: (key, expected, value) =>
      run(({ get, insert, update, remove }) => {
        if (expected !== null && value !== null) return Number(update.run(value, key, expected).changes) === 1
        if (value !== null) return Number(insert.run(key, value).changes) === 1
        if (expected !== null) return Number(remove.run(key, expected).changes) === 1
        return get.get(key) === undefined
      }),
    async *list(prefix) {
      // Sorts after every key that starts with the prefix.
      const end = `${prefix}\u{10ffff}`
      for (let last = prefix; ; ) {
        const rows = await run(({ list }) => list.all(last, end) as Row[])
        yield rows.map(({ key, value }) => [key, value] as const)
        if (rows.length < pageSize) return
        last = rows.at(-1)?.key ?? end
      }
    },
    close() {
      if (typeof database === 'string' && !isClosed) opened?.database.close()
      isClosed = true
    },
  }
}

interface Row {
  readonly key: string
  readonly value: string
}

type Statements = ReturnType<typeof open>

function open(given: string | SqliteDatabase) {
  const database = typeof given === 'string' ? openFile(given) : given
  try {
    database.exec('PRAGMA busy_timeout = 0')
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('CREATE TABLE IF NOT EXISTS connections (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID')
    return {
      database,
      get: database.prepare('SELECT value FROM connections WHERE key = ?'),
      insert: database.prepare('INSERT INTO connections VALUES (?, ?) ON CONFLICT DO NOTHING'),
      update: database.prepare('UPDATE connections SET value = ? WHERE key = ? AND value = ?'),
      remove: database.prepare('DELETE FROM connections WHERE key = ? AND value = ?'),
      list: database.prepare(
        `SELECT key, value FROM connections WHERE key > ? AND key < ? ORDER BY key LIMIT ${pageSize}`,
      ),
    }
  } catch (thrown) {
    if (typeof given === 'string') database.close()
    throw thrown
  }
}

function openFile(path: string): SqliteDatabase {
  // Not an import, which bundlers for other platforms would try to resolve.
  const sqlite = (globalThis as Partial<Runtime>).process?.getBuiltinModule?.('node:sqlite')
  if (sqlite !== undefined) return new sqlite.DatabaseSync(path)
  throw new InvalidArgumentError(
    'database',
    '`sqliteStorage` needs `node:sqlite`, which this runtime does not have.',
    'Use Node 22.13 or later, or pass an open database.',
  )
}

interface Runtime {
  readonly process: {
    getBuiltinModule?(name: string): { readonly DatabaseSync: new (path: string) => SqliteDatabase } | undefined
  }
}

function isLocked(thrown: unknown): boolean {
  return thrown instanceof Error && /database( table| schema)? is locked/.test(thrown.message)
}
