import { SupportWorkspaceError } from '../errors/index.ts'
import { randomId } from '../shared/bytes.ts'
import {
  Entries,
  type FieldChecks,
  failureOf,
  hasFields,
  isCount,
  isListOf,
  isOneOf,
  isOptional,
  isRecordOf,
  isText,
  type KeyValueStorage,
  type StoredTexts,
} from '../storage/interface.ts'
import { type Change, partsOf, type WatchedList } from './change.ts'

/**
 * The storage of a `ChangeFeed` failed. With the remedy `retry`, the feed waits and tries again by itself. With `fix`,
 * an entry is damaged or encrypted with an unknown secret, or the storage violates the contract of `KeyValueStorage`.
 */
export class ChangeFeedError extends SupportWorkspaceError {
  static override readonly kind: string = 'ChangeFeedError'

  constructor(thrown: unknown) {
    super(...failureOf('the change feed', thrown))
  }
}

/** An entry with changes. */
export interface Outbox {
  /** Changes that are not acknowledged. */
  readonly outbox: readonly Change[]
  /** Random text that each replacement changes, but not an acknowledgement. */
  readonly revision: string
}

/** The state of a conversation or contact. It has at most one change in its outbox. */
export interface Row extends Outbox {
  /** Fingerprint of the list entry. */
  readonly print: string
  /**
   * Whether the messages of a conversation are to be read: `no`, or `unread` if they were not read yet. Or the number of
   * the pass that found the conversation changed: they are read in this pass, and once more in a later one. Only then
   * there can be changes in the outbox of the messages.
   */
  readonly task: 'no' | 'unread' | number
  /**
   * Whether the last complete passes lacked it: `no`, `once`, or `hidden` if the service still has its messages. With
   * `once`, a deletion can be in the outbox. Then the row is removed when the deletion is acknowledged.
   */
  readonly missing: 'no' | 'once' | 'hidden'
  /** The id of the user of a conversation: the customer. */
  readonly customer?: string | undefined
}

/** The messages of a conversation. */
export interface MessagesRow extends Outbox {
  /** Fingerprints by the ids of the messages. */
  readonly prints: Readonly<Record<string, string>>
  /** Ids of messages that the last reading lacked. */
  readonly absent: readonly string[]
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
  /** Until when the audit is done, in milliseconds of the service's time. */
  readonly audited: number
  /** Deletions that are held back, and deletions that `acceptDeletions` lets through. */
  readonly held: Deletions
  readonly accepted: Deletions
}

/** The entries of a feed in its storage. */
export interface Records {
  readonly progress: Entries<Progress>
  readonly conversations: Entries<Row>
  readonly contacts: Entries<Row>
  readonly messages: Entries<MessagesRow>
}

const isTime = Number.isFinite
const isChange = hasFields({ id: isText, key: isText, resource: isText, kind: isText })
const outboxChecks: FieldChecks<Outbox> = { outbox: isListOf(isChange), revision: isText }

const rowChecks: FieldChecks<Row> = {
  ...outboxChecks,
  print: isText,
  task: (value) => isCount(value) || value === 'no' || value === 'unread',
  missing: isOneOf('no', 'once', 'hidden'),
  customer: isOptional(isText),
}

const messagesChecks: FieldChecks<MessagesRow> = {
  ...outboxChecks,
  prints: isRecordOf(isText),
  absent: isListOf(isText),
}

const progressChecks: FieldChecks<Progress> = {
  place: isText,
  starts: isRecordOf((value) => value === null || isTime(value)),
  read: isListOf(isText),
  passes: isCount,
  ends: isListOf(isTime),
  completedAt: (value) => value === null || isTime(value),
  audited: isTime,
  held: isRecordOf(isCount),
  accepted: isRecordOf(isCount),
}

/** The version of the format of an entry. */
const format = 1

/** Returns the entries of the feed with a name. Other feeds, connections and journals can be in the same storage. */
export function openRecords(
  storage: KeyValueStorage,
  name: string,
  texts: StoredTexts,
  watch: ReadonlySet<WatchedList>,
): Records {
  const open = <Content extends object>(prefix: string, fields: FieldChecks<Content>) =>
    new Entries<Content>(storage, {
      ...{ prefix: `changes:${encodeURIComponent(name)}:${prefix}`, texts, format, fields },
      failed: (_, thrown) => new ChangeFeedError(thrown),
    })
  return {
    progress: open('progress', progressChecks),
    // Watched for messages alone, conversations have rows of their own, so that they begin anew if they are watched later.
    conversations: open(watch.has('conversations') ? 'conversations:' : 'unwatched:', rowChecks),
    contacts: open('contacts:', rowChecks),
    messages: open('messages:', messagesChecks),
  }
}

/**
 * Replaces an entry. Returns undefined if it has another revision, because another process has replaced it.
 *
 * @param revision the expected revision, undefined if there must be no entry
 */
export function replace<Content extends Outbox>(
  entries: Entries<Content>,
  key: string,
  revision: string | undefined,
  content: Omit<Content, 'revision'>,
): Promise<Content | undefined> {
  const next = { ...content, revision: randomId().slice(0, 8) } as Content
  return entries.change(
    key,
    (now) => (now?.revision === revision ? { write: next, result: next } : { result: undefined }),
    revision === undefined ? null : undefined,
  )
}

/** Removes a change from its outbox: one write. Returns false if it is not there, because it was acknowledged before. */
export async function acknowledge(records: Records, key: string): Promise<boolean> {
  const { resource, owner } = partsOf(key) ?? {}
  if (resource === undefined || owner === undefined) return false
  const entries: { readonly change: Entries<Outbox>['change'] } = records[resource]
  return entries.change(owner, (now) => {
    const change = now?.outbox.find((each) => each.key === key)
    if (now === undefined || change === undefined) return { result: false }
    const isGone = change.kind === 'deleted' && resource !== 'messages'
    return { write: isGone ? null : { ...now, outbox: now.outbox.filter((each) => each !== change) }, result: true }
  })
}
