// Writes the items and changes of a sync pass.
import { createHash, randomUUID } from 'node:crypto'
import type { RawBuilder } from 'kysely'
import { type Claim, LostLeaseError, type Position, placeOf } from './organizations.ts'
import { clock, type Database, type ItemTable } from './tables.ts'

/** The changes of one step of a sync pass. */
export interface Step {
  /** The id of the conversation that the messages belong to, or '' if the items are conversations. */
  readonly list: string
  /** Items that are new or different. */
  readonly items: readonly NewItem[]
  /** Ids of items that are gone. */
  readonly deleted: readonly string[]
  /** A conversation whose messages were read. With a `problem` if they could not be read. */
  readonly read?: { readonly conversation: string; readonly problem?: string } | undefined
  /** Ids that were seen in this list since the last step. Null once it has been read to its end. */
  readonly seen: readonly string[] | null
}

export interface NewItem extends Pick<ItemTable, 'id' | 'hash' | 'data'> {
  readonly change: 'created' | 'updated' | 'restored'
}

/** The new values of the organization's row. */
export interface Progress {
  /** Null at the end of a sync pass. */
  readonly position: Position | null
  readonly problem: string | null
  /** When to add another job. Undefined if this job continues. */
  readonly dueAt?: RawBuilder<number> | undefined
  readonly requests: number
  readonly refused: number
}

/** Rows in a statement. Parameters are limited, and SQLite takes quadratic time to bind them. */
const most = 100

/**
 * Writes a step and the position after it in one transaction, so the database has all of the changes or none. A step
 * without changes is a single statement.
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
      const gone = database.updateTable('items').where('key', '=', key).where('list', '=', list).where('id', 'in', part)
      await gone.set({ deleted_at: clock.now(database), stale, failures: 0, problem: null }).execute()
    }
    if (read !== undefined) {
      const { conversation, problem } = read
      const items = database.updateTable('items').where('key', '=', key).where('kind', '=', 'conversation')
      const row = items.where('id', '=', conversation)
      if (problem === undefined) await row.set({ stale: 0, failures: 0, problem: null }).execute()
      else await row.set((update) => ({ stale: 1, failures: update('failures', '+', 1), problem })).execute()
    }
    const first = last - changes.length + 1
    const at = clock.now(database)
    const rows = changes.map((change, index) => ({ key, number: first + index, ...change, at }))
    for (const part of parts(rows)) await database.insertInto('changes').values(part).execute()
    if (seen === null) await database.deleteFrom('seen').where('key', '=', key).execute()
    else if (seen.length > 0) {
      const part = { key, part: randomUUID(), ids: JSON.stringify(seen) }
      await database.insertInto('seen').values(part).execute()
    }
  }
  const isLight = changes.length === 0 && read === undefined && seen?.length === 0
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
        ...(position === null && { passes: pass, completed_at: now }),
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
  list: Pick<ItemTable, 'key' | 'kind' | 'list' | 'stale'>,
  items: readonly NewItem[],
): Promise<void> {
  await database
    .insertInto('items')
    .values(items.map(({ id, hash, data }) => ({ ...list, id, hash, data, failures: 0, place: placeOf(id) })))
    .onConflict((conflict) =>
      conflict.columns(['key', 'kind', 'id']).doUpdateSet((update) => ({
        list: update.ref('excluded.list'),
        hash: update.ref('excluded.hash'),
        data: update.ref('excluded.data'),
        stale: update.ref('excluded.stale'),
        deleted_at: null,
      })),
    )
    .execute()
}

export function* parts<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let start = 0; start < items.length; start += most) yield items.slice(start, start + most)
}

/** Returns an item as JSON, and a hash of the fields that count as a change. Undefined if it is nested too deeply. */
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
