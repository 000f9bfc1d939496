import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { type Query, type Row, type Sql, type SqlValue, schema, storable } from './sql.ts'

/** Opens a SQLite file, which several processes of one machine can share. */
export function openSqlite(path: string): Sql {
  try {
    // Only this user may read a new file. SQLite gives the files beside it the same permissions.
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 })
  } catch {
    // It exists, or else SQLite says why it cannot be created.
  }
  const database = new DatabaseSync(path)
  // A writer waits for the writers of other processes. WAL lets readers go on meanwhile.
  database.exec('PRAGMA busy_timeout = 15000')
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = NORMAL')
  database.exec(schema)

  const query: Query = async (sql, values = []) => {
    const statement = database.prepare(sql)
    // Otherwise a single integer beyond the safe ones would make every row unreadable.
    statement.setReadBigInts(true)
    const rows = statement.all(Object.fromEntries(values.map((value, index) => [`$${index + 1}`, storable(value)])))
    return rows.map(toRow)
  }

  // All jobs of a process share one connection, so a statement must not run within the transaction of another job.
  let queue: Promise<unknown> = Promise.resolve()
  function inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = queue.then(run)
    queue = result.catch(() => {})
    return result
  }

  return {
    query: (sql, values) => inTurn(() => query(sql, values)),
    transaction: (run) =>
      inTurn(async () => {
        // Takes the write lock now. A later upgrade from a read lock could fail.
        database.exec('BEGIN IMMEDIATE')
        try {
          const result = await run(query)
          database.exec('COMMIT')
          return result
        } catch (error) {
          database.exec('ROLLBACK')
          throw error
        }
      }),
    close: () => inTurn(async () => database.close()),
  }
}

function toRow(columns: Record<string, unknown>): Row {
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? Number(value) : (value as SqlValue),
    ]),
  )
}
