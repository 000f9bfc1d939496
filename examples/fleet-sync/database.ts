// Opens Postgres, and creates the tables.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { postgresTable } from 'support-workspace-sdk/storage'
import { log, messageOf } from './log.ts'
import { SettingsError } from './settings.ts'

/**
 * A pool of connections. Each write of this program is one statement, so a process that is stopped leaves no transaction
 * open, and holds no lock.
 */
export type Database = pg.Pool

/** The limits of every wait for Postgres, in milliseconds, because a connection can go silent and a row can be locked. */
const limits = {
  connectionTimeoutMillis: 5_000,
  query_timeout: 15_000,
  statement_timeout: 10_000,
  lock_timeout: 5_000,
  keepAlive: true,
}

/** Creates what is missing of the tables. */
const schema = `${readFileSync(new URL('schema.sql', import.meta.url), 'utf8')}; ${postgresTable('feeds')}`

/** Opens the database and creates missing tables. Rejects if it cannot be reached: use `untilItWorks` to try again. */
export async function openDatabase(connectionString: string): Promise<Database> {
  const types = new pg.TypeOverrides()
  // Counts and milliseconds are safe integers.
  types.setTypeParser(pg.types.builtins.INT8, Number)
  const database = new pg.Pool({ connectionString, types, max: 10, ...limits })
  // Without listeners, a lost connection ends the process, whether it is in the pool or in use.
  const logError = (error: Error) => log('postgres', { message: error.message })
  database.on('error', logError).on('connect', (client) => void client.on('error', logError))
  try {
    await database.query(schema)
    return database
  } catch (error) {
    await closeDatabase(database)
    throw error
  }
}

/** Waits only briefly, because the database might not respond. */
export async function closeDatabase(database: Database): Promise<void> {
  await Promise.race([database.end(), setTimeout(5_000, undefined, { ref: false })])
}

/** Deletes rows in small steps, because a statement that deletes millions would run into its time limit. */
export async function deleteRows(database: Database, table: string, condition: string, values: unknown[]) {
  const some = `SELECT ctid FROM ${table} WHERE ${condition} LIMIT 1000`
  for (;;) {
    const { rowCount } = await database.query(`DELETE FROM ${table} WHERE ctid = ANY (ARRAY (${some}))`, values)
    if (!rowCount) return
  }
}

/** Replaces NUL, which Postgres rejects, and half of a surrogate pair, which UTF-8 cannot encode. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
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
      await setTimeout(2_000)
    }
  }
}
