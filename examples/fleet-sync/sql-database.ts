import {
  type Change,
  type Claim,
  type ConnectionState,
  type ConnectionStatus,
  type Database,
  type FetchedItem,
  type Interruption,
  type Kind,
  LostLeaseError,
  type MissingNote,
  type Notice,
  type Position,
  type StoredItem,
} from './database.ts'
import type { Query, Sql, SqlValue } from './sql.ts'
import { reportChanges, storePage } from './store-page.ts'

const startOfSweep = JSON.stringify({ checkpoint: { cursor: null, done: false } } satisfies Position)

/** The database in SQL that SQLite and Postgres both understand. */
export class SqlDatabase implements Database {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async connect({ key, organization, connectedAt }: Parameters<Database['connect']>[0]): Promise<void> {
    await this.#sql.query(
      `INSERT INTO connections (key, organization, connected_at, state, lease, position, complete_sweeps, items, sweep_items, changes)
       VALUES ($1, $2, $3, 'waiting', 0, $4, 0, 0, 0, 0)
       ON CONFLICT (key) DO UPDATE SET organization = excluded.organization, connected_at = excluded.connected_at,
         state = 'waiting', problem = NULL
       WHERE excluded.connected_at > connections.connected_at`,
      [key, organization, connectedAt, startOfSweep],
    )
  }

  async disconnect(key: string): Promise<void> {
    await this.#sql.query(
      `UPDATE connections SET state = 'revoked', problem = 'Disconnected in this app.', next_run_at = NULL, lease = lease + 1
       WHERE key = $1 AND state <> 'revoked'`,
      [key],
    )
  }

  async revoke(key: string, connectedAt: number): Promise<void> {
    await this.#sql.transaction(async (query) => {
      const [connection] = await query(
        `UPDATE connections SET state = 'revoked', problem = 'Access was revoked. The organization must connect again.',
           next_run_at = NULL, lease = lease + 1, connected_at = $2
         WHERE key = $1 AND connected_at <= $2 RETURNING organization`,
        [key, connectedAt],
      )
      if (connection === undefined) return
      const notice = [key, connectedAt, String(connection.organization)]
      await query('INSERT INTO notices VALUES ($1, $2, $3) ON CONFLICT (key, connected_at) DO NOTHING', notice)
    })
  }

  async claim(key: string): Promise<Claim | undefined> {
    const [row] = await this.#sql.query(
      `UPDATE connections SET state = 'syncing', problem = NULL, next_run_at = NULL, lease = lease + 1
       WHERE key = $1 AND state <> 'revoked' RETURNING lease, complete_sweeps, position`,
      [key],
    )
    if (row === undefined) return undefined
    const position: Position = JSON.parse(String(row.position))
    return { key, lease: Number(row.lease), sweep: Number(row.complete_sweeps) + 1, position }
  }

  async savePage(claim: Claim, items: readonly FetchedItem[], position: Position, problem?: string): Promise<void> {
    await this.#asOwner(claim, async (query) => {
      const values = [claim.key, JSON.stringify(position), problem ?? null]
      await query('UPDATE connections SET position = $2, problem = COALESCE($3, problem) WHERE key = $1', values)
      await storePage(query, claim, items)
    })
  }

  async nextConversation(key: string, after = ''): Promise<string | undefined> {
    const [row] = await this.#sql.query(
      `SELECT id FROM items WHERE key = $1 AND kind = 'conversation' AND deleted = 0 AND id > $2 ORDER BY id LIMIT 1`,
      [key, after],
    )
    return row === undefined ? undefined : String(row.id)
  }

  async finishSweep(claim: Claim, nextRunAt: number | undefined): Promise<void> {
    const { key, sweep } = claim
    await this.#asOwner(claim, async (query) => {
      // An item is deleted only if this complete sweep and the one before did not see it. One sweep is not enough: a list
      // that shifts while it is read page by page can skip an item.
      const gone = await query(
        'UPDATE items SET deleted = 1 WHERE key = $1 AND deleted = 0 AND last_seen <= $2 RETURNING kind, id',
        [key, sweep - 2],
      )
      const changes = gone.map(({ kind, id }) => ({ kind: kind as Kind, id: String(id), change: 'deleted' as const }))
      await reportChanges(query, claim, changes)
      await query(
        `UPDATE connections SET state = 'waiting', position = $2, complete_sweeps = $3, last_complete_at = $4,
           next_run_at = $5, items = items - $6, sweep_items = 0 WHERE key = $1`,
        [key, startOfSweep, sweep, Date.now(), nextRunAt ?? null, gone.length],
      )
    })
  }

  async interrupt(
    { key, lease }: Claim,
    state: 'waiting' | 'delayed' | 'failed',
    { problem, nextRunAt }: Interruption = {},
  ): Promise<void> {
    await this.#sql.query(
      'UPDATE connections SET state = $3, problem = $4, next_run_at = $5 WHERE key = $1 AND lease = $2',
      [key, lease, state, problem ?? null, nextRunAt ?? null],
    )
  }

  async missingNotes(key: string): Promise<MissingNote[]> {
    // The first sweep reports every conversation as created, although most are old.
    const rows = await this.#sql.query(
      `SELECT items.id, notes.started_at FROM changes
       JOIN items ON items.key = changes.key AND items.kind = changes.kind AND items.id = changes.id AND items.deleted = 0
       LEFT JOIN notes ON notes.key = changes.key AND notes.conversation = changes.id
       WHERE changes.key = $1 AND changes.kind = 'conversation' AND changes.change = 'created' AND changes.sweep > 1
         AND (notes.done IS NULL OR notes.done = 0)
       ORDER BY changes.number`,
      [key],
    )
    return rows.map((row) => ({ conversation: String(row.id), startedAt: optional(row.started_at, Number) }))
  }

  async startNote(claim: Claim, conversation: string): Promise<void> {
    await this.#asOwner(claim, (query) =>
      query(
        `INSERT INTO notes VALUES ($1, $2, $3, 0)
         ON CONFLICT (key, conversation) DO UPDATE SET started_at = excluded.started_at`,
        [claim.key, conversation, Date.now()],
      ),
    )
  }

  async finishNote(key: string, conversation: string): Promise<void> {
    await this.#sql.query('UPDATE notes SET done = 1 WHERE key = $1 AND conversation = $2', [key, conversation])
  }

  async status(): Promise<ConnectionStatus[]> {
    const rows = await this.#sql.query('SELECT * FROM connections ORDER BY organization, key')
    return rows.map((row) => ({
      key: String(row.key),
      organization: String(row.organization),
      state: row.state as ConnectionState,
      completeSweeps: Number(row.complete_sweeps),
      lastCompleteAt: optional(row.last_complete_at, Number),
      items: Number(row.items),
      sweepItems: Number(row.sweep_items),
      nextRunAt: optional(row.next_run_at, Number),
      problem: optional(row.problem, String),
    }))
  }

  async items(key: string): Promise<StoredItem[]> {
    const rows = await this.#sql.query('SELECT * FROM items WHERE key = $1 ORDER BY kind, id', [key])
    return rows.map((row) => ({
      kind: row.kind as Kind,
      id: String(row.id),
      conversation: optional(row.conversation, String),
      data: JSON.parse(String(row.data)),
      deleted: Number(row.deleted) === 1,
    }))
  }

  async changes(key: string): Promise<Change[]> {
    const rows = await this.#sql.query('SELECT * FROM changes WHERE key = $1 ORDER BY number', [key])
    return rows.map((row) => ({
      number: Number(row.number),
      kind: row.kind as Kind,
      id: String(row.id),
      change: row.change as Change['change'],
      sweep: Number(row.sweep),
    }))
  }

  async notices(): Promise<Notice[]> {
    const rows = await this.#sql.query('SELECT * FROM notices ORDER BY connected_at, key')
    return rows.map((row) => ({
      key: String(row.key),
      connectedAt: Number(row.connected_at),
      organization: String(row.organization),
    }))
  }

  async close(): Promise<void> {
    await this.#sql.close()
  }

  /** Runs a transaction that fails unless the claim is still the newest, and that a newer claim waits for. */
  async #asOwner(claim: Claim, run: (query: Query) => Promise<unknown>): Promise<void> {
    await this.#sql.transaction(async (query) => {
      const owned = await query('UPDATE connections SET lease = lease WHERE key = $1 AND lease = $2 RETURNING key', [
        claim.key,
        claim.lease,
      ])
      if (owned.length === 0) throw new LostLeaseError(`Another worker has taken over the sweep of ${claim.key}.`)
      await run(query)
    })
  }
}

function optional<Value>(value: SqlValue | undefined, read: (value: SqlValue) => Value): Value | undefined {
  return value === null || value === undefined ? undefined : read(value)
}
