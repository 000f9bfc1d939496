import type { Checkpoint } from 'support-workspace-sdk'
import { SqlDatabase } from './sql-database.ts'

/** The replica of every connected organization, and the state of its sync. All times are milliseconds since the Unix epoch. */
export interface Database {
  /** Adds a connection. A newer login of a known connection revives it, with the replica that it has. */
  connect(connection: { key: string; organization: string; connectedAt: number }): Promise<void>
  /** Marks a connection that this app has removed. */
  disconnect(key: string): Promise<void>
  /**
   * Marks a connection whose token was revoked, and leaves a notice. Many processes may find out at the same time, but each
   * login gets one notice. A newer login stays connected.
   */
  revoke(key: string, connectedAt: number): Promise<void>

  /**
   * Takes over the sweep of a connection, to continue it from its position. From now on an earlier owner that is still
   * running cannot write. Returns undefined if the connection is unknown or revoked.
   */
  claim(key: string): Promise<Claim | undefined>
  /**
   * Stores the items of one response, their changes and the new position, in one transaction. A problem is shown in the
   * status until the next claim.
   *
   * @throws LostLeaseError if another process has taken over
   */
  savePage(claim: Claim, items: readonly FetchedItem[], position: Position, problem?: string): Promise<void>
  /** Returns the id of the stored conversation that comes after another one, in the order of ids. */
  nextConversation(key: string, after?: string): Promise<string | undefined>
  /**
   * Ends a sweep, and reports the items that are deleted.
   *
   * @throws LostLeaseError if another process has taken over
   */
  finishSweep(claim: Claim, nextRunAt: number | undefined): Promise<void>
  /** Interrupts a sweep. The next claim continues it. Does nothing if another process has taken over. */
  interrupt(claim: Claim, state: 'waiting' | 'delayed' | 'failed', why?: Interruption): Promise<void>

  /** Returns the conversations that still need the note of `write-once.ts`. */
  missingNotes(key: string): Promise<MissingNote[]>
  /**
   * Records that a note is about to be sent.
   *
   * @throws LostLeaseError if another process has taken over
   */
  startNote(claim: Claim, conversation: string): Promise<void>
  /** Records that the note was sent. */
  finishNote(key: string, conversation: string): Promise<void>

  /** Returns the state of every connection, sorted by organization. */
  status(): Promise<ConnectionStatus[]>
  /** Returns the stored items of a connection, including the deleted ones. */
  items(key: string): Promise<StoredItem[]>
  /** Returns the reported changes of a connection, oldest first. */
  changes(key: string): Promise<Change[]>
  /** Returns the notices, oldest login first. */
  notices(): Promise<Notice[]>
  close(): Promise<void>
}

export type Kind = 'conversation' | 'message'
export type ConnectionState = 'waiting' | 'syncing' | 'delayed' | 'revoked' | 'failed'

export interface ConnectionStatus {
  readonly key: string
  readonly organization: string
  readonly state: ConnectionState
  readonly completeSweeps: number
  readonly lastCompleteAt: number | undefined
  /** Number of stored items that are not deleted. */
  readonly items: number
  /** Number of items seen so far in the running sweep. */
  readonly sweepItems: number
  readonly nextRunAt: number | undefined
  /** Why the connection is delayed, revoked or failed, or what its sweep skipped. */
  readonly problem: string | undefined
}

/** Where a sweep is: in the list of conversations or, with an id, in the list of that conversation's messages. */
export interface Position {
  readonly conversation?: string
  readonly checkpoint: Checkpoint
}

/** The right to write the rest of a sweep, until another process claims it. */
export interface Claim {
  readonly key: string
  readonly lease: number
  /** Number of the sweep, starting at 1. */
  readonly sweep: number
  readonly position: Position
}

export interface Interruption {
  readonly problem?: string
  readonly nextRunAt?: number
}

export interface FetchedItem {
  readonly kind: Kind
  readonly id: string
  /** The conversation of a message. */
  readonly conversation?: string | undefined
  /** The item, as the service sent it. */
  readonly data: object
}

export interface StoredItem {
  readonly kind: Kind
  readonly id: string
  /** The conversation of a message. */
  readonly conversation: string | undefined
  /** The item, as the service sent it. What a database cannot store is replaced: see `wellFormed`. */
  readonly data: unknown
  readonly deleted: boolean
}

export interface Change {
  /** Position in the connection's log, starting at 1, without gaps. */
  readonly number: number
  readonly kind: Kind
  readonly id: string
  readonly change: 'created' | 'updated' | 'deleted' | 'restored'
  readonly sweep: number
}

/** A request to an organization to connect again. */
export interface Notice {
  readonly key: string
  readonly connectedAt: number
  readonly organization: string
}

export interface MissingNote {
  readonly conversation: string
  /** When the note was about to be sent. Undefined if it was never tried. */
  readonly startedAt: number | undefined
}

/** Another process has taken over the sweep. Nothing was written. */
export class LostLeaseError extends Error {}

/** Opens a `postgres://` URL or the path of a SQLite file. Creates the tables if they are missing. */
export async function openDatabase(url: string): Promise<Database> {
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { openPostgres } = await import('./postgres.ts')
    return new SqlDatabase(await openPostgres(url))
  }
  const { openSqlite } = await import('./sqlite.ts')
  return new SqlDatabase(openSqlite(url))
}
