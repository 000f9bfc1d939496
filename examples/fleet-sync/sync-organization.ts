// Runs one pass of an organization's feed of changes, and applies the changes to the tables.
import { isSupportWorkspaceError } from 'support-workspace-sdk'
import { type Change, ChangeFeed, type FeedProblem } from 'support-workspace-sdk/changes'
import type { ConnectionStore } from 'support-workspace-sdk/oauth'
import { postgresStorage } from 'support-workspace-sdk/storage'
import type { Database } from './database.ts'
import { messageOf } from './log.ts'
import { type Claim, claim, eraseFeed, LostLeaseError, type Outcome, release } from './organizations.ts'
import type { Settings } from './settings.ts'

export interface SyncOptions extends Pick<Settings, 'interval' | 'auditEvery'> {
  readonly database: Database
  readonly store: ConnectionStore
  /** The key of the organization's connection, which `mirror` has added to the table. */
  readonly key: string
  /** Aborted when the process is shutting down. */
  readonly signal?: AbortSignal | undefined
}

/** How long a pass may wait in its slot before it repeats a request, in milliseconds. Otherwise others get the slot. */
const patience = 20_000

/**
 * Runs one pass of an organization. The feed keeps in its storage what it has seen, and each change until it is applied.
 * So after a job was killed, the next one begins the pass again, and applies only what is new.
 *
 * After an error of the SDK, the organization is due again after its interval. After any other error, such as a lost
 * database, call this again.
 *
 * @returns `done`, or `waits` if the service or the storage fails for too long, or `gone` if the organization is unknown
 * or disconnected, or another job has claimed it.
 */
export async function syncOrganization(options: SyncOptions): Promise<'done' | 'waits' | 'gone'> {
  const { database, store, key, interval, auditEvery, signal } = options
  const claimed = await claim(database, key)
  if (claimed === undefined) return 'gone'
  const skipped = new Set<string>()
  const counts = { requests: 0, refused: 0 }
  const giveUp = new AbortController()
  let problem: string | null = null
  const end = (outcome: Pick<Outcome, 'wait' | 'isDone'>) =>
    release(database, claimed, { ...outcome, ...counts, problem, skipped: skipped.size })

  function onAttemptEnd({ status }: { readonly status: number | undefined }): void {
    counts.requests += 1
    if (status === 429) counts.refused += 1
  }

  function onProblem({ error, retryIn, conversationId }: FeedProblem): void {
    if (conversationId !== undefined) {
      skipped.add(conversationId)
      problem = `Skipped the messages of conversation ${conversationId}: ${messageOf(error)}`
    } else if (retryIn === undefined) problem = messageOf(error)
    // Each wait of the feed is longer than the one before. A short one is no problem.
    else if (retryIn > patience) giveUp.abort({ error, wait: Math.max(interval, retryIn) })
  }

  try {
    const feed = new ChangeFeed({
      workspace: await store.workspace(key, { hooks: { onAttemptEnd } }),
      storage: feedStorage(database),
      name: key,
      since: 'beginning',
      passes: 1,
      deletions: ['messages'],
      auditEvery,
      limit: 100,
      signal: AbortSignal.any([giveUp.signal, ...(signal ? [signal] : [])]),
      onProblem,
    })
    // Asking for the next change acknowledges this one.
    for await (const change of feed) await apply(database, claimed, change)
    await end({ isDone: true, wait: interval })
    return 'done'
  } catch (error) {
    // The newer job gets the change again.
    if (error instanceof LostLeaseError) return 'gone'
    if (giveUp.signal.aborted) {
      const { error, wait } = giveUp.signal.reason
      problem = messageOf(error)
      await end({ isDone: false, wait })
      return 'waits'
    }
    if (signal?.aborted) await end({ isDone: false, wait: 0 })
    else if (isSupportWorkspaceError(error)) {
      problem = messageOf(error)
      await end({ isDone: false, wait: interval })
    }
    throw error
  } finally {
    // If the organization was erased meanwhile, the feed might have stored more since then.
    const { rowCount } = await database.query('SELECT FROM organizations WHERE key = $1', [key])
    if (rowCount === 0) await eraseFeed(database, key)
  }
}

/** The storage of all feeds. The feed of an organization has the organization's key as its name. */
export function feedStorage(database: Database) {
  return postgresStorage(database, { table: 'feeds' })
}

/**
 * Applies a change, in one statement, so it is applied completely or not at all.
 *
 * - `owner` locks the row of the organization, and is empty if a newer job has claimed it. An older state can therefore
 *   not replace what the newer job has written.
 * - `fresh` is empty if the change comes again, because the job before was killed after it had applied the change.
 */
const applySql = `
  WITH owner AS (
    SELECT key FROM organizations WHERE key = $1 AND lease = $2 FOR UPDATE
  ), fresh AS (
    INSERT INTO changes (organization, key, resource, id, kind) SELECT $1, $3, $4, $5, $6 FROM owner
    ON CONFLICT DO NOTHING RETURNING key
  ), applied AS (
    INSERT INTO items (organization, resource, id, conversation, data, deleted_at)
    SELECT $1, $4, $5, $7, $8::json, CASE WHEN $6 = 'deleted' THEN now() END FROM fresh
    ON CONFLICT (organization, resource, id) DO UPDATE SET
      conversation = excluded.conversation, data = coalesce(excluded.data, items.data), deleted_at = excluded.deleted_at
  )
  SELECT key FROM owner`

/** @throws LostLeaseError if another job has claimed the organization */
export async function apply(database: Database, { key, lease }: Claim, change: Change): Promise<void> {
  const { resource, id, kind } = change
  const conversation = change.resource === 'contacts' ? '' : change.conversationId
  const data = change.kind === 'deleted' ? null : JSON.stringify(change.value)
  const values = [key, lease, change.key, resource, id, kind, conversation, data]
  const { rowCount } = await database.query(applySql, values)
  if (rowCount === 0) throw new LostLeaseError(`Another job has claimed ${key}.`)
}
