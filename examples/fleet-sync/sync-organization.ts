// Runs a slice of a sync pass.
import {
  type Checkpoint,
  CursorRejectedError,
  isSupportWorkspaceError,
  NotFoundError,
  RateLimitError,
  RequestError,
  type SupportWorkspace,
  type SupportWorkspaceError,
} from 'support-workspace-sdk'
import { fewUnread, findMissing, type Known, loadKnown, loadSeen, nextUnread } from './known.ts'
import { type Claim, claim, countFailure, LostLeaseError, nextDue, type Position, storable } from './organizations.ts'
import { type NewItem, type Progress, type Step, save, toStored } from './replica.ts'
import type { Settings } from './settings.ts'
import { type Database, timeIn } from './tables.ts'

export interface SyncOptions extends Partial<Pick<Settings, 'interval' | 'slice' | 'readAllEvery'>> {
  readonly workspace: SupportWorkspace
  readonly database: Database
  /** The key of the organization's connection, which `mirror` has added. */
  readonly key: string
  /** Aborted when the process is shutting down. */
  readonly signal?: AbortSignal | undefined
  /** Requests and 429s since the last save. The caller counts them, and a save adds them to the organization's row. */
  readonly traffic?: { requests: number; refused: number }
}

/**
 * State after a slice. `done`: the sync pass is complete. With `more`, the next call continues the sync pass. With
 * `gone`, the organization is unknown, paused or disconnected, or another process has taken over.
 */
export type SyncResult = 'done' | 'more' | 'gone'

const limit = 100
const start: Checkpoint = { cursor: null, done: false }
const end: Checkpoint = { cursor: null, done: true }
/** The longest wait, in milliseconds, because a mistaken `Retry-After` could stop an organization for years. */
export const longestWait = 3_600_000
/** The longest id, in UTF-16 code units. A longer id might exceed the limit of a URL or of an index of Postgres. */
const longestId = 200

/**
 * Runs the next slice of an organization's sync pass: the list of conversations, then the messages of those that
 * changed. One transaction stores the changes of a response and the position after it. So the next worker continues
 * there, and every change is stored once.
 *
 * After an error of the SDK, the organization is due again at a suitable time. After any other error, such as a lost
 * database, call this again.
 */
export async function syncOrganization(options: SyncOptions): Promise<SyncResult> {
  const claimed = await claim(options.database, options.key)
  if (claimed === undefined) return 'gone'
  const pass = new SyncPass(options, claimed)
  try {
    return await pass.run()
  } catch (error) {
    // The new owner continues.
    if (error instanceof LostLeaseError) return 'gone'
    if (options.signal?.aborted) await pass.postpone(0)
    else if (isSupportWorkspaceError(error)) await pass.postponeAfter(error)
    throw error
  }
}

/** The time of this slice is over. */
class SliceOver extends Error {}

class SyncPass {
  readonly #options: SyncOptions
  readonly #claim: Claim
  readonly #interval: number
  readonly #until: number
  #position: Position
  /** The ids that this slice has seen in the list that is being read. */
  #seen = new Set<string>()
  /** The ids in `#seen` that are still to be saved. */
  #unsaved: string[] = []
  /** Whether the database already has ids of this reading, from this slice or an earlier one. */
  #hasSaved = false
  constructor(options: SyncOptions, claimed: Claim) {
    this.#options = options
    this.#claim = claimed
    this.#interval = claimed.interval ?? options.interval ?? 60_000
    this.#until = performance.now() + (options.slice ?? 10_000)
    this.#position = claimed.position ?? { list: '', checkpoint: start, tries: 0 }
  }

  async run(): Promise<SyncResult> {
    const { database, key, readAllEvery = 10 } = this.#options
    this.#hasSaved = this.#position.checkpoint.cursor !== null
    try {
      if (this.#position.list === '' && !this.#position.checkpoint.done) await this.#read('')
      for (;;) {
        const unread = await nextUnread(database, this.#claim, this.#position, readAllEvery)
        for (const { id, stale } of unread) {
          if (id !== this.#position.list) this.#moveTo({ list: id, checkpoint: start })
          await this.#readOrPutAside(id, stale === 1)
        }
        if (unread.length < fewUnread) break
      }
    } catch (error) {
      if (!(error instanceof SliceOver)) throw error
      await this.#save({})
      return 'more'
    }
    await this.#save({}, { position: null, dueAt: nextDue(database, key, this.#interval) })
    return 'done'
  }

  /** Gives the organization back, to be continued after `wait` milliseconds. */
  async postpone(wait: number, problem?: string): Promise<void> {
    const dueAt = timeIn(this.#options.database, wait)
    await this.#save({}, { dueAt, ...(problem && { problem: storable(problem) }) })
  }

  async postponeAfter(error: SupportWorkspaceError): Promise<void> {
    if (error instanceof RateLimitError) {
      return this.postpone(Math.min(longestWait, (error.retryAfter ?? 1) * 1_000), error.message)
    }
    const tries = this.#position.tries + 1
    this.#position = { ...this.#position, tries }
    const isTemporary = error.remedy === 'retry' || error.remedy === 'verify'
    const backoff = Math.min(60_000, 1_000 * 2 ** tries) * (0.5 + Math.random() / 2)
    await this.postpone(isTemporary ? backoff : this.#interval, error.message)
  }

  /**
   * Reads the messages of a conversation. If that fails while the service works otherwise, the conversation is put
   * aside for the next sync pass, and the others go on.
   */
  async #readOrPutAside(id: string, isStale: boolean): Promise<void> {
    try {
      await this.#read(id, isStale ? { conversation: id } : undefined)
    } catch (error) {
      const isOfItem =
        error instanceof RequestError && !(error instanceof RateLimitError) && error.remedy !== 'reconnect'
      if (!isOfItem) throw error
      const { workspace, database, signal } = this.#options
      await workspace.conversations.list({ limit: 1 }, { signal })
      const problem = storable(`Skipped the messages of conversation ${id}: ${error.message}`)
      this.#moveTo({ list: id, checkpoint: end, problem })
      await countFailure(database, error.remedy)
      await this.#saveIfNeeded({ read: { conversation: id, problem }, seen: null })
    }
  }

  /**
   * Reads the rest of a list. If stored items are missing, reads the list a second time, because a list that changes
   * while it is read page by page can skip an item. Items that both readings lack are deleted.
   */
  async #read(list: string, read?: Step['read']): Promise<void> {
    const { database, key } = this.#options
    for (let isRead = false; !isRead; ) {
      let items: NewItem[] = []
      for await (const { data, checkpoint } of this.#pagesOf(list)) {
        const kind = list === '' ? 'conversation' : 'message'
        const known = await loadKnown(database, key, kind, data.flatMap(usableId))
        items = this.#differences(data, known)
        this.#position = { ...this.#position, checkpoint, tries: 0 }
        if (checkpoint.done) break
        await this.#saveIfNeeded({ list, items })
      }
      if (this.#hasSaved) for (const id of await loadSeen(database, key)) this.#seen.add(id)
      const missing = await findMissing(database, key, list, this.#seen)
      const before = this.#position.missing
      isRead = missing.length === 0 || before !== undefined
      const deleted = missing.filter((id) => before?.includes(id))
      this.#moveTo(isRead ? { list, checkpoint: end } : { list, checkpoint: start, missing })
      await this.#saveIfNeeded({ list, items, deleted, seen: null, ...(isRead && { read }) })
    }
  }

  async *#pagesOf(
    list: string,
    resumeFrom = this.#position.checkpoint,
  ): AsyncGenerator<{ readonly data: readonly object[]; readonly checkpoint: Checkpoint }> {
    const { workspace, signal } = this.#options
    const options = { resumeFrom, prefetch: false, signal }
    let isFirst = true
    try {
      const { conversations, messages } = workspace
      const items = list === '' ? conversations.list({ limit }, options) : messages.list(list, { limit }, options)
      for await (const page of items.pages()) {
        isFirst = false
        yield page
      }
    } catch (error) {
      if (error instanceof CursorRejectedError && isFirst) {
        // A saved cursor might have expired. The list starts again, and the ids that were seen before still count.
        yield* this.#pagesOf(list, start)
      } else if (list !== '' && error instanceof NotFoundError) {
        // The conversation was deleted since it was listed.
        yield { data: [], checkpoint: end }
      } else throw error
    }
  }

  /**
   * Returns the items of a page that are new or different. Skips items that cannot be stored, and notes the problem in
   * the organization's row.
   */
  #differences(data: readonly object[], known: Known): NewItem[] {
    const items = new Map<string, NewItem>()
    for (const item of data) {
      const [id] = usableId(item)
      const stored = toStored(item)
      if (id === undefined || stored === undefined) {
        const name = id ?? `without a usable id, which has 1 to ${longestId} characters and is not "." or ".."`
        this.#position = { ...this.#position, problem: `Skipped an item: ${name}` }
      }
      if (id === undefined) continue
      if (!this.#seen.has(id)) this.#unsaved.push(id)
      this.#seen.add(id)
      const before = known.get(id)
      if (stored === undefined || (before?.hash === stored.hash && before.deleted_at === null)) continue
      const change = before === undefined ? 'created' : before.deleted_at === null ? 'updated' : 'restored'
      items.set(id, { id, ...stored, change: items.get(id)?.change ?? change })
      known.set(id, { hash: stored.hash, deleted_at: null })
    }
    return [...items.values()]
  }

  #moveTo(position: Omit<Position, 'tries'>): void {
    this.#position = { problem: this.#position.problem, ...position, tries: 0 }
    this.#seen = new Set()
    this.#unsaved = []
  }

  /** Saves a step that has changes. Then ends the slice if its time is over, which saves what it has seen. */
  async #saveIfNeeded(step: Partial<Step>): Promise<void> {
    const { items = [], deleted = [], read, seen } = step
    const hasChanges = items.length + deleted.length > 0 || read !== undefined || (seen === null && this.#hasSaved)
    if (hasChanges) await this.#save(step)
    if (performance.now() > this.#until) throw new SliceOver()
  }

  async #save(step: Partial<Step>, progress: Partial<Progress> = {}): Promise<void> {
    const { database, traffic = { requests: 0, refused: 0 } } = this.#options
    const { requests, refused } = traffic
    const isEnd = step.seen === null
    const seen = isEnd && this.#hasSaved ? null : isEnd ? [] : this.#unsaved
    await save(
      database,
      this.#claim,
      { list: '', items: [], deleted: [], ...step, seen },
      { position: this.#position, problem: this.#position.problem ?? null, requests, refused, ...progress },
    )
    traffic.requests -= requests
    traffic.refused -= refused
    this.#hasSaved = !isEnd && (this.#hasSaved || this.#unsaved.length > 0)
    this.#unsaved = []
  }
}

/** Returns the id of an item in a list, or an empty list if the service sends an unusual id. */
function usableId(item: unknown): string[] {
  const id = (item as { readonly id?: unknown } | null)?.id
  if (typeof id !== 'string' || id === '' || id.length > longestId || id === '.' || id === '..') return []
  return storable(id) === id ? [id] : []
}
