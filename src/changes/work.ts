import { SupportWorkspaceError } from '../errors/index.ts'
import type { WatchedList } from './change.ts'
import type { Counts, FeedSettings } from './feed-options.ts'
import { Fingerprints } from './fingerprints.ts'
import { isOfConversation, Reader } from './reader.ts'
import type { Progress, Records } from './records.ts'
import { Rows } from './rows.ts'

/** After this many conversations in a row that could not be read, a pass ends. */
const mostFailures = 5

/** What the steps of a pass share. */
export class Work {
  readonly settings: FeedSettings
  readonly records: Records
  readonly counts: Counts
  readonly reader: Reader
  readonly prints: Fingerprints
  readonly rows: { readonly conversations: Rows; readonly contacts: Rows }
  /** The progress as it was when the pass began. */
  progress!: Progress
  /** Missing messages whose deletions are held back in this pass. */
  heldMessages = 0
  #failures = 0
  readonly #told = new Set<string>()

  constructor(settings: FeedSettings, records: Records, counts: Counts) {
    this.settings = settings
    this.records = records
    this.counts = counts
    this.reader = new Reader(settings, counts)
    this.prints = new Fingerprints(settings.ignore)
    const onConflict = () => {
      counts.conflicts += 1
    }
    this.rows = {
      conversations: new Rows(records.conversations, onConflict),
      contacts: new Rows(records.contacts, onConflict),
    }
  }

  beginPass(progress: Progress): void {
    this.progress = progress
    this.#failures = 0
    this.heldMessages = 0
    this.#told.clear()
  }

  /** Whether so many conversations in a row could not be read that the pass ends. */
  get hasFailed(): boolean {
    return this.#failures >= mostFailures
  }

  /** Returns how many items of a list may be missing. */
  allowedDeletions(list: WatchedList, size: number): number {
    const usual = this.settings.maxDeletions ?? Math.max(5, Math.floor(size / 10))
    return Math.max(usual, this.progress.accepted[list] ?? 0)
  }

  /**
   * Reads something of a conversation. Returns undefined if it cannot be read: the conversation is then skipped until the
   * next pass.
   */
  async ofConversation<Value>(id: string, read: () => Promise<Value>): Promise<Value | undefined> {
    try {
      const value = await read()
      this.#failures = 0
      return value
    } catch (error) {
      if (!isOfConversation(error)) throw error
      this.#failures += 1
      this.reader.report({ error, conversationId: id })
      return undefined
    }
  }

  /** Reports a problem, at most once in a pass. */
  tell(message: string, hint: string): void {
    if (this.#told.has(message)) return
    this.#told.add(message)
    this.reader.report({ error: new SupportWorkspaceError(message, { hint }) })
  }

  /** Reports that differences are taken over silently. */
  tellAdoption(): void {
    this.tell(
      'The feed takes over differences without reporting them, because fingerprints were made by another version or with another `ignore`.',
      'Changes of the same items in this time are not reported.',
    )
  }
}
