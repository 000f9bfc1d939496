// The organization's row: claims, logins, due times and deletion.
import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Checkpoint } from 'support-workspace-sdk'
import type { Connection } from 'support-workspace-sdk/oauth'
import { clock, type Database, deleteRows, type OrganizationTable, timeIn } from './tables.ts'

/** The place that a sync pass has reached. */
export interface Position {
  /** The list that was read last: the id of a conversation for its messages, or '' for all conversations. */
  readonly list: string
  /** The place to resume from in that list. */
  readonly checkpoint: Checkpoint
  /** Items that the last reading of the list lacked. If the next reading also lacks them, they are deleted. */
  readonly missing?: readonly string[] | undefined
  /** How often in a row the sync pass failed here. */
  readonly tries: number
  /** A message about this sync pass for a person, for example which conversation was skipped. */
  readonly problem?: string | undefined
}

/** The right to write the rest of a sync pass, until another process claims it. */
export interface Claim {
  readonly key: string
  readonly lease: number
  /** Number of the sync pass, starting at 1. */
  readonly pass: number
  /** Undefined at the start of a sync pass. */
  readonly position: Position | undefined
  readonly interval: number | null
}

/** Thrown instead of writing if another process has taken over the sync pass, or the organization has left. */
export class LostLeaseError extends Error {}

/** Takes over the sync pass of an organization. Returns undefined if it is unknown, paused, or must connect again. */
export async function claim(database: Database, key: string): Promise<Claim | undefined> {
  const row = await database
    .updateTable('organizations')
    .set((update) => ({ lease: update('lease', '+', 1) }))
    .where('key', '=', key)
    .where('ended', 'is', null)
    .where('paused', '=', 0)
    .returning(['lease', 'passes', 'position', 'interval'])
    .executeTakeFirst()
  if (row === undefined) return undefined
  const position = row.position === null ? undefined : (JSON.parse(row.position) as Position)
  return { key, lease: row.lease, pass: row.passes + 1, position, interval: row.interval }
}

/**
 * Updates the row of an organization to the state of its connection in the store, which you pass. A revoked login gets
 * one notice, even if several processes see it. Returns whether the row has changed.
 *
 * If a slow process writes an older state, the next `reconcile` corrects the row. So clocks need not be compared.
 */
export async function mirror(
  database: Database,
  key: string,
  found: Connection | 'unreadable' | undefined,
): Promise<boolean> {
  const connection = typeof found === 'object' ? found : undefined
  const login = connection?.connectedAt
  const name = storable(connection?.organization.name ?? connection?.organization.id ?? key)
  const now = clock.now(database)
  const ended = endOf(found)
  const ended_at = ended === null ? null : now
  return database.transaction().execute(async (transaction) => {
    const inserted = await transaction
      .insertInto('organizations')
      .values({ key, name, login: login ?? 0, ended, ended_at, added_at: now, due_at: now, ...empty })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    const updated = await transaction
      .updateTable('organizations')
      .set((update) => ({
        ...(connection && { name, login }),
        ended,
        ended_at,
        due_at: now,
        queued_at: null,
        // Stops a worker that runs a sync pass with the old token.
        lease: update('lease', '+', 1),
      }))
      .where('key', '=', key)
      .where(({ or, eb }) =>
        or([eb('ended', 'is distinct from', ended), ...(login === undefined ? [] : [eb('login', '<>', login)])]),
      )
      .executeTakeFirst()
    if (ended === 'revoked' && login !== undefined) {
      const notice = transaction.insertInto('notices').values({ key, login })
      await notice.onConflict((conflict) => conflict.doNothing()).execute()
    }
    return Number(inserted.numInsertedOrUpdatedRows) + Number(updated.numUpdatedRows) > 0
  })
}

/** Returns the value of the column `ended` for a connection of the store. */
export function endOf(found: Connection | 'unreadable' | undefined): OrganizationTable['ended'] {
  if (found === undefined) return 'no token'
  if (found === 'unreadable') return found
  return found.revokedAt === undefined ? null : 'revoked'
}

const empty = { paused: 0, lease: 0, passes: 0, changes: 0, requests: 0, refused: 0 } as const

export async function countFailure(database: Database, remedy: string): Promise<void> {
  const first = database.insertInto('failures').values({ remedy, count: 1 })
  const again = first.onConflict((conflict) =>
    conflict.column('remedy').doUpdateSet((update) => ({ count: update('failures.count', '+', 1) })),
  )
  await again.execute()
}

/** Removes an organization from the replica, except what it has counted. The connection store has its token. */
export async function erase(database: Database, key: string): Promise<void> {
  // Stops a worker that runs a sync pass, and prevents new sync passes.
  const stop = database.updateTable('organizations').set((update) => ({ paused: 1, lease: update('lease', '+', 1) }))
  await stop.where('key', '=', key).execute()
  for (const table of ['items', 'changes'] as const) await deleteRows(database, table, sql`key = ${key}`)
  await database.transaction().execute(async (transaction) => {
    for (const table of ['seen', 'notices'] as const) {
      await transaction.deleteFrom(table).where('key', '=', key).execute()
    }
    const row = transaction.deleteFrom('organizations').where('key', '=', key)
    const counted = await row.returning(['passes', 'requests', 'refused']).executeTakeFirst()
    if (counted !== undefined) await transaction.insertInto('erased').values(counted).execute()
  })
}

/**
 * The time when the next sync pass is due, as an expression of SQL. Each organization has its own place in the
 * interval, so that they do not all start at once.
 */
export function nextDue(database: Database, key: string, interval: number): RawBuilder<number> {
  const wait = sql<number>`${interval} - (${clock.now(database)} - ${placeOf(key)}) % ${interval}`
  return timeIn(database, wait)
}

/** Returns a number for a text. The same text has the same number, and different texts are evenly spread. */
export function placeOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE()
}

/** Replaces NUL, which Postgres rejects, and half of a surrogate pair, which UTF-8 cannot encode. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
