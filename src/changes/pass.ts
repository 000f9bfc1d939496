import type { Contact, Conversation, Message } from '../client/index.ts'
import { SupportWorkspaceError } from '../errors/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import type { Entries } from '../storage/interface.ts'
import type { Change, WatchedList } from './change.ts'
import type { Counts, FeedSettings } from './feed-options.ts'
import { areComparable } from './fingerprints.ts'
import type { Reader } from './reader.ts'
import { acknowledge, type MessagesRow, type Outbox, type Progress, type Records, type Row } from './records.ts'
import type { Rows } from './rows.ts'

export type Changes<Result = void> = AsyncGenerator<Change, Result, undefined>
export type List = 'conversations' | 'contacts'
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

/** What is known in one pass, and how changes are delivered in it. */
export class Pass {
  readonly feed: Feed
  /** The progress as it was when the pass began. */
  readonly progress: Progress
  /** Number of missing items of each list that are not reported as deleted. */
  readonly held: Record<string, number> = {}
  /** Whether a difference was taken over silently. */
  takesOver = false

  constructor(feed: Feed, progress: Progress) {
    this.feed = feed
    this.progress = progress
    feed.reader.failures = 0
  }

  /** Whether more items of a list are missing at once than may be. */
  isHeld(list: WatchedList, missing: number, size: number): boolean {
    const usual = this.feed.settings.maxDeletions ?? Math.max(5, Math.floor(size / 10))
    if (missing <= Math.max(usual, this.progress.isAccepted ? (this.progress.held[list] ?? 0) : 0)) return false
    this.held[list] = (this.held[list] ?? 0) + missing
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
    this.takesOver = true
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

  /** Whether so many conversations could not be read that the pass ends. */
  get hasFailed(): boolean {
    return this.feed.reader.failures >= mostFailures
  }

  tell(message: string, hint: string): void {
    this.feed.reader.report({ error: new SupportWorkspaceError(message, { hint }) })
  }
}
