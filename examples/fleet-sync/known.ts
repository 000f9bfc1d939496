// Queries of the replica: stored items, missing items, and the conversations to read next.
import { sql } from 'kysely'
import type { Claim, Position } from './organizations.ts'
import { parts } from './replica.ts'
import type { Database, ItemTable } from './tables.ts'

/** The stored items of a page, by id. */
export type Known = Map<string, Pick<ItemTable, 'hash' | 'deleted_at'>>

/** Number of ids, and of unread conversations, that are loaded at a time. */
const many = 10_000
export const fewUnread = 50
/** After this many failures in a row, a conversation is read only once in `readAllEvery` sync passes. */
export const mostFailures = 3

/** Returns the ids that were seen so far in the list that is being read. */
export async function loadSeen(database: Database, key: string): Promise<string[]> {
  const rows = await database.selectFrom('seen').select('ids').where('key', '=', key).execute()
  return rows.flatMap(({ ids }) => JSON.parse(ids) as string[])
}

/** Returns the stored items with these ids. Pass the ids of one page, because a list can have millions of items. */
export async function loadKnown(database: Database, key: string, kind: ItemTable['kind'], ids: readonly string[]) {
  const known: Known = new Map()
  const items = database.selectFrom('items').select(['id', 'hash', 'deleted_at']).where('key', '=', key)
  for (const part of parts(ids)) {
    const rows = await items.where('kind', '=', kind).where('id', 'in', part).execute()
    for (const { id, ...item } of rows) known.set(id, item)
  }
  return known
}

/** Returns the items of a list that are not deleted and that `seen` lacks. */
export async function findMissing(database: Database, key: string, list: string, seen: ReadonlySet<string>) {
  const missing: string[] = []
  const live = database.selectFrom('items').select('id').where('key', '=', key).where('list', '=', list)
  for (let last: string | undefined = ''; last !== undefined; ) {
    const page = live.where('deleted_at', 'is', null).where('id', '>', last).orderBy('id').limit(many)
    const ids: string[] = (await page.execute()).map(({ id }) => id)
    missing.push(...ids.filter((id) => !seen.has(id)))
    last = ids.length < many ? undefined : ids.at(-1)
  }
  return missing
}

/**
 * Returns the next conversations whose messages this sync pass has to read, in the order of reading. These are the
 * conversations that changed. Unchanged conversations, and those that failed too often, are added once in
 * `readAllEvery` sync passes.
 */
export async function nextUnread(database: Database, { key, pass }: Claim, at: Position, readAllEvery: number) {
  const hasTurn = sql<boolean>`(place + ${pass}) % ${readAllEvery} = 0`
  return await database
    .selectFrom('items')
    .select(['id', 'stale'])
    .where('key', '=', key)
    .where('kind', '=', 'conversation')
    .where('id', at.checkpoint.done ? '>' : '>=', at.list)
    .where(({ or, and, eb }) =>
      or([
        and([eb('stale', '=', 1), eb('failures', '<', mostFailures)]),
        and([hasTurn, or([eb('stale', '=', 1), eb('deleted_at', 'is', null)])]),
      ]),
    )
    .orderBy('id')
    .limit(fewUnread)
    .execute()
}
