import { type KeyValueStorage, unfit } from '../interface.ts'

/** Runs one statement as a separate transaction, and returns its rows. Parameters are `$1`, `$2`, … */
export type Query = (sql: string, ...values: string[]) => Promise<readonly unknown[]>

interface Row {
  readonly key: string
  readonly value: string
}

const pageSize = 1000

/** Keeps texts in a table, in SQL that SQLite and Postgres both understand. */
export function sqlStorage(query: Query, table = 'support_workspace_sdk'): KeyValueStorage {
  const rows = async (sql: string, ...values: string[]) => {
    const found = await query(sql, ...values)
    if (!Array.isArray(found)) throw unfit('The client returned no rows.')
    return found as readonly Row[]
  }
  const get = async (key: string) => (await rows(`SELECT value FROM ${table} WHERE key = $1`, key))[0]?.value
  const write = (key: string, expected: string | null, value: string | null) => {
    if (value === null)
      return rows(`DELETE FROM ${table} WHERE key = $1 AND value = $2 RETURNING key`, key, expected ?? '')
    return expected === null
      ? rows(`INSERT INTO ${table} VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING key`, key, value)
      : rows(`UPDATE ${table} SET value = $3 WHERE key = $1 AND value = $2 RETURNING key`, key, expected, value)
  }
  return {
    get,
    async compareAndSet(key, expected, value) {
      if (expected === null && value === null) return (await get(key)) === undefined
      return (await write(key, expected, value)).length === 1
    },
    async *list(prefix) {
      const pageFrom = (comparison: '>=' | '>', key: string) =>
        rows(`SELECT key, value FROM ${table} WHERE key ${comparison} $1 ORDER BY key LIMIT ${pageSize}`, key)
      // The keys that start with the prefix are next to each other, and the prefix can be a key itself.
      let found = await pageFrom('>=', prefix)
      while (true) {
        yield found.flatMap(({ key, value }) => (key.startsWith(prefix) ? [[key, value] as const] : []))
        const last = found.at(-1)?.key
        if (!last?.startsWith(prefix)) return
        found = await pageFrom('>', last)
      }
    },
  }
}
