import { InvalidArgumentError } from '../../errors/index.ts'
import { checkText, readOptions } from '../../shared/check-options.ts'
import { checkMethods, type KeyValueStorage } from '../interface.ts'
import { sqlStorage } from './sql-storage.ts'

/** A pool or a client of `pg`. */
export interface PostgresClient {
  /** Runs a statement with the values of its parameters, and returns its `rows`. */
  query(
    sql: string,
    values?: string[],
  ): Promise<{
    /** The rows as objects, with the names of the columns. */
    readonly rows: readonly unknown[]
  }>
}

/** The options of `postgresStorage`. */
export interface PostgresStorageOptions {
  /**
   * The name of the table, with a schema if necessary: lower-case letters, digits, `_` and a `.`.
   * @default 'support_workspace_sdk'
   */
  readonly table?: string | undefined
}

/**
 * Keeps connections in Postgres, which several machines can share. Works with the pool and the client of `pg`. Creates
 * its table if it does not exist. If your app must not create tables, create it with the SQL of `postgresTable`.
 * Queries must go to the primary server, not to a read replica. Add an `error` listener to a pool: without one, a lost
 * connection ends the process.
 *
 * @throws InvalidArgumentError when `table` is not the name of a table
 */
export function postgresStorage(client: PostgresClient, options: PostgresStorageOptions = {}): KeyValueStorage {
  checkMethods('client', client, ['query'], 'Pass a pool or a client of `pg`.')
  const { table } = readOptions(options, { table: checkText }, '`postgresStorage`')
  const createTable = postgresTable(table)
  async function query(sql: string, ...values: string[]): Promise<readonly unknown[]> {
    for (let isCreated = false; ; isCreated = true) {
      try {
        return (await client.query(sql, values)).rows
      } catch (thrown) {
        const code = codeOf(thrown)
        // A write that lost, where the default isolation level is stricter than `read committed`.
        if (code === serializationFailure && !sql.startsWith('SELECT')) return []
        if (code !== undefinedTable || isCreated) throw thrown
      }
      await client.query(createTable).catch((thrown: unknown) => {
        if (!createdMeanwhile.includes(codeOf(thrown))) throw thrown
      })
    }
  }
  return sqlStorage(query, table)
}

/**
 * Returns the SQL that creates the table of `postgresStorage`, for a migration.
 *
 * @throws InvalidArgumentError when `table` is not the name of a table
 */
export function postgresTable(table = 'support_workspace_sdk'): string {
  if (typeof table === 'string' && /^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]*$/.test(table)) {
    return `CREATE TABLE IF NOT EXISTS ${table} (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)`
  }
  throw new InvalidArgumentError(
    'table',
    '`table` must be the name of a table: lower-case letters, digits and `_`, with a schema before a `.` if necessary.',
    'Pass for example "app.connections", or leave it out.',
  )
}

const undefinedTable = '42P01'
const serializationFailure = '40001'
/** Another process created the table at the same time: a unique violation of the catalog, or a table that exists. */
const createdMeanwhile: readonly unknown[] = ['23505', '42P07']

function codeOf(thrown: unknown): unknown {
  return (thrown as { readonly code?: unknown } | undefined)?.code
}
