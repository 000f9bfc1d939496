// Adds jobs for organizations that are due, notices logins, and erases old data.
import { setTimeout } from 'node:timers/promises'
import type { Connection, ConnectionStore } from 'support-workspace-sdk/oauth'
import { type Database, deleteRows } from './database.ts'
import { log, messageOf } from './log.ts'
import { endOf, erase, mirror, type Organization } from './organizations.ts'
import type { SyncQueue } from './queue.ts'
import type { Settings } from './settings.ts'

export interface SchedulerParts extends Pick<Settings, 'interval' | 'retention'> {
  readonly database: Database
  readonly store: ConnectionStore
  readonly queue: SyncQueue
}

/** Adds jobs until `signal` aborts, and goes on after failures. Several processes can run this. */
export async function runScheduler(parts: SchedulerParts, signal: AbortSignal): Promise<void> {
  const every = async (milliseconds: number, name: string, run: () => Promise<unknown>) => {
    while (!signal.aborted) {
      await run().catch((error) => log('scheduler', { in: name, message: messageOf(error) }))
      await setTimeout(milliseconds, undefined, { signal }).catch(() => {})
    }
  }
  await Promise.all([
    every(1_000, 'schedule', () => schedule(parts)),
    every(60_000, 'reconcile', () => reconcile(parts)),
    every(3_600_000, 'prune', () => prune(parts)),
  ])
}

/**
 * Adds a job for each organization that is due, first passes first. BullMQ ignores organizations that have a job already,
 * so a job that Redis has lost is added again.
 */
export async function schedule({ database, queue, interval }: Pick<SchedulerParts, 'database' | 'queue' | 'interval'>) {
  // A pass is at most an hour late, because the feed waits no longer. A row that is due later than this was written while
  // the database's clock was wrong.
  const { rows } = await database.query<Pick<Organization, 'key' | 'passes'>>(
    `SELECT key, passes FROM organizations
     WHERE ended IS NULL AND (due_at <= now() OR due_at > now() + $1 * interval '1 ms' + interval '1 hour')
     ORDER BY passes > 0, due_at LIMIT 500`,
    [interval],
  )
  const jobs = rows.map(({ key, passes }) => ({
    name: 'sync',
    data: { key },
    opts: {
      deduplication: { id: key },
      // The smaller number goes first.
      priority: passes === 0 ? 1 : 2,
      removeOnComplete: { count: 200 },
      removeOnFail: { count: 200 },
    },
  }))
  if (jobs.length > 0) await queue.addBulk(jobs)
}

/**
 * Compares all connections with the rows of the organizations, and updates the rows that differ: new logins,
 * revocations, missing rows and missing tokens. Returns the number of rows that have changed.
 */
export async function reconcile({ database, store }: Pick<SchedulerParts, 'database' | 'store'>): Promise<number> {
  type Row = Pick<Organization, 'key' | 'login' | 'ended'>
  const { rows } = await database.query<Row>('SELECT key, login, ended FROM organizations')
  const found = new Map<string, Connection | undefined>(rows.map(({ key }) => [key, undefined]))
  for await (const connection of store.list({}, { onUnreadable: () => {} })) found.set(connection.key, connection)
  const known = new Map(rows.map((row) => [row.key, row]))
  let changed = 0
  for (const [key, state] of found) {
    const row = known.get(key)
    const isSameLogin = state === undefined || state.connectedAt === row?.login
    if (row !== undefined && row.ended === endOf(state) && isSameLogin) continue
    // Asks the store again, because there might have been a login since the list was read.
    if (await mirror(database, store, key)) changed += 1
  }
  return changed
}

/** Erases changes, deleted items and organizations that have left, once they are older than `retention`. */
export async function prune({ database, store, retention }: Pick<SchedulerParts, 'database' | 'store' | 'retention'>) {
  const isOld = (column: string) => `${column} < now() - $1 * interval '1 ms'`
  const { rows } = await database.query(`SELECT key FROM organizations WHERE ${isOld('ended_at')}`, [retention])
  for (const { key } of rows) await erase(database, store, key)
  await deleteRows(database, 'changes', isOld('at'), [retention])
  await deleteRows(database, 'items', isOld('deleted_at'), [retention])
}
