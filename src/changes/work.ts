import {
  ApiError,
  CursorRejectedError,
  InsufficientScopeError,
  isSupportWorkspaceError,
  PaginationError,
  SupportWorkspaceError,
} from '../errors/index.ts'
import { sleep, throwIfAborted } from '../shared/abort.ts'
import { notify } from '../shared/notify.ts'
import type { WatchedList } from './change.ts'
import type { Counts, FeedProblem, FeedSettings } from './feed-options.ts'
import { Fingerprints } from './fingerprints.ts'
import type { Progress, Records } from './records.ts'
import { Rows } from './rows.ts'
import type { Items, Service } from './service.ts'

/** After this many failures in a row, a pass ends, and a list is not begun again. */
const mostFailures = { conversations: 5, cursors: 3 }

/** What the steps of a pass share: the rows, the progress as it was when the pass began, and what to do about errors. */
export class Work {
  readonly settings: FeedSettings
  readonly service: Service
  readonly records: Records
  readonly counts: Counts
  readonly prints: Fingerprints
  readonly rows: { readonly conversations: Rows; readonly contacts: Rows }
  progress!: Progress
  /** Missing messages whose deletions are held back in this pass. */
  heldMessages = 0
  #failures = 0
  readonly #told = new Set<string>()

  constructor(settings: FeedSettings, service: Service, records: Records, counts: Counts) {
    this.settings = settings
    this.service = service
    this.records = records
    this.counts = counts
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
    return this.#failures >= mostFailures.conversations
  }

  /** Returns how many items of a list may be missing. */
  allowedDeletions(list: WatchedList, size: number): number {
    const usual = this.settings.maxDeletions ?? Math.max(5, Math.floor(size / 10))
    return Math.max(usual, this.progress.accepted[list] ?? 0)
  }

  report(problem: FeedProblem): void {
    notify(this.settings.onProblem, problem)
  }

  /** Reports a problem, at most once in a pass. */
  reportOnce(message: string, hint: string): void {
    if (this.#told.has(message)) return
    this.#told.add(message)
    this.report({ error: new SupportWorkspaceError(message, { hint }) })
  }

  /** Repeats a step while its error says `retry`. */
  async patiently<Value>(step: () => PromiseLike<Value>): Promise<Value> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await step()
      } catch (error) {
        await this.pause(error, attempt)
      }
    }
  }

  /** Waits before a failed step is repeated. Throws the error if repeating does not help. */
  async pause(error: unknown, attempt: number): Promise<void> {
    const { signal } = this.settings
    throwIfAborted(signal)
    if (this.service.refusal !== undefined) throw this.service.refusal
    if (!isSupportWorkspaceError(error) || error.remedy !== 'retry') throw error
    const backoff = Math.min(60_000, 1000 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
    const asked = error instanceof ApiError ? (error.retryAfter ?? 0) * 1000 : 0
    const retryIn = Math.max(backoff, Math.min(asked, 3_600_000))
    this.report({ error, retryIn })
    await sleep(retryIn, signal)
  }

  /**
   * Returns the next step after a list has failed: `again` from the beginning, or `resume` at the same page. Throws the
   * error if neither helps.
   *
   * @param rejected number of rejected cursors in a row
   */
  async afterListError(
    list: keyof Items,
    error: unknown,
    attempt: number,
    rejected: number,
  ): Promise<'again' | 'resume' | 'end'> {
    // An item that has moved can make a cursor come twice.
    if (error instanceof CursorRejectedError || error instanceof PaginationError) {
      this.report({ error })
      return rejected < mostFailures.cursors ? 'again' : 'end'
    }
    const isOfValue = error instanceof ApiError && (error.status === 400 || error.status === 422)
    if (isOfValue && this.service.omitLimit(list)) {
      this.report({ error })
      return 'again'
    }
    await this.pause(error, attempt)
    return 'resume'
  }

  /**
   * Reads something of a conversation. Returns undefined if it cannot be read: the conversation is then skipped until the
   * next pass.
   */
  async ofConversation<Value>(id: string, read: () => Promise<Value>): Promise<Value | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const value = await read()
        this.#failures = 0
        return value
      } catch (error) {
        if (isOfConversation(error)) {
          this.#failures += 1
          this.report({ error, conversationId: id })
          return undefined
        }
        if ((await this.afterListError('messages', error, attempt, attempt)) === 'end') return undefined
      }
    }
  }

  /** Reports that differences are taken over silently. */
  tellAdoption(): void {
    this.reportOnce(
      'The feed takes over differences without reporting them, because fingerprints were made by another version or with another `ignore`.',
      'Changes of the same items in this time are not reported.',
    )
  }
}

/** Whether an error is about one conversation, so that others can still be read. */
function isOfConversation(error: unknown): boolean {
  if (!(error instanceof ApiError) || error instanceof InsufficientScopeError) return false
  return [403, 404, 410].includes(error.status) || error.status >= 500
}
