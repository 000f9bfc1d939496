import { InvalidArgumentError } from '../../errors/index.ts'
import { isError } from '../../errors/redact.ts'
import { checkText } from '../../shared/check-options.ts'
import { checkMethods, type KeyValueStorage } from '../interface.ts'
import { sqlStorage } from './sql-storage.ts'

/** A SQLite database, as `node:sqlite` opens it. */
export interface SqliteDatabase {
  /** Runs statements without parameters. */
  exec(sql: string): unknown
  /** Prepares a statement. */
  prepare(sql: string): SqliteStatement
  /** Closes the database. */
  close(): unknown
}

/** A prepared statement of a `SqliteDatabase`. */
export interface SqliteStatement {
  /** Runs the statement and returns its rows. */
  all(...values: string[]): unknown[]
}

/** A storage on SQLite. */
export interface SqliteStorage extends KeyValueStorage {
  /** Closes the file. A database that was passed open stays open. */
  close(): void
}

/** How long a write waits for writes of other processes, in milliseconds. SQLite allows one write at a time. */
const longestWait = 10_000

/**
 * Keeps connections in a SQLite database, which all processes of one machine can share. Uses `node:sqlite`, which Node
 * has from 22.13. Creates the table `support_workspace_sdk` when it is first used.
 *
 * @param database the path of the file, or an open database. A file that does not exist is created so that only the
 *   user of the process can read it (mode 0600), because it can hold tokens. SQLite itself creates one that a `file:` URI
 *   names. An open database keeps its settings. While it is in a transaction, every call rejects with an
 *   `InvalidArgumentError`.
 *
 * @example
 * const store = new ConnectionStore({ baseUrl, secret, storage: sqliteStorage('connections.db') })
 */
export function sqliteStorage(database: string | SqliteDatabase): SqliteStorage {
  const hint = 'Pass the path of a file, or a `DatabaseSync`.'
  if (typeof database === 'string') checkText('database', database)
  else checkMethods('database', database, ['exec', 'prepare', 'close'], hint)
  let opened: SqliteDatabase | undefined
  let isClosed = false
  async function query(sql: string, ...values: string[]): Promise<readonly unknown[]> {
    for (const end = performance.now() + longestWait; ; ) {
      if (isClosed) throw new InvalidArgumentError('database', 'The storage is closed.', 'Close it after its last use.')
      try {
        const run = () => {
          opened ??= open(database)
          return opened.prepare(sql.replaceAll('$', '?')).all(...values)
        }
        return typeof database === 'string' ? run() : runOn(database, run)
      } catch (thrown) {
        if (isError(thrown) && /not (a database|open)|malformed/.test(thrown.message)) throw cannotUse(database, thrown)
        if (!isLocked(thrown) || performance.now() > end) throw thrown
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
  }
  return {
    ...sqlStorage(query),
    close() {
      if (typeof database === 'string' && !isClosed) opened?.close()
      isClosed = true
    },
  }
}

function open(given: string | SqliteDatabase): SqliteDatabase {
  const database = typeof given === 'string' ? openFile(given) : given
  try {
    if (typeof given === 'string') {
      // SQLite would block the event loop while it waits for a lock.
      database.exec('PRAGMA busy_timeout = 0')
      database.exec('PRAGMA journal_mode = WAL')
    }
    database.exec(
      'CREATE TABLE IF NOT EXISTS support_workspace_sdk (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
    )
    return database
  } catch (thrown) {
    if (typeof given === 'string') database.close()
    throw thrown
  }
}

/** Runs a function on a database of the caller, and restores the database's settings afterwards. Runs synchronously. */
function runOn<Result>(database: SqliteDatabase, run: () => Result): Result {
  checkNoTransaction(database)
  const [row] = database.prepare('PRAGMA busy_timeout').all() as [{ readonly timeout: number }]
  // SQLite would block the event loop while it waits for a lock.
  database.exec('PRAGMA busy_timeout = 0')
  try {
    return run()
  } finally {
    database.exec(`PRAGMA busy_timeout = ${row.timeout}`)
  }
}

/**
 * Throws within a transaction of the caller, because its rollback would undo a write that the storage has confirmed.
 */
function checkNoTransaction(database: SqliteDatabase): void {
  try {
    database.exec('BEGIN')
  } catch (thrown) {
    if (!isError(thrown) || !thrown.message.includes('within a transaction')) throw thrown
    throw new InvalidArgumentError(
      'database',
      'The database is in a transaction, whose rollback would undo what the storage writes.',
      'End the transaction first, or pass `sqliteStorage` the path of the file, which it then opens itself.',
    )
  }
  database.exec('COMMIT')
}

function openFile(path: string): SqliteDatabase {
  // Not an import, which bundlers for other platforms would try to resolve.
  const { process } = globalThis as Partial<Runtime>
  const sqlite = process?.getBuiltinModule?.('node:sqlite')
  try {
    if (sqlite !== undefined) {
      createPrivately(path, process?.getBuiltinModule?.('node:fs'))
      return new sqlite.DatabaseSync(path)
    }
  } catch (thrown) {
    throw cannotUse(path, thrown)
  }
  throw new InvalidArgumentError(
    'database',
    '`sqliteStorage` needs `node:sqlite`, which this runtime does not have.',
    'Use Node 22.13 or later, or pass an open database.',
  )
}

/**
 * Creates the file before SQLite does, which would let other users read it. SQLite gives its other files (`-wal`,
 * `-shm`) the modes of this one. A link is followed, as SQLite does.
 */
function createPrivately(path: string, fs: FileSystem | undefined): void {
  // A database in memory, or a file with options in its name, which SQLite reads itself.
  if (fs === undefined || path === ':memory:' || path.startsWith('file:')) return
  try {
    fs.closeSync(fs.openSync(path, 'a+', 0o600))
  } catch {
    // It is there, or SQLite says why it cannot be.
  }
}

function cannotUse(database: string | SqliteDatabase, thrown: unknown): InvalidArgumentError {
  const isPath = typeof database === 'string'
  const why = isError(thrown) ? thrown.message : 'it cannot be opened'
  const isDamaged = /not a database|malformed/.test(why)
  return new InvalidArgumentError(
    'database',
    `\`sqliteStorage\` cannot use ${isPath ? database : 'the `DatabaseSync`'}: ${why}.`,
    isDamaged ? damagedHint : isPath ? pathHint : 'Pass a database that is open.',
  )
}

const pathHint = 'Pass a file in a folder that exists and that this process may write to.'
const damagedHint =
  'Restore a backup, or pass the right file. With a new file, a journal sends every write again, and a store has no connection.'

interface Runtime {
  readonly process: {
    getBuiltinModule?<Name extends keyof Modules>(name: Name): Modules[Name] | undefined
  }
}

interface Modules {
  readonly 'node:sqlite': { readonly DatabaseSync: new (path: string) => SqliteDatabase }
  readonly 'node:fs': FileSystem
}

interface FileSystem {
  openSync(path: string, flags: string, mode: number): number
  closeSync(file: number): void
}

function isLocked(thrown: unknown): boolean {
  return thrown instanceof Error && /database( table| schema)? is locked/.test(thrown.message)
}
