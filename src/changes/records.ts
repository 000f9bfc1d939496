import { isObject } from '../shared/json.ts'
import type { KeyValueStorage, StoredTexts } from '../storage/interface.ts'
import type { Change, WatchedList } from './change.ts'
import { Entries, type FieldChecks } from './entries.ts'

/**
 * What is left to do for an entry of a list:
 *
 * - `none`: nothing.
 * - `unread`: the messages of the conversation were not read yet, and the conversation has not changed.
 * - `outbox`: only the change in its outbox has to be acknowledged.
 * - a number: the pass in which the conversation was found changed. Its messages are read in this pass, and once more in
 *   a later one. There can be changes in its outbox and in the outbox of its messages.
 */
export type Task = 'none' | 'unread' | 'outbox' | number

/**
 * Whether a conversation or contact is missing from its list:
 *
 * - `once`: the last complete pass lacked it.
 * - `hidden`: complete passes lacked it, but the service still has its messages.
 * - `gone`: it is deleted. The row is removed when its last change is acknowledged.
 */
export type Absence = 'no' | 'once' | 'hidden' | 'gone'

/** The state of a conversation or contact. */
export interface Row {
  /** Fingerprint of the list entry. */
  readonly print: string
  readonly task: Task
  readonly absence: Absence
  /** Whether the list was watched when the row was written. For messages alone, conversations are only read. */
  readonly isWatched: boolean
  /** The id of the user of a conversation: the customer. */
  readonly customer?: string | undefined
  /** The change that is not acknowledged. */
  readonly outbox?: Change | undefined
}

/** The messages of a conversation. Its outbox is only set while the task of the conversation is a number. */
export interface MessagesRow {
  /** Fingerprints by the ids of the messages. */
  readonly prints: Readonly<Record<string, string>>
  /** Ids of messages that the last reading lacked. */
  readonly absent: readonly string[]
  /** Changes that are not acknowledged. */
  readonly outbox: readonly Change[]
}

/** Numbers of deletions by list. */
export type Deletions = Partial<Record<WatchedList, number>>

/** The progress of a feed, which all its processes share. */
export interface Progress {
  /** Digest of the address of the service and the organization. */
  readonly place: string
  /** Where each watched list began: seconds of the service's time, or null for the beginning. */
  readonly starts: Readonly<Partial<Record<WatchedList, number | null>>>
  /** Lists that a complete pass has read. */
  readonly read: readonly WatchedList[]
  /** Number of passes that have ended. */
  readonly passes: number
  /** When the last passes ended, in milliseconds of the service's time. The last is that of `passes - 1`. */
  readonly ends: readonly number[]
  /** When the last complete pass ended, in milliseconds of this machine's time. */
  readonly completedAt: number | null
  /** The conversation that was audited last in the order of ids, and until when the audit is done. */
  readonly audit: { readonly last: string; readonly until: number }
  /** Deletions that are held back. */
  readonly held: Deletions
  /** Deletions that `acceptDeletions` lets through. */
  readonly accepted: Deletions
}

const isText = (value: unknown) => typeof value === 'string'
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
const isOptional = (check: (value: unknown) => boolean) => (value: unknown) => value === undefined || check(value)
const isListOf = (check: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(check)
const isRecordOf = (check: (value: unknown) => boolean) => (value: unknown) =>
  isObject(value) && Object.values(value).every(check)
const isChange = (value: unknown) => isObject(value) && [value.id, value.key, value.resource, value.kind].every(isText)

const rowChecks: FieldChecks<Row> = {
  print: isText,
  task: (value) => isCount(value) || ['none', 'unread', 'outbox'].includes(value as string),
  absence: (value) => ['no', 'once', 'hidden', 'gone'].includes(value as string),
  isWatched: (value) => typeof value === 'boolean',
  customer: isOptional(isText),
  outbox: isOptional(isChange),
}

const messagesChecks: FieldChecks<MessagesRow> = {
  prints: isRecordOf(isText),
  absent: isListOf(isText),
  outbox: isListOf(isChange),
}

const progressChecks: FieldChecks<Progress> = {
  place: isText,
  starts: isRecordOf((value) => value === null || Number.isFinite(value)),
  read: isListOf(isText),
  passes: isCount,
  ends: isListOf(Number.isFinite),
  completedAt: (value) => value === null || Number.isFinite(value),
  audit: (value) => isObject(value) && isText(value.last) && Number.isFinite(value.until),
  held: isRecordOf(isCount),
  accepted: isRecordOf(isCount),
}

/** The entries of a feed in its storage. */
export interface Records {
  readonly progress: Entries<Progress>
  readonly conversations: Entries<Row>
  readonly contacts: Entries<Row>
  readonly messages: Entries<MessagesRow>
}

/** Returns the entries of the feed with a name. Other feeds, connections and journals can be in the same storage. */
export function openRecords(storage: KeyValueStorage, name: string, texts: StoredTexts): Records {
  const prefix = `changes:${encodeURIComponent(name)}:`
  return {
    progress: new Entries(storage, `${prefix}progress`, texts, progressChecks),
    conversations: new Entries(storage, `${prefix}conversations:`, texts, rowChecks),
    contacts: new Entries(storage, `${prefix}contacts:`, texts, rowChecks),
    messages: new Entries(storage, `${prefix}messages:`, texts, messagesChecks),
  }
}
