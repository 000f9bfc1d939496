import type { Entries } from '../storage/interface.ts'
import type { Counts } from './feed-options.ts'
import type { Reader } from './reader.ts'
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
  readonly #reader: Reader
  readonly #counts: Counts
  /** Texts, because objects would take twice the memory. */
  readonly #marks = new Map<string, string>()
  /** Ids of rows that can have changes to deliver: from this pass, from before a crash, or from another process. */
  readonly pending = new Set<string>()

  constructor(entries: Entries<Row>, reader: Reader, counts: Counts) {
    this.#entries = entries
    this.#reader = reader
    this.#counts = counts
  }

  async load(): Promise<void> {
    for await (const page of this.#entries.pages()) for (const [id, row] of page) this.adopt(id, row)
  }

  get ids(): readonly string[] {
    return [...this.#marks.keys()]
  }

  mark(id: string): Mark | undefined {
    const text = this.#marks.get(id)
    if (text === undefined) return undefined
    const [print, revision, task, missing] = JSON.parse(text)
    return { print, revision, task, missing }
  }

  /** Changes a row, or adds it. Returns undefined if another process has replaced it. */
  async update(id: string, change: Partial<Row>): Promise<Row | undefined> {
    const { revision } = this.mark(id) ?? {}
    const row = await this.#reader.patiently(() => replace(this.#entries, id, revision, change))
    if (row === undefined) this.#counts.conflicts += 1
    this.adopt(id, row ?? (await this.#reader.patiently(() => this.#entries.get(id))))
    return row
  }

  /** Notes a row as it is in the storage. Forgets a row that was removed. */
  adopt(id: string, row: Row | undefined): void {
    this.pending.delete(id)
    if (row === undefined) {
      this.#marks.delete(id)
      return
    }
    // A part of a longer text, such as an id, would keep that in memory. `JSON.parse` makes a text of its own.
    const own: string = JSON.parse(JSON.stringify(id))
    this.#marks.set(own, JSON.stringify([row.print, row.revision, row.task, row.missing]))
    if (row.outbox.length > 0 || typeof row.task === 'number') this.pending.add(own)
  }
}
