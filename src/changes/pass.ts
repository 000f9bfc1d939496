import type { Contact, Conversation, Message } from '../client/index.ts'
import { SupportWorkspaceError } from '../errors/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import type { Entries } from '../storage/interface.ts'
import type { Change, WatchedList } from './change.ts'
import type { Counts, FeedSettings } from './feed-options.ts'
import { areComparable, isTurn } from './fingerprints.ts'
import { readMessages } from './messages.ts'
import { endPass, settleTime } from './progress.ts'
import type { Reader } from './reader.ts'
import {
  acknowledge,
  changeOf,
  type MessagesRow,
  type Outbox,
  type Progress,
  type Records,
  type Row,
  replace,
} from './records.ts'
import type { Mark, Rows } from './rows.ts'

export type Changes<Result = void> = AsyncGenerator<Change, Result, undefined>
type List = 'conversations' | 'contacts'
type Item = Conversation | Contact | Message

/** What the passes of a loop share. */
export interface Feed {
  readonly settings: FeedSettings
  readonly counts: Counts
  readonly records: Records
  readonly reader: Reader
  readonly printOf: (item: object) => Promise<string>
  readonly rows: { readonly conversations: Rows; readonly contacts: Rows }
}

/** After this many conversations in a row that could not be read, a pass ends. */
const mostFailures = 5

/**
 * One pass. The order of its steps gives the guarantees: rows are loaded before the service is read, and a row is only
 * replaced if it is still the one that was loaded. So a row always comes from a later reading than the row before. A row
 * and its change are one write, and a change leaves the storage when the program asks for the next.
 */
export class Pass {
  readonly feed: Feed
  /** The progress as it was when the pass began. */
  readonly progress: Progress
  readonly #held: Record<string, number> = {}
  /** Whether a difference was taken over silently. */
  #takesOver = false

  constructor(feed: Feed, progress: Progress) {
    this.feed = feed
    this.progress = progress
    feed.reader.failures = 0
  }

  async *changes(): Changes {
    const { reader, rows, settings } = this.feed
    let { audited } = this.progress
    let isComplete = true
    for (const list of settings.lists) {
      // What a crash or another process has left comes first, so that the changes of a conversation keep their order.
      for (const id of [...rows[list].pending]) yield* this.deliver(list, id)
      const seen = new Set<string>()
      const isWhole = await this.#survey(list, seen)
      isComplete &&= isWhole
      const now = reader.time
      if (list === 'contacts') for (const id of [...rows.contacts.pending]) yield* this.deliver(list, id)
      else yield* this.#readConversations(seen, now)
      if (list === 'conversations' && !this.#hasFailed) audited = now
      if (isWhole && !this.#hasFailed) yield* this.#findMissing(list, seen)
    }
    for (const [list, count] of Object.entries(this.#held)) {
      this.#tell(
        `${count} ${list} are missing at once. None of them is reported as deleted.`,
        'Find out whether they were deleted, or whether the token sees less. If they were deleted, call `acceptDeletions`.',
      )
    }
    if (this.#takesOver) {
      this.#tell(
        'The feed takes over differences without reporting them, because fingerprints were made by another version or with another `ignore`.',
        'Changes of the same items in this time are not reported.',
      )
    }
    await endPass(this, isComplete && !this.#hasFailed, this.#held, audited)
  }

  /** Whether more items of a list are missing at once than may be. */
  isHeld(list: WatchedList, missing: number, size: number): boolean {
    const usual = this.feed.settings.maxDeletions ?? Math.max(5, Math.floor(size / 10))
    if (missing <= Math.max(usual, this.progress.isAccepted ? (this.progress.held[list] ?? 0) : 0)) return false
    this.#held[list] = (this.#held[list] ?? 0) + missing
    return true
  }

  /**
   * Compares fingerprints of an item. Undefined if there is nothing to report.
   *
   * @param isLater whether an item without a time has come after the start of the feed
   */
  kindOf(list: WatchedList, { inserted_at: time }: Item, old: string | undefined, print: string, isLater = false) {
    if (old === undefined) {
      const { starts } = this.progress
      const start = starts[list] ?? starts.messages ?? 0
      return start === 0 || (typeof time === 'number' ? time >= start : isLater) ? 'created' : undefined
    }
    if (old === print) return undefined
    if (areComparable(old, print)) return 'updated'
    this.#takesOver = true
    return undefined
  }

  /** Reports what is stored of an item, and of the messages of a conversation. Returns what remains stored. */
  async *deliver(list: List, id: string): Changes<{ row: Row | undefined; messages: MessagesRow | undefined }> {
    const { records, rows } = this.feed
    const row: Row | undefined = yield* this.report(records[list], id)
    const messages = list === 'contacts' ? undefined : yield* this.report(records.messages, id)
    rows[list].adopt(id, row)
    rows[list].pending.delete(id)
    return { row, messages }
  }

  /** Reports the changes in an entry. Each is acknowledged when the program asks for the next. */
  async *report<Content extends Outbox>(entries: Entries<Content>, id: string): Changes<Content | undefined> {
    const { counts, reader, settings } = this.feed
    let left = await reader.patiently(() => entries.get(id))
    for (let change = left?.outbox[0]; change !== undefined; change = left?.outbox[0]) {
      const { key, resource } = change
      if (settings.watch.has(resource)) yield change
      left = (await reader.patiently(() => acknowledge(entries, id, key))).left
      if (settings.watch.has(resource)) counts.changes += 1
      throwIfAborted(settings.signal)
    }
    return left
  }

  get #hasFailed(): boolean {
    return this.feed.reader.failures >= mostFailures
  }

  #tell(message: string, hint: string): void {
    this.feed.reader.report({ error: new SupportWorkspaceError(message, { hint }) })
  }

  /**
   * Reads a list, and stores what is new together with its change. Nothing is delivered before the list has ended,
   * because entries move while it is read. Returns whether an entry that was not seen is missing.
   */
  #survey(list: List, seen: Set<string>): Promise<boolean> {
    const { printOf, reader, settings } = this.feed
    const rows = this.feed.rows[list]
    const look = async (item: Conversation | Contact) => {
      const { id, user } = item as Conversation
      seen.add(id)
      // The entry was seen before it moved, or another process has replaced its row. That change comes first.
      if (rows.pending.has(id)) return
      const print = await printOf(item)
      const mark = rows.mark(id)
      if (mark?.print === print && mark.missing === 'no') return
      const kind = this.kindOf(list, item, mark?.print, print)
      const readsMessages = kind !== undefined && list === 'conversations' && settings.watch.has('messages')
      const task = readsMessages ? this.progress.passes : mark?.task
      await rows.update(id, {
        ...{ print, missing: 'no', customer: typeof user?.id === 'string' ? user.id : undefined },
        task: typeof task === 'number' ? task : 'unread',
        outbox: kind !== undefined && settings.watch.has(list) ? [changeOf(list, kind, id, id, { value: item })] : [],
      })
    }
    return reader.read(list, '', (items) => Promise.all(items.map(look)))
  }

  /** Reads messages: of changed conversations first, and of unchanged ones as far as their time has come. */
  async *#readConversations(seen: ReadonlySet<string>, now: number): Changes {
    const { settings } = this.feed
    const rows = this.feed.rows.conversations
    const { audited, ends, passes } = this.progress
    // The first pass that ended too late for a second reading.
    const recent = passes - ends.filter((end) => end + settleTime > now).length
    const isDue = (id: string) => {
      const { missing, print, task } = rows.mark(id) as Mark
      const isAudited = isTurn(print, audited, now, settings.auditEvery)
      if (!seen.has(id)) return missing === 'hidden' && isAudited
      if (rows.pending.has(id) || !settings.watch.has('messages')) return false
      return typeof task === 'number' ? task >= passes || task < recent : task === 'unread' || isAudited
    }
    const due = rows.ids.filter(isDue)
    // Begins anywhere, so that conversations that stay broken do not keep those behind them from being read for ever.
    const start = Math.floor(Math.random() * due.length)
    for (const id of [...rows.pending, ...due.slice(start), ...due.slice(0, start)]) {
      if (this.#hasFailed) return
      if (seen.has(id)) yield* readMessages(this, id)
      else yield* this.#miss('conversations', id, false)
    }
  }

  /** Looks after rows that a complete pass lacked. */
  async *#findMissing(list: List, seen: ReadonlySet<string>): Changes {
    const { rows, settings } = this.feed
    if (list === 'contacts' && !settings.deletions.has('contacts')) return
    const { ids } = rows[list]
    const missing = ids.filter((id) => !seen.has(id) && rows[list].mark(id)?.missing !== 'hidden')
    const isHeld = this.isHeld(list, missing.length, ids.length)
    for (const id of missing) {
      if (this.#hasFailed) return
      yield* this.#miss(list, id, isHeld)
    }
  }

  /** Asks for an item that a pass lacked, and reports it as deleted if it is gone. */
  async *#miss(list: List, id: string, isHeld: boolean): Changes {
    const { reader, records, settings } = this.feed
    const rows = this.feed.rows[list]
    const { missing } = rows.mark(id) ?? {}
    if (missing === undefined || rows.pending.has(id) || (missing === 'once' && isHeld)) return
    const isAsked = missing !== 'no' && list === 'conversations'
    const isGone = isAsked ? await reader.isGone(id) : missing === 'once'
    if (isGone === undefined) return
    // A hidden one was there when it was asked for before. Whether many are gone at once is asked again.
    if (!isGone || missing === 'hidden') {
      const next = isAsked && !isGone ? 'hidden' : 'once'
      if (next !== missing) await rows.update(id, { missing: next })
      return
    }
    if (list === 'conversations') {
      const { row, messages } = yield* this.deliver(list, id)
      if (row === undefined) return
      const lost = settings.deletions.has('messages') ? Object.keys(messages?.prints ?? {}) : []
      const outbox = lost.map((each) => changeOf('messages', 'deleted', each, id))
      const emptied = { prints: {}, absent: [], outbox }
      const stored = await reader.patiently(() => replace(records.messages, id, messages?.revision, emptied))
      if (stored === undefined) return
      yield* this.report(records.messages, id)
      await reader.patiently(() => records.messages.change(id, () => ({ write: null, result: undefined })))
    }
    await rows.update(id, { outbox: [changeOf(list, 'deleted', id, id)] })
    yield* this.deliver(list, id)
  }
}
