import type { Contact, Conversation, Message } from '../client/index.ts'
import { SupportWorkspaceError } from '../errors/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { secondsOf } from '../shared/time.ts'
import type { Entries } from '../storage/interface.ts'
import type { Change, WatchedList } from './change.ts'
import type { Counts, FeedSettings } from './feed-options.ts'
import { areComparable, type fingerprints } from './fingerprints.ts'
import type { Reader } from './reader.ts'
import { acknowledge, type MessagesRow, type Outbox, type Progress, type Records, type Row } from './records.ts'
import type { Rows } from './rows.ts'
import { otherOrganization } from './verified-requests.ts'

export type Changes<Result = void> = AsyncGenerator<Change, Result, undefined>
export type List = 'conversations' | 'contacts'
type Item = Conversation | Contact | Message

/** What the passes of a loop share. */
export interface Feed {
  readonly settings: FeedSettings
  readonly counts: Counts
  readonly records: Records
  readonly reader: Reader
  readonly printOf: ReturnType<typeof fingerprints>
  readonly rows: { readonly conversations: Rows; readonly contacts: Rows }
}

/**
 * A second reading of messages begins so many milliseconds after the pass of the first. A `Date` has whole seconds, so
 * this makes at least two seconds.
 */
export const settleTime = 3000

/** What is known in one pass, and how changes are delivered in it. */
export class Pass {
  readonly feed: Feed
  /** The progress as it was when the pass began. */
  readonly progress: Progress
  /** Number of missing items of each list that are not reported as deleted. */
  readonly held: Record<string, number> = {}
  /** Whether a difference was taken over silently. */
  takesOver = false

  private constructor(feed: Feed, progress: Progress) {
    this.feed = feed
    this.progress = progress
  }

  /**
   * Begins a pass with the progress of the feed, which the first pass starts.
   *
   * @param place digest of the address of the service and the organization
   * @throws InvalidArgumentError if the storage belongs to another place
   */
  static async begin(feed: Feed, place: string): Promise<Pass> {
    const { reader, records, settings } = feed
    const start = settings.since === 'now' ? Math.floor(reader.time / 1000) : 0
    const begin = (found: Progress | undefined) => {
      if (found !== undefined && found.place !== place) throw otherOrganization()
      const added = [...settings.watch].filter((list) => found?.starts[list] === undefined).map((list) => [list, start])
      const next: Progress = {
        ...{ place, passes: 0, ends: [], completedAt: undefined, audited: reader.time, held: {}, isAccepted: false },
        ...found,
        starts: { ...found?.starts, ...Object.fromEntries(added) },
      }
      return { write: added.length > 0 ? next : undefined, result: next }
    }
    return new Pass(feed, await reader.patiently(() => records.progress.change('', begin)))
  }

  /**
   * Stores that the pass has ended.
   *
   * @param isComplete whether what it lacked is missing
   * @param audited until when the audit is done
   */
  async end(isComplete: boolean, audited: number): Promise<void> {
    const { counts, reader, records, settings } = this.feed
    const end = (now = this.progress) => {
      const ends = [...now.ends.filter((time) => time + settleTime > reader.time), reader.time]
      const hasBegun = (list: string) => list !== 'messages' && settings.watch.has(list as WatchedList)
      const starts = Object.entries(now.starts).map(([list, start]) => [list, hasBegun(list) ? 0 : start] as const)
      // What was accepted while this pass was running is for the next one.
      const isAccepted = now.isAccepted && !this.progress.isAccepted
      const completed = {
        ...{ completedAt: Date.now(), starts: Object.fromEntries(starts) },
        ...{ isAccepted, held: isAccepted ? now.held : this.held },
      }
      const write = { ...now, passes: now.passes + 1, ends, audited, ...(isComplete && completed) }
      return { write, result: write.completedAt }
    }
    counts.completedAt = await reader.patiently(() => records.progress.change('', end))
    counts.passes += 1
    if (isComplete) counts.heldDeletions = this.held
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
   * @param isLater whether an earlier reading lacked the item, so that it is new whatever its time is
   */
  kindOf(list: WatchedList, { inserted_at: time }: Item, old: string | undefined, print: string, isLater = false) {
    if (old === undefined) {
      const { starts } = this.progress
      const start = starts[list] ?? starts.messages ?? 0
      return start === 0 || isLater || (secondsOf(time) ?? 0) >= start ? 'created' : undefined
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

  /**
   * Reports the changes in an entry. Each is acknowledged when the program asks for the next. Changes of a list that is not
   * watched stay until it is watched again.
   */
  async *report<Content extends Outbox>(entries: Entries<Content>, id: string): Changes<Content | undefined> {
    const { counts, reader, settings } = this.feed
    let left = await reader.patiently(() => entries.get(id))
    for (let change = left?.outbox[0]; change !== undefined; change = left?.outbox[0]) {
      const { key, resource } = change
      if (!settings.watch.has(resource)) return left
      yield change
      left = (await reader.patiently(() => acknowledge(entries, id, key))).left
      counts.changes += 1
      throwIfAborted(settings.signal)
    }
    return left
  }

  tell(message: string, hint: string): void {
    this.feed.reader.report({ error: new SupportWorkspaceError(message, { hint }) })
  }
}
