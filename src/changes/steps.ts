import { NotFoundError } from '../errors/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { randomId } from '../shared/bytes.ts'
import { sortedJson } from '../shared/json.ts'
import { type Change, keyOf, type WatchedList } from './change.ts'
import type { Stored } from './entries.ts'
import { acknowledge, pendingOf, removeGone } from './outbox.ts'
import { compare, partsOfComparison, readMessages } from './reading.ts'
import type { MessagesRow, Row } from './records.ts'
import type { Work } from './work.ts'

type Changes<Result = void> = AsyncGenerator<Change, Result, undefined>

/** The steps of a pass that can report changes. */
export class Steps {
  readonly #work: Work
  readonly #skipped: ReadonlySet<string>

  /** @param skipped keys of changes that are not reported any more */
  constructor(work: Work, skipped: ReadonlySet<string>) {
    this.#work = work
    this.#skipped = skipped
  }

  /** Delivers what a crash or another process has left, so that the changes of a conversation keep their order. */
  async *deliverLeftovers(list: 'conversations' | 'contacts'): Changes {
    const rows = this.#work.rows[list]
    for (const id of [...rows.leftovers]) {
      rows.leftovers.delete(id)
      yield* this.deliver(list, id)
    }
  }

  /** Delivers what is in the outboxes of a row. Returns the row if no other process has replaced it. */
  async *deliver(list: 'conversations' | 'contacts', id: string): Changes<Stored<Row> | undefined> {
    const { records, rows, settings } = this.#work
    const row = await this.#work.patiently(() => rows[list].get(id))
    if (row === undefined) return undefined
    const isGone = row.absence === 'gone'
    const first = row.outbox && !isGone ? [row.outbox] : []
    for (const change of first) yield* this.#yield(change)
    if (list === 'conversations' && (isGone || typeof row.task === 'number')) {
      let messages = await this.#work.patiently(() => records.messages.get(id))
      if (messages !== undefined && isGone && settings.deletions.has('messages')) {
        const lost = Object.keys(messages.prints)
        const outbox = [...pendingOf(messages, row), ...lost.map((each) => deletionOf('messages', each, id))]
        const { revision } = messages
        messages = await this.#work.patiently(() =>
          records.messages.replace(id, revision, { prints: {}, absent: [], known: 0, outbox }),
        )
        for (const change of messages?.outbox ?? []) yield* this.#yield(change)
      } else for (const change of pendingOf(messages, row)) yield* this.#yield(change)
    }
    if (!isGone) return row
    if (row.outbox !== undefined) yield* this.#yield(row.outbox)
    await this.#work.patiently(() => removeGone(records, list, id))
    rows[list].forget(id)
    return undefined
  }

  /** Delivers the changes of a conversation, and reads its messages. */
  async *readConversation(id: string): Changes {
    const { counts, progress, records, rows, settings } = this.#work
    let row = yield* this.deliver('conversations', id)
    if (row === undefined || row.absence === 'gone' || !settings.watch.has('messages')) return
    const isDue = typeof row.task === 'number'
    const setTask = async (task: Row['task']) => {
      const { revision, outbox, done, ...kept } = row as Stored<Row>
      return this.#work.patiently(() => rows.conversations.replace(id, { ...kept, task }))
    }
    let before = await this.#work.patiently(() => records.messages.get(id))
    const found = await readMessages(this.#work, id)
    if (found === undefined) {
      // The next pass reads for the first time.
      if (isDue) await setTask(progress.passes + 1)
      return
    }
    const next = await compare(this.#work, id, row, before, found)
    if (!isDue) counts.foundByAudit += row.task === 'unread' ? 0 : next.outbox.length
    // Before the messages are stored, the row must lead to them.
    const isOpen = next.outbox.length > 0 || next.absent.length > 0
    if (isOpen && !isDue) row = await setTask(progress.passes)
    if (row === undefined) return
    for (const part of partsOfComparison(before, next)) {
      if (before !== undefined && part.outbox.length === 0 && isSame(before, part)) break
      const revision = before?.revision
      const stored = await this.#work.patiently(() => records.messages.replace(id, revision, part))
      if (stored === undefined) {
        counts.conflicts += 1
        return
      }
      for (const change of stored.outbox) yield* this.#yield(change)
      before = await this.#work.patiently(() => records.messages.get(id))
      if (before === undefined || before.outbox.length > 0 || !isSame(before, part)) return
    }
    const isSecond = isDue && (row.task as number) < progress.passes
    if (row.task === 'unread' || (isSecond && next.absent.length === 0)) await setTask('none')
  }

  /** A complete pass lacked a row. */
  async *miss(list: 'conversations' | 'contacts', id: string, isHeld: boolean): Changes {
    const { rows } = this.#work
    const mark = rows[list].mark(id)
    if (mark === undefined || mark.absence === 'gone') return
    if (mark.absence === 'no') return void (await this.#setAbsence(list, id, 'once'))
    if (mark.absence === 'once' && isHeld) return
    const isGone = list === 'contacts' || (await this.#isGone(id))
    if (isGone === undefined) return
    if (!isGone) return void (await this.#setAbsence(list, id, 'hidden'))
    // It was there when it was asked for before. Whether many are gone at once is asked again.
    if (mark.absence === 'hidden') return void (await this.#setAbsence(list, id, 'once'))
    if ((await this.#setAbsence(list, id, 'gone')) === undefined) return
    yield* this.deliver(list, id)
  }

  async #setAbsence(
    list: 'conversations' | 'contacts',
    id: string,
    absence: Row['absence'],
  ): Promise<Stored<Row> | undefined> {
    const { rows, settings } = this.#work
    const row = await this.#work.patiently(() => rows[list].get(id))
    if (row === undefined || rows[list].leftovers.has(id)) return undefined
    const { revision, ...kept } = row
    if (absence !== 'gone') return this.#work.patiently(() => rows[list].replace(id, { ...kept, absence }))
    const outbox = settings.watch.has(list) ? deletionOf(list, id, id) : undefined
    return this.#work.patiently(() => rows[list].replace(id, { ...kept, absence, task: 'outbox', outbox }))
  }

  /** Whether the service has no messages of a conversation: a 404. Undefined if that could not be found out. */
  async #isGone(id: string): Promise<boolean | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#work.service.ask(id)
        this.#work.succeed()
        return false
      } catch (error) {
        if (error instanceof NotFoundError) return true
        if (this.#work.skips(id, error)) return undefined
        if ((await this.#work.afterListError('messages', error, attempt, attempt)) === 'end') return undefined
      }
    }
  }

  async *#yield(change: Change): Changes {
    const { counts, records, settings } = this.#work
    if (this.#skipped.has(change.key)) return
    yield change
    await this.#work.patiently(() => acknowledge(records, change.key))
    counts.changes += 1
    throwIfAborted(settings.signal)
  }
}

function deletionOf(list: WatchedList, id: string, owner: string): Change {
  const conversation = list !== 'contacts' && { conversationId: owner }
  return { resource: list, kind: 'deleted', id, ...conversation, key: keyOf(list, owner, id, randomId()) } as Change
}

function isSame(one: MessagesRow, other: MessagesRow): boolean {
  return sortedJson([one.prints, one.absent]) === sortedJson([other.prints, other.absent])
}
