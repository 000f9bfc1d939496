import type { Message } from '../client/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { sortedJson } from '../shared/json.ts'
import type { Change } from './change.ts'
import { compare, deletionOf, type MessagesContent } from './reading.ts'
import { acknowledge, type MessagesRow, type Row, replace } from './records.ts'
import type { Work } from './work.ts'

type Changes<Result = void> = AsyncGenerator<Change, Result, undefined>
type List = 'conversations' | 'contacts'

/** The steps of a pass that can report changes. */
export class Steps {
  readonly #work: Work
  readonly #skipped: ReadonlySet<string>

  /** @param skipped keys of changes that are not reported any more */
  constructor(work: Work, skipped: ReadonlySet<string>) {
    this.#work = work
    this.#skipped = skipped
  }

  /** Reports the change of a row. Returns the row if it remains, and no other process has replaced it. */
  async *deliver(list: List, id: string): Changes<Row | undefined> {
    const rows = this.#work.rows[list]
    rows.undelivered.delete(id)
    const row = await this.#work.reader.patiently(() => rows.get(id))
    if (row === undefined) return undefined
    yield* this.#report(row.outbox)
    if (row.outbox[0]?.kind !== 'deleted') return row
    rows.forget(id)
    return undefined
  }

  /** Reports the changes of the messages of a conversation. Returns what is stored of them. */
  async *deliverMessages(id: string): Changes<MessagesRow | undefined> {
    const messages = await this.#work.reader.patiently(() => this.#work.records.messages.get(id))
    yield* this.#report(messages?.outbox ?? [])
    return messages
  }

  /** Reports the changes of a conversation, and reads its messages. */
  async *readConversation(id: string): Changes {
    const { counts, progress, reader, records, rows, settings } = this.#work
    let row = yield* this.deliver('conversations', id)
    if (row === undefined || !settings.watch.has('messages')) return
    const setTask = async (task: Row['task']) => {
      const next = { ...(row as Row), task, outbox: [] }
      return reader.patiently(() => rows.conversations.replace(id, next))
    }
    const before = yield* this.deliverMessages(id)
    const found = new Map<string, Message>()
    const add = (messages: readonly Message[]) => {
      for (const message of messages) found.set(message.id, message)
    }
    const isComplete = await this.#work.ofConversation(id, () => reader.read('messages', id, add))
    if (isComplete === undefined) return
    const isSecond = typeof row.task === 'number' && row.task < progress.passes
    const isAudit = row.task === 'no'
    let isOpen = true
    let now = before
    for await (const part of compare(this.#work, id, row, before, found, isComplete)) {
      isOpen = !isComplete || part.absent.length > 0
      if (now !== undefined && part.outbox.length === 0 && isSame(now, part)) continue
      // Before the messages are stored, the row must lead to them.
      const needsTask = part.outbox.length > 0 || part.absent.length > 0
      if (needsTask && typeof row.task !== 'number') row = await setTask(progress.passes)
      if (row === undefined) return
      const revision = now?.revision
      now = await reader.patiently(() => replace(records.messages, id, revision, part))
      if (now === undefined) {
        counts.conflicts += 1
        return
      }
      if (isAudit) counts.foundByAudit += part.outbox.length
      yield* this.#report(part.outbox)
    }
    if (isOpen || !(isSecond || row.task === 'unread')) return
    // Without a task, the row does not lead to what another process has stored meanwhile.
    const last = await reader.patiently(() => records.messages.get(id))
    if (last?.revision === now?.revision) await setTask('no')
  }

  /** A complete pass lacked a row. */
  async *miss(list: List, id: string, isHeld: boolean): Changes {
    const { reader, records, rows, settings } = this.#work
    const { missing } = rows[list].mark(id) ?? {}
    if (missing === undefined || rows[list].undelivered.has(id)) return
    if (missing === 'no') return this.#setMissing(list, id, 'once')
    if (missing === 'once' && isHeld) return
    const isGone = list === 'contacts' || (await this.#work.ofConversation(id, () => reader.isGone(id)))
    if (isGone === undefined) return
    if (!isGone) return this.#setMissing(list, id, 'hidden')
    // It was there when it was asked for before. Whether many are gone at once is asked again.
    if (missing === 'hidden') return this.#setMissing(list, id, 'once')
    if (list === 'conversations') {
      const messages = yield* this.deliverMessages(id)
      const lost = settings.deletions.has('messages') ? Object.keys(messages?.prints ?? {}) : []
      const outbox = lost.map((each) => deletionOf('messages', each, id))
      const emptied = { prints: {}, absent: [], outbox }
      const stored = await reader.patiently(() => replace(records.messages, id, messages?.revision, emptied))
      if (stored === undefined) return
      yield* this.#report(outbox)
      await reader.patiently(() => records.messages.change(id, () => ({ write: null, result: undefined })))
    }
    await this.#setMissing(list, id, 'once', [deletionOf(list, id, id)])
    yield* this.deliver(list, id)
  }

  async #setMissing(list: List, id: string, missing: Row['missing'], outbox: readonly Change[] = []): Promise<void> {
    const { reader, rows } = this.#work
    const row = await reader.patiently(() => rows[list].get(id))
    if (row === undefined || (row.missing === missing && outbox.length === 0)) return
    await reader.patiently(() => rows[list].replace(id, { ...row, missing, outbox }))
  }

  async *#report(outbox: readonly Change[]): Changes {
    const { counts, reader, records, settings } = this.#work
    for (const change of outbox) {
      if (this.#skipped.has(change.key)) continue
      const isWatched = settings.watch.has(change.resource)
      if (isWatched) yield change
      await reader.patiently(() => acknowledge(records, change.key))
      if (isWatched) counts.changes += 1
      throwIfAborted(settings.signal)
    }
  }
}

function isSame(one: MessagesContent, other: MessagesContent): boolean {
  return sortedJson([one.prints, one.absent]) === sortedJson([other.prints, other.absent])
}
