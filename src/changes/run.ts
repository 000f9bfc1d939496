import { sleep, throwIfAborted } from '../shared/abort.ts'
import type { Change, WatchedList } from './change.ts'
import { isTurn } from './fingerprints.ts'
import { endPass, openProgress, settleTime } from './progress.ts'
import type { Deletions } from './records.ts'
import type { Mark } from './rows.ts'
import { Steps } from './steps.ts'
import { type Survey, survey } from './survey.ts'
import type { Work } from './work.ts'

type Changes<Result = void> = AsyncGenerator<Change, Result, undefined>
type List = 'conversations' | 'contacts'

/**
 * One loop over a feed. The order of the steps gives the guarantees: rows are loaded before the service is read, and a
 * row is only replaced if it is still the one that was loaded. So a row always comes from a later reading than the row
 * before. A row and its change are one write, and a change leaves the storage when the program asks for the next.
 */
export class Run {
  readonly #work: Work
  readonly #steps: Steps

  /** @param skipped keys of changes that are not reported any more */
  constructor(work: Work, skipped: ReadonlySet<string>) {
    this.#work = work
    this.#steps = new Steps(work, skipped)
  }

  async *changes(): Changes {
    const work = this.#work
    const { interval, passes, signal, watch } = work.settings
    // Messages are found through their conversations.
    const lists: List[] = watch.has('conversations') || watch.has('messages') ? ['conversations'] : []
    if (watch.has('contacts')) lists.push('contacts')
    const place = await work.reader.identify()
    for (const list of lists) await work.reader.patiently(() => work.rows[list].load())
    for (let pass = 1; pass <= passes; pass += 1) {
      throwIfAborted(signal)
      work.beginPass(await work.reader.patiently(() => openProgress(work, place)))
      yield* this.#pass(lists)
      work.counts.passes += 1
      if (pass < passes) await sleep(interval * (0.9 + Math.random() / 5), signal)
    }
  }

  async *#pass(lists: readonly List[]): Changes {
    const work = this.#work
    const surveys = new Map<List, Survey>()
    let audited = work.progress.audited
    for (const list of lists) {
      // What a crash or another process has left comes first, so that the changes of a conversation keep their order.
      for (const id of [...work.rows[list].undelivered]) {
        const row = yield* this.#steps.deliver(list, id)
        if (row !== undefined && list === 'conversations') yield* this.#steps.deliverMessages(id)
      }
      const found = await survey(work, list)
      surveys.set(list, found)
      const now = work.reader.time
      if (list === 'contacts') for (const id of found.changed) yield* this.#steps.deliver(list, id)
      else yield* this.#readConversations(found, now)
      if (list === 'conversations' && !work.hasFailed) audited = now
    }
    const held: Deletions = {}
    for (const [list, { seen, isComplete }] of surveys) {
      if (isComplete && !work.hasFailed) held[list] = yield* this.#findMissing(list, seen)
    }
    const isComplete = !work.hasFailed && [...surveys.values()].every((each) => each.isComplete)
    if (work.heldMessages > 0) held.messages = this.#tellHeld('messages', work.heldMessages)
    await work.reader.patiently(() => endPass(work, isComplete, held, audited))
  }

  /** Reads messages: of changed conversations first, and of unchanged ones as far as their time has come. */
  async *#readConversations({ seen, changed }: Survey, now: number): Changes {
    const { progress, rows, settings } = this.#work
    const { audited, ends, passes } = progress
    // The first pass that ended too late for a second reading.
    const recent = passes - ends.filter((end) => end + settleTime > now).length
    const due: string[] = []
    const others: string[] = []
    for (const id of rows.conversations.ids()) {
      const { missing, print, task } = rows.conversations.mark(id) as Mark
      const isRead = seen.has(id) && settings.watch.has('messages')
      if (changed.has(id) || !(isRead || (missing === 'hidden' && !seen.has(id)))) continue
      if (isRead && typeof task === 'number') {
        if (task >= passes || task < recent) due.push(id)
      } else if ((isRead && task === 'unread') || isTurn(print, audited, now, settings.auditEvery)) others.push(id)
    }
    for (const id of [...changed, ...rotated(due), ...rotated(others)]) {
      if (this.#work.hasFailed) return
      if (seen.has(id)) yield* this.#steps.readConversation(id)
      else yield* this.#steps.miss('conversations', id, false)
      throwIfAborted(settings.signal)
    }
  }

  /** Looks after rows that a complete pass lacked. Returns how many deletions are held back. */
  async *#findMissing(list: List, seen: ReadonlySet<string>): Changes<number> {
    const { rows, settings } = this.#work
    if (list === 'contacts' && !settings.deletions.has('contacts')) return 0
    const missing = [...rows[list].ids()].filter((id) => !seen.has(id) && rows[list].mark(id)?.missing !== 'hidden')
    const isHeld = missing.length > this.#work.allowedDeletions(list, rows[list].size)
    for (const id of missing) {
      if (this.#work.hasFailed) break
      yield* this.#steps.miss(list, id, isHeld)
      throwIfAborted(settings.signal)
    }
    return isHeld ? this.#tellHeld(list, missing.length) : 0
  }

  #tellHeld(list: WatchedList, count: number): number {
    this.#work.tell(
      `${count} ${list} are missing at once. None of them is reported as deleted.`,
      'Find out whether they were deleted, or whether the token sees less. If they were deleted, call `acceptDeletions`.',
    )
    return count
  }
}

/** Begins anywhere, so that conversations that stay broken do not keep those behind them from being read for ever. */
function rotated(ids: readonly string[]): string[] {
  const start = Math.floor(Math.random() * ids.length)
  return [...ids.slice(start), ...ids.slice(0, start)]
}
