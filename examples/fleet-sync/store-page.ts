import { createHash } from 'node:crypto'
import type { Change, Claim, FetchedItem } from './database.ts'
import { parameterRows, parameters, type Query, wellFormed } from './sql.ts'

type NewChange = Pick<Change, 'kind' | 'id' | 'change'>

/**
 * The most rows of a statement. The service may return a list without pages, and a statement has limited parameters. The
 * time to bind them grows with the square of their number in SQLite.
 */
const most = 100

/** Stores the items of a response, and reports those that are new, changed or restored. */
export async function storePage(query: Query, claim: Claim, fetched: readonly FetchedItem[]): Promise<void> {
  const storable = fetched.map((item) => ({ ...item, id: wellFormed(item.id), data: wellFormed(item.data) }))
  // A list that changes while it is read can contain an item twice.
  const items = [...new Map(storable.map((item) => [item.id, item])).values()]
  for (let start = 0; start < items.length; start += most) {
    await storeItems(query, claim, items.slice(start, start + most))
  }
}

async function storeItems(query: Query, claim: Claim, items: readonly FetchedItem[]): Promise<void> {
  const { key, sweep } = claim
  const rows = await query(
    `SELECT id, hash, last_seen, deleted FROM items WHERE key = $1 AND kind = $2 AND id IN (${parameters(3, items.length)})`,
    [key, items[0]?.kind ?? null, ...items.map(({ id }) => id)],
  )
  const stored = new Map(rows.map((row) => [row.id, row]))
  const changes: NewChange[] = []
  const values = items.flatMap(({ kind, id, conversation, data }) => {
    const hash = hashOf(data)
    const before = stored.get(id)
    if (before === undefined) changes.push({ kind, id, change: 'created' })
    else if (Number(before.deleted) === 1) changes.push({ kind, id, change: 'restored' })
    else if (before.hash !== hash) changes.push({ kind, id, change: 'updated' })
    return [key, kind, id, conversation ?? null, hash, JSON.stringify(data), sweep, 0]
  })
  await query(
    `INSERT INTO items VALUES ${parameterRows(items.length, 8)} ON CONFLICT (key, kind, id) DO UPDATE SET
       conversation = excluded.conversation, hash = excluded.hash, data = excluded.data,
       last_seen = excluded.last_seen, deleted = 0`,
    values,
  )

  const appeared = changes.filter(({ change }) => change !== 'updated').length
  const met = items.filter(({ id }) => Number(stored.get(id)?.last_seen) !== sweep).length
  await query('UPDATE connections SET items = items + $2, sweep_items = sweep_items + $3 WHERE key = $1', [
    key,
    appeared,
    met,
  ])
  await reportChanges(query, claim, changes)
}

/** Appends changes to the connection's log, in the transaction that makes them. So each is reported exactly once. */
export async function reportChanges(query: Query, { key, sweep }: Claim, changes: readonly NewChange[]): Promise<void> {
  const counted = await query('UPDATE connections SET changes = changes + $2 WHERE key = $1 RETURNING changes', [
    key,
    changes.length,
  ])
  let number = Number(counted[0]?.changes) - changes.length
  for (let start = 0; start < changes.length; start += most) {
    const part = changes.slice(start, start + most)
    const values = part.flatMap(({ kind, id, change }) => {
      number += 1
      return [key, number, kind, id, change, sweep]
    })
    await query(`INSERT INTO changes VALUES ${parameterRows(part.length, 6)}`, values)
  }
}

/** Returns the SHA-256 of an item's canonical JSON. */
function hashOf(data: object): string {
  return createHash('sha256').update(JSON.stringify(data, canonical)).digest('hex')
}

/** Sorts the fields of an object. Leaves out the URLs of attachments, which are signed anew for each response. */
function canonical(field: string, value: unknown): unknown {
  if (field === 'presigned_url') return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
