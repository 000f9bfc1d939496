import { sleep, throwIfAborted } from '../shared/abort.ts'
import type { Change } from './change.ts'
import type { Stored } from './entries.ts'
import type { Progress } from './records.ts'
import { otherOrganization } from './service.ts'
import { Steps } from './steps.ts'
import { type Survey, survey } from './survey.ts'
import type { Work } from './work.ts'

type Changes = AsyncGenerator<Change, void, undefined>
type List = 'conversations' | 'contacts'

/**
 * A second reading of messages begins so many milliseconds after the pass of the first. A `Date` has whole seconds, so
 * this makes at least two seconds.
 */
const settleTime = 3000

/**
 * One loop over a feed. The order of the steps gives the guarantees: rows are loaded before the service is read, and a
 * row is only replaced if it is still the one that was loaded. So a row always comes from a later reading than the row
 * before. A row and its change are one write, and a change leaves the storage when the program asks for the next.
 */
export class Run {
  readonly #work: Work
  readonly #steps: Steps

  constructor(work: Work, skipped: ReadonlySet<string>) {
    this.#work = work
    this.#steps = new Steps(work, skipped)
  }

  async *changes(): Changes {
    const work = this.#work
    const { interval, passes, signal } = work.settings
    const place = await work.patiently(() => work.service.identify())
    for (const list of this.#lists()) await work.patiently(() => work.rows[list].load())
    for (let pass = 1; pass <= passes; pass += 1) {
      throwIfAborted(signal)
      work.beginPass(await work.patiently(() => openProgress(work, place)))
      yield* this.#pass()
      work.counts.passes += 1
      if (pass < passes) await sleep(interval * (0.9 + Math.random() / 5), signal)
    }
  }

  /** The lists that are read. Messages are found through their conversations. */
  #lists(): List[] {
    const { watch } = this.#work.settings
    const reads = {
      conversations: watch.has('conversations') || watch.has('messages'),
      contacts: watch.has('contacts'),
    }
    return (['conversations', 'contacts'] as const).filter((list) => reads[list])
  }

  async *#pass(): Changes {
    const work = this.#work
    const surveys = new Map<List, Survey>()
    let audit = work.progress.audit
    for (const list of this.#lists()) {
      yield* this.#steps.deliverLeftovers(list)
      const found = await survey(work, list)
      surveys.set(list, found)
      if (list === 'contacts') for (const id of found.changed) yield* this.#steps.deliver(list, id)
      else audit = yield* this.#readConversations(found)
    }
    const held: Progress['held'] = {}
    for (const [list, { seen, isComplete }] of surveys) {
      if (isComplete && !work.hasFailed) held[list] = yield* this.#findMissing(list, seen)
    }
    const isComplete = !work.hasFailed && [...surveys.values()].every((each) => each.isComplete)
    if (work.heldMessages > 0) held.messages = work.heldMessages
    await work.patiently(() => this.#endPass(isComplete, held, audit))
  }

  /** Reads messages: of changed conversations first, and of unchanged ones as far as their time has come. */
  async *#readConversations({ seen, changed }: Survey): AsyncGenerator<Change, Progress['audit'], undefined> {
    const { progress, rows, service, settings } = this.#work
    const { audit, ends, passes } = progress
    // The first pass that ended too late for a second reading.
    const recent = passes - ends.filter((end) => end + settleTime > service.time).length
    const due: string[] = []
    const unread: string[] = []
    const changedIds = new Set(changed)
    for (const id of rows.conversations.ids()) {
      const task = rows.conversations.mark(id)?.task
      if (changedIds.has(id) || !seen.has(id)) continue
      if (task === 'unread') unread.push(id)
      if (typeof task === 'number' && (task >= passes || task < recent)) due.push(id)
    }
    for (const id of [...changed, ...rotated(due)]) {
      if (this.#work.hasFailed) return audit
      yield* this.#steps.readConversation(id)
      throwIfAborted(settings.signal)
    }
    if (!settings.watch.has('messages')) return audit
    const { turn, until } = turnOf([...rows.conversations.ids()], audit, service.time, settings.auditEvery)
    let last = audit.last
    let count = 0
    for (const id of [...turn, ...rotated(unread)]) {
      if (this.#work.hasFailed) break
      const mark = rows.conversations.mark(id)
      if (mark?.absence === 'hidden' && !seen.has(id)) yield* this.#steps.miss('conversations', id, false)
      else if (seen.has(id) && mark !== undefined && typeof mark.task !== 'number') {
        yield* this.#steps.readConversation(id)
      }
      throwIfAborted(settings.signal)
      count += 1
      if (count <= turn.length) last = id
    }
    const share = turn.length === 0 ? 1 : Math.min(1, count / turn.length)
    return { last, until: audit.until + (until - audit.until) * share }
  }

  /** Looks after rows that a complete pass lacked. Returns how many deletions are held back. */
  async *#findMissing(list: List, seen: ReadonlySet<string>): AsyncGenerator<Change, number, undefined> {
    const { rows, settings } = this.#work
    if (list === 'contacts' && !settings.deletions.has('contacts')) return 0
    const missing: string[] = []
    for (const id of rows[list].ids()) {
      const absence = seen.has(id) ? undefined : rows[list].mark(id)?.absence
      if (absence === 'no' || absence === 'once') missing.push(id)
    }
    const isHeld = missing.length > this.#work.allowedDeletions(list, rows[list].size)
    if (isHeld) this.#tellHeld(list, missing.length)
    for (const id of missing) {
      if (this.#work.hasFailed) break
      throwIfAborted(settings.signal)
      yield* this.#steps.miss(list, id, isHeld)
    }
    return isHeld ? missing.length : 0
  }

  #tellHeld(list: string, count: number): void {
    this.#work.reportOnce(
      `${count} ${list} are missing at once. None of them is reported as deleted.`,
      'Find out whether they were deleted, or whether the token sees less. If they were deleted, call `acceptDeletions`.',
    )
  }

  async #endPass(isComplete: boolean, held: Progress['held'], audit: Progress['audit']): Promise<void> {
    const { counts, heldMessages, progress, records, service } = this.#work
    if (heldMessages > 0) this.#tellHeld('messages', heldMessages)
    const watched = [...this.#work.settings.watch]
    const completedAt = isComplete ? Date.now() : progress.completedAt
    await records.progress.change('', (now) => {
      if (now === undefined) return undefined
      // Accepted while this pass was running: for the next one.
      const isLater = (list: string) => Reflect.get(now.accepted, list) !== Reflect.get(progress.accepted, list)
      return {
        ...now,
        passes: now.passes + 1,
        ends: [...now.ends.filter((end) => end + settleTime > service.time), service.time],
        completedAt,
        read: isComplete ? [...new Set([...now.read, ...watched])] : now.read,
        audit,
        held: isComplete ? held : now.held,
        accepted: isComplete
          ? Object.fromEntries(Object.entries(now.accepted).filter(([list]) => isLater(list)))
          : now.accepted,
      }
    })
    counts.completedAt = completedAt ?? undefined
    if (isComplete) counts.heldDeletions = held
  }
}

/**
 * Returns the progress of the feed, and starts it if there is none.
 *
 * @throws InvalidArgumentError if the storage belongs to another organization
 */
async function openProgress({ records, service, settings }: Work, place: string): Promise<Stored<Progress>> {
  const start = settings.since === 'now' ? Math.floor(service.time / 1000) : null
  const opened = await records.progress.change('', (found) => {
    if (found !== undefined && found.place !== place) throw otherOrganization()
    const fresh: Progress = {
      ...{ place, starts: {}, read: [], passes: 0, ends: [], completedAt: null },
      ...{ audit: { last: '', until: service.time }, held: {}, accepted: {} },
    }
    const now = found ?? { ...fresh, revision: 'first' }
    const added = [...settings.watch].filter((list) => !(list in now.starts))
    if (added.length === 0) return undefined
    return { ...now, starts: { ...now.starts, ...Object.fromEntries(added.map((list) => [list, start])) } }
  })
  return opened ?? ((await records.progress.get('')) as Stored<Progress>)
}

/** Begins anywhere, so that conversations that stay broken do not keep those behind them from being read for ever. */
function rotated(ids: readonly string[]): string[] {
  const start = Math.floor(Math.random() * ids.length)
  return [...ids.slice(start), ...ids.slice(0, start)]
}

/**
 * Returns the conversations whose messages are to be read because their time has come, in the order of ids, and until
 * when the audit is then done.
 */
function turnOf(ids: string[], { last, until }: Progress['audit'], now: number, every: number) {
  const count = Math.min(ids.length, Math.floor((ids.length * Math.max(0, now - until)) / every))
  if (count === 0) return { turn: [], until }
  ids.sort()
  const start = ids.findIndex((id) => id > last)
  const turn = (start === -1 ? ids : [...ids.slice(start), ...ids.slice(0, start)]).slice(0, count)
  return { turn, until: count === ids.length ? now : until + (count * every) / ids.length }
}
