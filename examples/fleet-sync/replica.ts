import { createHash } from 'node:crypto'
import type { RawBuilder } from 'kysely'
import { type Claim, LostLeaseError, type Position } from './organizations.ts'
import { clock, type Database, type ItemTable } from './tables.ts'

/** What is known of the items of one list: the conversations, or the messages of a conversation. By id. */
export type Known = Map<string, Pick<ItemTable, 'hash' | 'deleted' | 'stale'>>

/** What one step of a sync pass changes. */
export interface Step {
  /** The conversation whose messages these are; '' for conversations. */
  readonly list: string
  /** Items that are new or different. */
  readonly items: readonly NewItem[]
  /** Ids of items that are gone. */
  readonly deleted: readonly string[]
  /** A conversation whose messages were read; with `problem` if they could not be. */
  readonly read?: { readonly conversation: string; readonly problem?: string } | undefined
  /** Ids that were seen in this list since the last step, as its next part. Null once it has been read to its end. */
  readonly seen?: { readonly part: number; readonly ids: readonly string[] } | null | undefined
}

export interface NewItem extends Pick<ItemTable, 'id' | 'hash' | 'data'> {
  readonly change: 'created' | 'updated' | 'restored'
}

/** What becomes of the organization's row. */
export interface Progress {
  /** Null at the end of a sync pass. */
  readonly position: Position | null
  readonly problem: string | null
  /** When another job is to be added; undefined if this one goes on. */
  readonly dueAt?: RawBuilder<number> | undefined
  readonly requests: number
  readonly refused: number
}

/** Parameters of a statement are limited, and the time to bind them grows with the square of their number in SQLite. */
const most = 100

/**
 * Writes a step and the position after it in one transaction, and so with all of its changes or with none. A step without
 * changes is a single statement.
 *
 * @throws LostLeaseError if another process has taken over
 */
export async function save(database: Database, claim: Claim, step: Step, progress: Progress): Promise<void> {
  const { key, pass } = claim
  const { list, items, deleted, read, seen } = step
  const kind = list === '' ? 'conversation' : 'message'
  // The messages of a conversation that is new, different or gone are read next.
  const stale = list === '' ? 1 : 0
  const changes = [
    ...items.map(({ id, change }) => ({ kind, id, change }) as const),
    ...deleted.map((id) => ({ kind, id, change: 'deleted' }) as const),
  ]
  const run = async (database: Database) => {
    const last = await saveProgress(database, claim, progress, changes.length)
    for (const part of parts(items)) await saveItems(database, { key, kind, list, stale }, part)
    for (const part of parts(deleted)) {
      const gone = database.updateTable('items').set({ deleted: 1, stale, problem: null }).where('key', '=', key)
      await gone.where('kind', '=', kind).where('list', '=', list).where('id', 'in', part).execute()
    }
    if (read !== undefined) {
      const { conversation, problem = null } = read
      const change = problem === null ? { stale: 0 as const, problem } : { stale: 1 as const, problem }
      const row = database.updateTable('items').set(change).where('key', '=', key).where('kind', '=', 'conversation')
      await row.where('id', '=', conversation).execute()
    }
    let number = last - changes.length
    const at = clock.now(database)
    const rows = changes.map((change) => {
      number += 1
      return { key, number, ...change, at }
    })
    for (const part of parts(rows)) await database.insertInto('changes').values(part).execute()
    if (seen === null) await database.deleteFrom('seen').where('key', '=', key).execute()
    else if (seen !== undefined && seen.ids.length > 0) {
      const part = { key, part: seen.part, ids: JSON.stringify(seen.ids) }
      await database.insertInto('seen').values(part).execute()
    }
  }
  const isLight = changes.length === 0 && read === undefined && seen !== null && !seen?.ids.length
  if (isLight) await run(database)
  else await database.transaction().execute(run)

  async function saveProgress(database: Database, { lease }: Claim, progress: Progress, changes: number) {
    const { position, problem, dueAt, requests, refused } = progress
    const now = clock.now(database)
    const row = await database
      .updateTable('organizations')
      .set((update) => ({
        position: position && JSON.stringify(position),
        problem,
        changes: update('changes', '+', changes),
        requests: update('requests', '+', requests),
        refused: update('refused', '+', refused),
        ...(dueAt === undefined ? { queued_at: now } : { due_at: dueAt, queued_at: null }),
        ...(position === null && { sweeps: pass, completed_at: now }),
      }))
      .where('key', '=', key)
      .where('lease', '=', lease)
      .returning('changes')
      .executeTakeFirst()
    if (row === undefined) throw new LostLeaseError(`Another worker has taken over the sync pass of ${key}.`)
    return row.changes
  }
}

async function saveItems(
  database: Database,
  place: Pick<ItemTable, 'key' | 'kind' | 'list' | 'stale'>,
  items: readonly NewItem[],
): Promise<void> {
  await database
    .insertInto('items')
    .values(items.map(({ id, hash, data }) => ({ ...place, id, hash, data, deleted: 0 })))
    .onConflict((conflict) =>
      conflict.columns(['key', 'kind', 'id']).doUpdateSet((update) => ({
        list: update.ref('excluded.list'),
        hash: update.ref('excluded.hash'),
        data: update.ref('excluded.data'),
        stale: update.ref('excluded.stale'),
        deleted: 0,
      })),
    )
    .execute()
}

/** Returns the ids that were seen so far in the list that is being read, and in how many parts they are. */
export async function loadSeen(database: Database, key: string): Promise<{ ids: Set<string>; parts: number }> {
  const rows = await database.selectFrom('seen').select('ids').where('key', '=', key).execute()
  return { ids: new Set(rows.flatMap(({ ids }) => JSON.parse(ids) as string[])), parts: rows.length }
}

/** Returns what is known of each of the lists. '' is the list of conversations. */
export async function loadKnown(
  database: Database,
  key: string,
  lists: readonly string[],
): Promise<ReadonlyMap<string, Known>> {
  const known = new Map(lists.map((list): [string, Known] => [list, new Map()]))
  const rows = await database
    .selectFrom('items')
    .select(['id', 'list', 'hash', 'deleted', 'stale'])
    .where('key', '=', key)
    .where('list', 'in', lists)
    .execute()
  for (const { id, list, ...item } of rows) known.get(list)?.set(id, item)
  return known
}

function* parts<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let start = 0; start < items.length; start += most) yield items.slice(start, start + most)
}

/** Returns an item as JSON and the hash of what counts as a change; undefined if it is nested too deeply. */
export function toStored(item: object): { readonly data: string; readonly hash: string } | undefined {
  try {
    return {
      data: JSON.stringify(item),
      hash: createHash('sha256').update(JSON.stringify(item, canonical)).digest('hex'),
    }
  } catch {
    return undefined
  }
}

/** Sorts the fields of an object. Leaves out the URLs of attachments, which are signed anew for each response. */
function canonical(field: string, value: unknown): unknown {
  if (field === 'presigned_url') return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
