// Adds jobs for organizations that are due, notices logins, and erases old data.
import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import { type ConnectionStore, ConnectionStoreError } from 'support-workspace-sdk/oauth'
import { log, messageOf } from './log.ts'
import { endOf, erase, mirror } from './organizations.ts'
import { addJobs, type SyncQueue } from './queue.ts'
import type { Settings } from './settings.ts'
import { longestWait } from './sync-organization.ts'
import { clock, type Database, deleteRows, isPostgres, timeIn } from './tables.ts'

interface StoreParts {
  readonly database: Database
  readonly store: ConnectionStore
}

export interface SchedulerParts extends StoreParts, Pick<Settings, 'interval' | 'retention'> {
  readonly queue: SyncQueue
}

/** After this time, the scheduler checks whether Redis has lost the job of an organization, in milliseconds. */
const patience = 20_000
const most = 500
/** Number of slices of a first sync that go before the sync passes of other organizations. */
const firstSlices = 6
/** Number of organizations that can lose their tokens in a minute before they count as `doubtful`. */
const few = 5

/** Adds jobs until `signal` aborts, and goes on after failures. Several processes can run this. */
export async function runScheduler(parts: SchedulerParts, signal: AbortSignal, onFailure: () => void) {
  const every = async (milliseconds: number, name: string, run: () => Promise<unknown>) => {
    while (!signal.aborted) {
      await run().catch((error) => {
        onFailure()
        log('scheduler', { in: name, message: messageOf(error) })
      })
      await setTimeout(milliseconds, undefined, { signal }).catch(() => {})
    }
  }
  const doubtful = new Set<string>()
  await Promise.all([
    every(1_000, 'schedule', () => schedule(parts)),
    every(60_000, 'reconcile', () => reconcile(parts, doubtful)),
    every(3_600_000, 'prune', () => prune(parts)),
  ])
}

/** Adds a job for each organization that is due. Returns the number of jobs, and how many of them had been lost. */
export async function schedule({ database, queue, interval }: Omit<SchedulerParts, 'store' | 'retention'>) {
  const now = clock.now(database)
  // A row that is due later than this was written while the database's clock was wrong. It counts as due now.
  const never = timeIn(database, sql`coalesce(interval, ${interval}) + ${longestWait}`)
  const due = database
    .selectFrom('organizations')
    .select(['key', 'queued_at', 'passes'])
    .where(({ or, eb }) => or([eb('due_at', '<=', now), eb('due_at', '>', never)]))
    .where('ended', 'is', null)
    .where('paused', '=', 0)
    .where(({ or, eb }) =>
      or([eb('queued_at', 'is', null), eb('queued_at', '<', timeIn(database, -patience)), eb('queued_at', '>', now)]),
    )
    .orderBy('due_at')
    .limit(most)
  const found = await due.execute()
  if (found.length === 0) return { added: 0, lost: 0 }
  const keys = found.map(({ key }) => key)
  const still = due.clearSelect().select('key').where('key', 'in', keys)
  const taken = await database
    .updateTable('organizations')
    .set({ queued_at: now })
    // A row that a stopped worker has locked must not hold up the others.
    .where('key', 'in', isPostgres(database) ? still.forUpdate().skipLocked() : still)
    .returning('key')
    .execute()
  const ours = new Set(taken.map(({ key }) => key))
  const fresh = found.filter(({ key, queued_at }) => ours.has(key) && queued_at === null)
  const old = found.filter(({ key, queued_at }) => ours.has(key) && queued_at !== null)
  const jobs = await Promise.all(old.map(({ key }) => queue.getDeduplicationJobId(key)))
  const lost = old.filter((_, index) => jobs[index] === null)
  if (lost.length > 0) log('jobs lost', { count: lost.length, message: 'They were added again from the database.' })
  const toAdd = [...fresh, ...lost].map(({ key, passes }) => ({ key, first: passes === 0 ? firstSlices : 0 }))
  await addJobs(queue, toAdd)
  return { added: fresh.length + lost.length, lost: lost.length }
}

/**
 * Compares all connections with the rows of the organizations, and updates the rows that differ: new logins,
 * revocations, missing rows and missing tokens. If more than a few organizations have lost their token, the storage
 * itself might be the wrong one. So these organizations are `doubtful` first, and stopped the next time.
 */
export async function reconcile({ database, store }: StoreParts, doubtful = new Set<string>()): Promise<number> {
  const rows = await database.selectFrom('organizations').select(['key', 'login', 'ended']).execute()
  const found = new Map<string, Parameters<typeof mirror>[2]>(rows.map(({ key }) => [key, undefined]))
  const noteUnreadable = ({ key }: ConnectionStoreError) => void (key && found.set(key, 'unreadable'))
  for await (const connection of store.list({}, { onUnreadable: noteUnreadable })) found.set(connection.key, connection)
  const known = new Map(rows.map((row) => [row.key, row]))
  const different = [...found].filter(([key, state]) => {
    const row = known.get(key)
    const isSameLogin = typeof state !== 'object' || state.connectedAt === row?.login
    return row === undefined || row.ended !== endOf(state) || !isSameLogin
  })
  const lost = different.flatMap(([key, state]) => (typeof state !== 'object' && known.has(key) ? [key] : []))
  const unsure = new Set(lost.length > few ? lost.filter((key) => !doubtful.has(key)) : [])
  doubtful.clear()
  for (const key of unsure) doubtful.add(key)
  if (unsure.size > 0) log('doubtful', { count: unsure.size, message: 'Their tokens are gone. Look at the database.' })
  let changed = 0
  for (const [key] of different) {
    // Asks the store again, because there might have been a login since the list was read.
    if (!unsure.has(key) && (await mirrorOne(database, store, key))) changed += 1
  }
  return changed
}

/** Updates the row of an organization from the connection store. Call it after each login. */
export async function mirrorOne(database: Database, store: ConnectionStore, key: string): Promise<boolean> {
  const found = await store.get(key).catch((error) => {
    if (error instanceof ConnectionStoreError && error.reason !== 'storage_failed') return 'unreadable' as const
    throw error
  })
  const isChanged = await mirror(database, key, found)
  if (isChanged) log('organization', { organization: key, ended: endOf(found) })
  return isChanged
}

/** Erases changes, deleted items and organizations that have left, once they are older than `retention`. */
export async function prune({ database, store, retention }: Omit<SchedulerParts, 'queue' | 'interval'>) {
  const before = timeIn(database, -retention)
  const left = database.selectFrom('organizations').select('key').where('ended_at', '<', before)
  for (const { key } of await left.execute()) await leave(database, store, key)
  await deleteRows(database, 'changes', sql`at < ${before}`)
  // The messages of a stale conversation are still to be deleted.
  await deleteRows(database, 'items', sql`deleted_at < ${before} AND stale = 0`)
}

/** Erases an organization. Removes its token first, because `reconcile` would add the organization again. */
export async function leave(database: Database, store: ConnectionStore, key: string): Promise<void> {
  await store.remove(key)
  await erase(database, key)
  log('erased', { organization: key })
}
