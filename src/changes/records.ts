import { SupportWorkspaceError } from '../errors/index.ts'
import { randomId } from '../shared/bytes.ts'
import {
  type ContentOf,
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
} from '../storage/interface.ts'
import type { Change, WatchedList } from './change.ts'
import type { FeedSettings } from './feed-options.ts'

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

const isTime = (value: unknown): value is number => Number.isFinite(value)
const isTask = (value: unknown): value is 'no' | 'unread' | number => isCount(value) || isOneOf('no', 'unread')(value)
const isChange = hasFields({ id: isText, key: isText, resource: isText, kind: isText })

const outbox = {
  /** Changes that are not acknowledged. */
  outbox: isListOf((value): value is Change => isChange(value)),
  /** Random text that each replacement changes, but not an acknowledgement. */
  revision: isText,
}

/** The state of a conversation or contact. It has at most one change in its outbox. */
const row = {
  ...outbox,
  /** Fingerprint of the list entry. */
  print: isText,
  /**
   * Whether the messages of a conversation are to be read: `no`, or `unread` if they were not read yet. Or the number of
   * the pass that found the conversation changed: they are read in this pass, and once more in a later one. Only then
   * there can be changes in the outbox of the messages.
   */
  task: isTask,
  /**
   * Whether the last complete passes lacked it: `no`, `once`, or `hidden` if the service still has its messages. With
   * `once`, a deletion can be in the outbox. Then the row is removed when the deletion is acknowledged.
   */
  missing: isOneOf('no', 'once', 'hidden'),
  /** The id of the user of a conversation: the customer. */
  customer: isOptional(isText),
}

/** The messages of a conversation. */
const messages = {
  ...outbox,
  /** Fingerprints by the ids of the messages. */
  prints: isRecordOf(isText),
  /** Ids of messages that the last reading lacked. */
  absent: isListOf(isText),
  /** The revision of the conversation's row for which all of this was read, so that one pass reads it only once. */
  readFor: isOptional(isText),
}

/** The progress of a feed, which all its processes share. */
const progress = {
  /** Digest of the address of the service and the organization. */
  place: isText,
  /**
   * From when the items of each watched list are new, in seconds of the service's time. After a complete pass, every
   * conversation and contact that appears is new: 0.
   */
  starts: isRecordOf(isTime),
  /** Number of passes that have ended. */
  passes: isCount,
  /** When the last passes ended, in milliseconds of the service's time. The last is that of `passes - 1`. */
  ends: isListOf(isTime),
  /** When the last complete pass ended, in milliseconds of this machine's time. */
  completedAt: isOptional(isTime),
  /** Until when the audit is done, in milliseconds of the service's time. */
  audited: isTime,
  /** Number of deletions that are held back, by list, and whether `acceptDeletions` lets them through. */
  held: isRecordOf(isCount),
  isAccepted: (value: unknown): value is boolean => typeof value === 'boolean',
}

export type Outbox = ContentOf<typeof outbox>
export type Row = ContentOf<typeof row>
export type MessagesRow = ContentOf<typeof messages>
export type Progress = ContentOf<typeof progress>

/** The entries of a feed in its storage. */
export type Records = ReturnType<typeof openRecords>

/** Returns the entries of the feed with a name. Other feeds, connections and journals can be in the same storage. */
export function openRecords({ storage, name, texts, watch }: FeedSettings) {
  const open = <Content extends object>(prefix: string, fields: FieldChecks<Content>) =>
    new Entries<Content>(storage, {
      ...{ prefix: `changes:${encodeURIComponent(name)}:${prefix}`, texts, format: 1, fields },
      failed: (_, thrown) => new ChangeFeedError(thrown),
    })
  return {
    progress: open<Progress>('progress', progress),
    // Watched for messages alone, conversations have rows of their own, so that they begin anew if they are watched later.
    conversations: open<Row>(watch.has('conversations') ? 'conversations:' : 'unwatched:', row),
    contacts: open<Row>('contacts:', row),
    messages: open<MessagesRow>('messages:', messages),
  }
}

/**
 * Changes an entry. Returns undefined if it has another revision, because another process has replaced it.
 *
 * @param revision the expected revision, undefined if there must be no entry
 */
export function replace<Content extends Outbox>(
  entries: Entries<Content>,
  key: string,
  revision: string | undefined,
  change: Partial<Content>,
): Promise<Content | undefined> {
  const next = randomId().slice(0, 8)
  const decide = (now: Content | undefined) => {
    if (now?.revision !== revision) return { result: undefined }
    const write = { ...now, ...change, revision: next } as Content
    return { write, result: write }
  }
  return entries.change(key, decide, revision === undefined ? null : undefined)
}

/** Removes a change from its outbox: one write. Returns what is left of the entry, and whether the change was there. */
export function acknowledge<Content extends Outbox>(entries: Entries<Content>, owner: string, key: string) {
  return entries.change<{ left: Content | undefined; isThere: boolean }>(owner, (now) => {
    const change = now?.outbox.find((each) => each.key === key)
    if (now === undefined || change === undefined) return { result: { left: now, isThere: false } }
    const isGone = change.kind === 'deleted' && change.resource !== 'messages'
    const left = isGone ? undefined : { ...now, outbox: now.outbox.filter((each) => each !== change) }
    return { write: left ?? null, result: { left, isThere: true } }
  })
}

/**
 * Returns a change with a key that leads to its entry.
 *
 * @param owner the item whose entry has the change: for a message, its conversation
 */
export function changeOf(
  resource: WatchedList,
  kind: Change['kind'],
  id: string,
  owner: string,
  state?: object,
): Change {
  const ids = resource === 'messages' ? [owner, id] : [id]
  const key = [resource, ...ids.map(encodeURIComponent), randomId()].join(':')
  return { resource, kind, id, ...(resource !== 'contacts' && { conversationId: owner }), ...state, key } as Change
}

/** Returns the list of a key, and the entry that leads to its change. Undefined for a text that is no key. */
export function partsOf(key: string): { readonly resource: WatchedList; readonly owner: string } | undefined {
  const [, resource, owner = ''] = /^(conversations|messages|contacts):([^:]+)(?::[^:]+)?:\w+$/.exec(key) ?? []
  try {
    return resource === undefined ? undefined : { resource: resource as WatchedList, owner: decodeURIComponent(owner) }
  } catch {
    // A `%` that begins no escape.
    return undefined
  }
}
