import pg from 'pg'
import { type Query, type Sql, schema, storable } from './sql.ts'

/** Opens a Postgres database by its URL. */
export async function openPostgres(url: string): Promise<Sql> {
  const types = new pg.TypeOverrides()
  // Counts and milliseconds are within the safe integers.
  types.setTypeParser(pg.types.builtins.INT8, Number)
  const pool = new pg.Pool({ connectionString: url, types })
  // A lost idle connection is replaced. Without a listener it would end the process.
  pool.on('error', (error) => console.error(`Postgres: ${error.message}`))

  async function transaction<Result>(run: (query: Query) => Promise<Result>): Promise<Result> {
    const client = await pool.connect()
    let failure: Error | undefined
    try {
      await client.query('BEGIN')
      const result = await run(async (sql, values = []) => (await client.query(sql, values.map(storable))).rows)
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch((rollbackError: Error) => {
        failure = rollbackError
      })
      throw error
    } finally {
      client.release(failure)
    }
  }

  await transaction(async (query) => {
    // `CREATE TABLE IF NOT EXISTS` fails if two processes run it at the same time.
    await query('SELECT pg_advisory_xact_lock(7225101)')
    await query(schema)
  })
  return {
    query: async (sql, values = []) => (await pool.query(sql, values.map(storable))).rows,
    transaction,
    close: () => pool.end(),
  }
}
