import type { Entries } from '../storage/interface.ts'
import { type Row, replace } from './records.ts'

/** What the memory holds of a row. */
export type Mark = Pick<Row, 'print' | 'revision' | 'task' | 'missing'>

/**
 * The rows of a list. They are read once. Afterwards, the memory holds a mark of each. A row is only replaced if it
 * still has the revision of its mark. Otherwise another process has replaced the row, and this process takes over its
 * mark, so that the next pass compares with it.
 */
export class Rows {
  readonly #entries: Entries<Row>
  /** Texts, because objects would take twice the memory. */
  readonly #marks = new Map<string, string>()
  readonly #onConflict: () => void
  /** Ids of rows that can have changes to deliver: from this pass, from before a crash, or from another process. */
  readonly undelivered = new Set<string>()

  /** @param onConflict called when another process has replaced a row */
  constructor(entries: Entries<Row>, onConflict: () => void) {
    this.#entries = entries
    this.#onConflict = onConflict
  }

  async load(): Promise<void> {
    for await (const page of this.#entries.pages()) for (const [id, row] of page) this.#adopt(id, row)
  }

  get size(): number {
    return this.#marks.size
  }

  ids(): IterableIterator<string> {
    return this.#marks.keys()
  }

  mark(id: string): Mark | undefined {
    const text = this.#marks.get(id)
    if (text === undefined) return undefined
    const [print = '', revision = '', missing = '', task = ''] = text.split(' ')
    return { print, revision, missing, task: Number.isNaN(Number(task)) ? task : Number(task) } as Mark
  }

  /** Returns a row if no other process has replaced it. */
  async get(id: string): Promise<Row | undefined> {
    const row = await this.#entries.get(id)
    if (row?.revision === this.mark(id)?.revision) return row
    this.#lose(id, row)
    return undefined
  }

  /** Replaces a row, or adds it. Returns undefined if another process has replaced it. */
  async replace(id: string, row: Omit<Row, 'revision'>): Promise<Row | undefined> {
    const stored = await replace(this.#entries, id, this.mark(id)?.revision, row)
    if (stored === undefined) this.#lose(id, await this.#entries.get(id))
    else this.#note(id, stored)
    return stored
  }

  /** Forgets a row that was removed. */
  forget(id: string): void {
    this.#marks.delete(id)
  }

  #lose(id: string, row: Row | undefined): void {
    this.#onConflict()
    if (row === undefined) this.forget(id)
    else this.#adopt(id, row)
  }

  #adopt(id: string, row: Row): void {
    this.#note(id, row)
    if (row.outbox.length > 0 || typeof row.task === 'number') this.undelivered.add(id)
  }

  #note(id: string, { print, revision, missing, task }: Row): void {
    // `join` makes a text of its own. A part of a longer text, such as an id, would keep that in memory.
    this.#marks.set(JSON.parse(JSON.stringify(id)), [print, revision, missing, task].join(' '))
  }
}
