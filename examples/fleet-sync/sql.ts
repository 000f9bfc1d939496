/** A column value, as both databases store it. */
export type SqlValue = string | number | null
export type Row = Record<string, SqlValue>

/** Runs a statement. Parameters are `$1`, `$2`, … in both databases. Returns the rows that it selects or returns. */
export type Query = (sql: string, values?: readonly SqlValue[]) => Promise<Row[]>

/** What this example needs of a database. `sqlite.ts` and `postgres.ts` implement it. */
export interface Sql {
  query: Query
  /** Commits when `run` resolves, and rolls back when it rejects. */
  transaction<Result>(run: (query: Query) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/**
 * Returns the value that both databases store and return unchanged. Without this, a time beyond the safe integers could not
 * be read, and a single name could fail a statement.
 */
export function storable(value: SqlValue): SqlValue {
  if (typeof value !== 'number') return wellFormed(value)
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Math.trunc(value)))
}

/** How deeply JSON data may be nested. Functions that call themselves for each level exceed the stack at a few thousand. */
const mostLevels = 100

/**
 * Replaces what Postgres cannot store (NUL) and what UTF-8 cannot encode (half of a surrogate pair) by U+FFFD, in text or in
 * all text of JSON data, and what is nested too deeply as well. An id must be compared in this form, or else it differs from
 * the one that was stored.
 */
export function wellFormed<Value>(value: Value, levels?: number): Value
export function wellFormed(value: unknown, levels = mostLevels): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\uFFFD')
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return '\uFFFD'
  const inner = (each: unknown) => wellFormed(each, levels - 1)
  if (Array.isArray(value)) return value.map(inner)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [wellFormed(name), inner(each)]))
}

/** Returns `$3, $4, $5` for 3 parameters from the third. */
export function parameters(first: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `$${first + index}`).join(', ')
}

/** Returns `($1, $2), ($3, $4)` for 2 rows of 2 columns. */
export function parameterRows(rows: number, columns: number): string {
  return Array.from({ length: rows }, (_, row) => `(${parameters(1 + row * columns, columns)})`).join(', ')
}

/** The same schema for SQLite and Postgres. Times are in milliseconds since the Unix epoch. */
export const schema = `
  CREATE TABLE IF NOT EXISTS connections (
    key TEXT PRIMARY KEY,
    organization TEXT NOT NULL,
    connected_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    problem TEXT,
    next_run_at BIGINT,
    lease BIGINT NOT NULL,
    position TEXT NOT NULL,
    complete_sweeps BIGINT NOT NULL,
    last_complete_at BIGINT,
    items BIGINT NOT NULL,
    sweep_items BIGINT NOT NULL,
    changes BIGINT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS items (
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation TEXT,
    hash TEXT NOT NULL,
    data TEXT NOT NULL,
    last_seen BIGINT NOT NULL,
    deleted BIGINT NOT NULL,
    PRIMARY KEY (key, kind, id)
  );
  CREATE TABLE IF NOT EXISTS changes (
    key TEXT NOT NULL,
    number BIGINT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    change TEXT NOT NULL,
    sweep BIGINT NOT NULL,
    PRIMARY KEY (key, number)
  );
  CREATE TABLE IF NOT EXISTS notices (
    key TEXT NOT NULL,
    connected_at BIGINT NOT NULL,
    organization TEXT NOT NULL,
    PRIMARY KEY (key, connected_at)
  );
  CREATE TABLE IF NOT EXISTS notes (
    key TEXT NOT NULL,
    conversation TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    done BIGINT NOT NULL,
    PRIMARY KEY (key, conversation)
  );
`
