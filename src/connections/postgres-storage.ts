import { InvalidArgumentError } from '../errors/index.ts'
import type { ConnectionStorage } from './storage.ts'

/** A pool or a client of `pg`. */
export interface PostgresClient {
  query(
    sql: string,
    values?: string[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount?: number | null }>
}

/** The options of `postgresStorage`. */
export interface PostgresStorageOptions {
  /**
   * The name of the table, with a schema if necessary: lower-case letters, digits, `_` and a `.`.
   * @default 'connections'
   */
  readonly table?: string | undefined
}

const pageSize = 1000

/**
 * Keeps connections in Postgres, which several machines can share. Works with the pool and the client of `pg`. Creates its
 * table if it does not exist. If your app must not create tables, create it with the SQL of `postgresTable`. Queries must go
 * to the primary server, not to a read replica. Add an `error` listener to a pool: without one, a lost connection ends the
 * process.
 *
 * @throws InvalidArgumentError when `table` is not the name of a table
 */
export function postgresStorage(client: PostgresClient, { table }: PostgresStorageOptions = {}): ConnectionStorage {
  const name = checkTable(table)
  async function query(sql: string, ...values: string[]): Promise<{ rows: readonly unknown[]; count: number }> {
    for (let isCreated = false; ; isCreated = true) {
      try {
        const { rows, rowCount } = await client.query(sql, values)
        return { rows, count: rowCount ?? 0 }
      } catch (thrown) {
        if (codeOf(thrown) !== undefinedTable || isCreated) throw thrown
      }
      // Another process may create the table at the same time.
      await client.query(postgresTable(name)).catch((thrown: unknown) => {
        if (!createdMeanwhile.includes(codeOf(thrown))) throw thrown
      })
    }
  }
  const get = async (key: string) => {
    const { rows } = await query(`SELECT value FROM ${name} WHERE key = $1`, key)
    return (rows[0] as Row | undefined)?.value
  }
  return {
    get,
    async compareAndSet(key, expected, value) {
      if (expected === null && value === null) return (await get(key)) === undefined
      try {
        const { count } =
          value === null
            ? await query(`DELETE FROM ${name} WHERE key = $1 AND value = $2`, key, expected ?? '')
            : expected === null
              ? await query(`INSERT INTO ${name} VALUES ($1, $2) ON CONFLICT DO NOTHING`, key, value)
              : await query(`UPDATE ${name} SET value = $3 WHERE key = $1 AND value = $2`, key, expected, value)
        return count === 1
      } catch (thrown) {
        if (codeOf(thrown) === serializationFailure) return false
        throw thrown
      }
    },
    async *list(prefix) {
      const page = `SELECT key, value FROM ${name} WHERE key > $1 AND key < $2 ORDER BY key LIMIT ${pageSize}`
      // Sorts after every key that starts with the prefix.
      const end = `${prefix}\u{10ffff}`
      for (let last = prefix; ; ) {
        const rows = (await query(page, last, end)).rows as readonly Row[]
        yield rows.map(({ key, value }) => [key, value] as const)
        if (rows.length < pageSize) return
        last = rows.at(-1)?.key ?? end
      }
    },
  }
}

/**
 * Returns the SQL that creates the table of `postgresStorage`, for a migration.
 *
 * @throws InvalidArgumentError when `table` is not the name of a table
 */
export function postgresTable(table?: string): string {
  return `CREATE TABLE IF NOT EXISTS ${checkTable(table)} (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)`
}

interface Row {
  readonly key: string
  readonly value: string
}

const undefinedTable = '42P01'
/** Unique violations of the catalog, and a table that exists. */
const createdMeanwhile: readonly unknown[] = ['23505', '42P07']
/** Where the default isolation level is stricter than `read committed`, a write that lost fails with it. */
const serializationFailure = '40001'

function codeOf(thrown: unknown): unknown {
  return (thrown as { readonly code?: unknown } | null | undefined)?.code
}

function checkTable(table: unknown = 'connections'): string {
  if (typeof table === 'string' && /^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]*$/.test(table)) return table
  throw new InvalidArgumentError(
    'table',
    '`table` must be the name of a table: lower-case letters, digits and `_`, with a schema before a `.` if necessary.',
    'Pass for example "app.connections", or leave it out.',
  )
}
