// The row of an organization: jobs, logins and deletion.
import { type Connection, type ConnectionStore, ConnectionStoreError } from 'support-workspace-sdk/oauth'
import { type Database, deleteRows, storable } from './database.ts'
import { log } from './log.ts'

/** A row of the table `organizations`: see `schema.sql`. */
export interface Organization {
  readonly key: string
  readonly name: string
  readonly login: number
  readonly ended: 'revoked' | 'no token' | null
  readonly lease: number
  readonly passes: number
  readonly completed_at: Date | null
  readonly skipped: number
  readonly problem: string | null
  readonly requests: number
  readonly refused: number
}

/** The right to write the changes of an organization, until another job claims it. */
export type Claim = Pick<Organization, 'key' | 'lease'>

/** Thrown instead of writing if another job has claimed the organization, or it has left. */
export class LostLeaseError extends Error {}

/**
 * Claims an organization for a job. Returns undefined if it is unknown, or must connect again. If the job does not end,
 * for example because Redis has lost it, the organization is due again after 20 seconds.
 */
export async function claim(database: Database, key: string): Promise<Claim | undefined> {
  const { rows } = await database.query<Claim>(
    `UPDATE organizations SET lease = DEFAULT, due_at = now() + interval '20 s'
     WHERE key = $1 AND ended IS NULL RETURNING key, lease`,
    [key],
  )
  return rows[0]
}

/** What a job has done. */
export interface Outcome extends Pick<Organization, 'problem' | 'skipped' | 'requests' | 'refused'> {
  readonly isDone: boolean
  /** Time until the organization is due again, in milliseconds. */
  readonly wait: number
}

/** Ends a job. Writes nothing if another job has claimed the organization. */
export async function release(database: Database, { key, lease }: Claim, outcome: Outcome): Promise<void> {
  const { isDone, wait, problem, skipped, requests, refused } = outcome
  await database.query(
    `UPDATE organizations SET
       due_at = now() + $3 * interval '1 ms', problem = $4, skipped = $5,
       requests = requests + $6, refused = refused + $7, passes = passes + $8::boolean::int,
       completed_at = CASE WHEN $8 THEN now() ELSE completed_at END
     WHERE key = $1 AND lease = $2`,
    [key, lease, wait, problem === null ? null : storable(problem), skipped, requests, refused, isDone],
  )
}

/**
 * Updates the row of an organization to the state of its connection in the store. Call it after each login. Returns
 * whether the row has changed. If a slow process writes an older state, the next `reconcile` corrects the row.
 */
export async function mirror(database: Database, store: Pick<ConnectionStore, 'get'>, key: string): Promise<boolean> {
  const found = await store.get(key).catch((error) => {
    if (!(error instanceof ConnectionStoreError) || error.reason === 'storage_failed') throw error
    // No process can use a token that cannot be read.
    log('unreadable', { organization: key, message: error.message })
    return undefined
  })
  const { organization, connectedAt: login = null } = found ?? {}
  const ended = endOf(found)
  // Comes first, because a process that is killed between the statements runs them again. A login has one notice.
  if (ended === 'revoked')
    await database.query('INSERT INTO notices VALUES ($1, $2) ON CONFLICT DO NOTHING', [key, login])
  // Another lease stops a job that runs with the old token.
  const { rowCount } = await database.query(
    `INSERT INTO organizations (key, name, login, ended, ended_at)
     VALUES ($1, $2, coalesce($3::bigint, 0), $4::text, CASE WHEN $4::text IS NOT NULL THEN now() END)
     ON CONFLICT (key) DO UPDATE SET
       name = CASE WHEN $3 IS NULL THEN organizations.name ELSE $2 END, login = coalesce($3, organizations.login),
       ended = $4, ended_at = excluded.ended_at, due_at = now(), lease = DEFAULT
     WHERE organizations.ended IS DISTINCT FROM $4 OR organizations.login <> $3`,
    [key, storable(organization?.name ?? organization?.id ?? key), login, ended],
  )
  if (rowCount === 1) log('organization', { organization: key, ended })
  return rowCount === 1
}

/** Returns the value of the column `ended` for a connection of the store. */
export function endOf(found: Connection | undefined): Organization['ended'] {
  if (found === undefined) return 'no token'
  return found.revokedAt === undefined ? null : 'revoked'
}

export async function countFailure(database: Database, remedy: string): Promise<void> {
  const again = 'ON CONFLICT (remedy) DO UPDATE SET count = failures.count + 1'
  await database.query(`INSERT INTO failures VALUES ($1, 1) ${again}`, [remedy])
}

/** Erases an organization with its token, except what it has counted. */
export async function erase(database: Database, store: Pick<ConnectionStore, 'remove'>, key: string): Promise<void> {
  // Comes first, because `reconcile` adds each organization that has a token.
  await store.remove(key)
  // Stops a job, and prevents others. If this process is killed, `prune` goes on.
  const stop = "UPDATE organizations SET ended = 'no token', ended_at = now(), lease = DEFAULT WHERE key = $1"
  await database.query(stop, [key])
  for (const table of ['items', 'changes', 'notices']) await deleteRows(database, table, 'organization = $1', [key])
  await eraseFeed(database, key)
  await database.query(
    `WITH gone AS (DELETE FROM organizations WHERE key = $1 RETURNING passes, requests, refused)
     INSERT INTO erased SELECT * FROM gone`,
    [key],
  )
  // A job that has ended meanwhile might have stored more.
  await eraseFeed(database, key)
  log('erased', { organization: key })
}

/** Deletes what the feed of an organization has stored. The keys in its storage contain the name of the feed. */
export async function eraseFeed(database: Database, key: string): Promise<void> {
  await deleteRows(database, 'feeds', 'position($1 in key) > 0', [`:${encodeURIComponent(key)}:`])
}
