// The tables of the database, its clock and its migrations.
import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The replica of all organizations. Times are milliseconds since the Unix epoch, on the database's clock. */
export interface Tables {
  organizations: OrganizationTable
  items: ItemTable
  changes: ChangeTable
  seen: SeenTable
  notices: NoticeTable
  failures: FailureTable
  settings: SettingTable
  erased: ErasedTable
}

export type Database = Kysely<Tables>

/**
 * The time as an expression of SQL. Times are written and compared only in the database, because the clocks of machines
 * differ. Processes pass each other durations instead. In Postgres, `now()` is the same during a transaction, so it is
 * not used. With the SELECT, each statement asks for the time once and can use an index. Tests replace `now`.
 */
export const clock = {
  now: (database: Database): RawBuilder<number> =>
    isPostgres(database)
      ? sql`(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`
      : sql`(SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER))`,
}

/** The time after a number of milliseconds, as an expression of SQL. A negative number gives a time in the past. */
export function timeIn(database: Database, milliseconds: number | RawBuilder<number>): RawBuilder<number> {
  return sql`(${clock.now(database)} + ${typeof milliseconds === 'number' ? Math.round(milliseconds) : milliseconds})`
}

export function isPostgres(database: Database): boolean {
  return database.getExecutor().adapter instanceof PostgresAdapter
}

export interface OrganizationTable {
  /** The key of its connection. */
  key: string
  name: string
  /** The login whose token is stored, by the clock of its machine. Two logins are only compared for equality. */
  login: number
  /** Why it cannot be synced until the next login. */
  ended: 'revoked' | 'no token' | 'unreadable' | null
  ended_at: number | null
  paused: 0 | 1
  /** Its own interval, in milliseconds. */
  interval: number | null
  added_at: number
  /** When a job is to be added. */
  due_at: number
  /** When a job was added, until that job ends. */
  queued_at: number | null
  /** Raised by each claim. Only the newest claim can write. */
  lease: number
  passes: number
  /** How far the running sync pass has come, as the JSON of a `Position`. */
  position: string | null
  completed_at: number | null
  /** The number of the last change. */
  changes: number
  problem: string | null
  requests: number
  /** Requests that got a 429. */
  refused: number
}

/** A conversation or a message. */
export interface ItemTable {
  key: string
  kind: 'conversation' | 'message'
  id: string
  /** The conversation of a message; empty for a conversation. */
  list: string
  hash: string
  data: string
  /** When it was missing in two readings of its list. */
  deleted_at: number | null
  /** Whether the messages of a conversation must be read, because it changed. */
  stale: 0 | 1
  /** How often in a row the messages of a conversation could not be read, and why. */
  failures: number
  problem: string | null
  /** Decides in which sync passes the messages of an unchanged conversation are read: see `placeOf`. */
  place: number
}

/** A change of an item. The numbers of an organization start at 1 and have no gaps. */
export interface ChangeTable {
  key: string
  number: number
  kind: ItemTable['kind']
  id: string
  change: 'created' | 'updated' | 'deleted' | 'restored'
  at: number
}

/** Ids that were seen in the list that is being read, in parts. */
export interface SeenTable {
  key: string
  part: string
  ids: string
}

/** A request to an organization to connect again. Each revoked login has one. */
export interface NoticeTable {
  key: string
  login: number
}

/** How often a sync failed, by remedy, in all organizations together. */
export interface FailureTable {
  remedy: string
  count: number
}

/** The counts of each erased organization, so that the counters of the fleet never fall. */
export type ErasedTable = Pick<OrganizationTable, 'passes' | 'requests' | 'refused'>

/** Settings that all processes must share: see `openConnections`. */
export interface SettingTable {
  name: 'BASE_URL' | 'STORE_SECRET'
  value: string
}

const primaryKeys = { items: ['key', 'kind', 'id'], changes: ['key', 'number'] } as const

/** Deletes rows a thousand at a time, because Postgres ends a statement that takes longer than 10 seconds. */
export async function deleteRows(database: Database, table: keyof typeof primaryKeys, which: RawBuilder<boolean>) {
  const columns = sql.join(primaryKeys[table].map((column) => sql.ref(column)))
  const rows = sql`SELECT ${columns} FROM ${sql.table(table)} WHERE ${which} LIMIT 1000`
  const statement = sql`DELETE FROM ${sql.table(table)} WHERE (${columns}) IN (${rows})`
  while (((await statement.execute(database)).numAffectedRows ?? 0n) > 0n);
}

export const migrations: Record<string, Migration> = {
  '001': {
    async up(database) {
      for (const statement of first.split(';')) await sql.raw(statement).execute(database)
    },
  },
}

/** SQL that SQLite and Postgres both understand. To change a table, add a migration. */
const first = `
  CREATE TABLE organizations (
    key TEXT PRIMARY KEY, name TEXT NOT NULL, login BIGINT NOT NULL, ended TEXT, ended_at BIGINT,
    paused INTEGER NOT NULL, interval BIGINT, added_at BIGINT NOT NULL, due_at BIGINT NOT NULL, queued_at BIGINT,
    lease BIGINT NOT NULL, passes BIGINT NOT NULL, position TEXT, completed_at BIGINT, changes BIGINT NOT NULL,
    problem TEXT, requests BIGINT NOT NULL, refused BIGINT NOT NULL
  );
  CREATE TABLE items (
    key TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, list TEXT NOT NULL, hash TEXT NOT NULL, data TEXT NOT NULL,
    deleted_at BIGINT, stale INTEGER NOT NULL, failures INTEGER NOT NULL, problem TEXT, place BIGINT NOT NULL,
    PRIMARY KEY (key, kind, id)
  );
  CREATE TABLE changes (
    key TEXT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, change TEXT NOT NULL,
    at BIGINT NOT NULL, PRIMARY KEY (key, number)
  );
  CREATE TABLE seen (key TEXT NOT NULL, part TEXT NOT NULL, ids TEXT NOT NULL, PRIMARY KEY (key, part));
  CREATE TABLE notices (key TEXT NOT NULL, login BIGINT NOT NULL, PRIMARY KEY (key, login));
  CREATE TABLE failures (remedy TEXT PRIMARY KEY, count BIGINT NOT NULL);
  CREATE TABLE erased (passes BIGINT NOT NULL, requests BIGINT NOT NULL, refused BIGINT NOT NULL);
  CREATE TABLE settings (name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, value));
  CREATE INDEX organizations_due ON organizations (due_at);
  CREATE INDEX items_list ON items (key, list, id);
  CREATE INDEX items_deleted ON items (deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX items_problem ON items (key) WHERE problem IS NOT NULL;
  CREATE INDEX changes_at ON changes (at)`
