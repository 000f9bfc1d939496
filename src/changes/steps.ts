import { throwIfAborted } from '../shared/abort.ts'
import { randomId } from '../shared/bytes.ts'
import { sortedJson } from '../shared/json.ts'
import { type Change, keyOf, type WatchedList } from './change.ts'
import type { Stored } from './entries.ts'
import { acknowledge, removeGone } from './outbox.ts'
import { compare, readMessages } from './reading.ts'
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
    for (const id of [...rows.leftovers]) yield* this.deliver(list, id)
  }

  /** Delivers what is in the outboxes of a row. Returns the row if no other process has replaced it. */
  async *deliver(list: 'conversations' | 'contacts', id: string): Changes<Stored<Row> | undefined> {
    const { records, rows, settings } = this.#work
    rows[list].leftovers.delete(id)
    const row = await this.#work.patiently(() => rows[list].get(id))
    if (row === undefined) return undefined
    const isGone = row.absence === 'gone'
    const first = row.outbox && !isGone ? [row.outbox] : []
    for (const change of first) yield* this.#yield(change)
    if (list === 'conversations' && (isGone || typeof row.task === 'number')) {
      let messages = await this.#work.patiently(() => records.messages.get(id))
      if (messages !== undefined && isGone && settings.deletions.has('messages')) {
        const lost = Object.keys(messages.prints)
        const outbox = [...messages.outbox, ...lost.map((each) => deletionOf('messages', each, id))]
        const { revision } = messages
        messages = await this.#work.patiently(() =>
          records.messages.replace(id, revision, { prints: {}, absent: [], outbox }),
        )
      }
      for (const change of messages?.outbox ?? []) yield* this.#yield(change)
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
    let row: Stored<Row> | undefined = yield* this.deliver('conversations', id)
    if (row === undefined || row.absence === 'gone' || !settings.watch.has('messages')) return
    const isDue = typeof row.task === 'number'
    const setTask = async (task: Row['task']) => {
      const { revision, outbox, ...kept } = row as Stored<Row>
      return this.#work.patiently(() => rows.conversations.replace(id, { ...kept, task }))
    }
    const before = await this.#work.patiently(() => records.messages.get(id))
    if (before !== undefined && before.outbox.length > 0) {
      // Another process delivers them.
      counts.conflicts += 1
      return
    }
    const found = await this.#work.ofConversation(id, () => readMessages(this.#work, id))
    if (found === undefined) {
      // The next pass reads for the first time.
      if (isDue) await setTask(progress.passes + 1)
      return
    }
    const isAudit = !isDue && row.task !== 'unread'
    let now = before
    let absent: readonly string[] = []
    for await (const part of compare(this.#work, id, row, before, found)) {
      absent = part.absent
      if (now !== undefined && part.outbox.length === 0 && isSame(now, part)) continue
      // Before the messages are stored, the row must lead to them.
      const isOpen = part.outbox.length > 0 || absent.length > 0
      if (isOpen && typeof row.task !== 'number') row = await setTask(progress.passes)
      if (row === undefined) return
      const revision = now?.revision
      now = await this.#work.patiently(() => records.messages.replace(id, revision, part))
      if (now === undefined) {
        counts.conflicts += 1
        return
      }
      if (isAudit) counts.foundByAudit += part.outbox.length
      for (const change of part.outbox) yield* this.#yield(change)
    }
    const isSecond = isDue && (row.task as number) < progress.passes
    if (row.task !== 'unread' && !(isSecond && absent.length === 0)) return
    // Without a task, the row does not lead to what another process has stored meanwhile.
    const last = await this.#work.patiently(() => records.messages.get(id))
    if (last?.revision === now?.revision) await setTask('none')
  }

  /** A complete pass lacked a row. */
  async *miss(list: 'conversations' | 'contacts', id: string, isHeld: boolean): Changes {
    const { rows } = this.#work
    const mark = rows[list].mark(id)
    if (mark === undefined || mark.absence === 'gone') return
    if (mark.absence === 'no') return void (await this.#setAbsence(list, id, 'once'))
    if (mark.absence === 'once' && isHeld) return
    const isGone = list === 'contacts' || (await this.#work.ofConversation(id, () => this.#work.service.isGone(id)))
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
