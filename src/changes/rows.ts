import type { Entries, Stored } from './entries.ts'
import type { Absence, Row, Task } from './records.ts'

/** What the memory holds of a row. */
export interface Mark extends Pick<Row, 'print' | 'task' | 'absence' | 'isWatched'> {
  readonly revision: string
}

const absences: Readonly<Record<string, Absence>> = { n: 'no', o: 'once', h: 'hidden', g: 'gone' }
const tasks: Readonly<Record<string, Task>> = { n: 'none', u: 'unread', o: 'outbox' }

/**
 * The rows of a list. They are read once. Afterwards, the memory holds a mark of each: about 130 bytes. A row is only
 * replaced if it still has the revision of its mark. Otherwise another process has replaced the row, and this process
 * takes over its mark, so that the next pass compares with it.
 */
export class Rows {
  readonly #entries: Entries<Row>
  readonly #marks = new Map<string, string>()
  /** Called when another process has replaced a row. */
  readonly #onConflict: () => void
  /** Ids of rows that can have changes to deliver: from this pass, from before a crash, or from another process. */
  readonly leftovers = new Set<string>()

  constructor(entries: Entries<Row>, onConflict: () => void) {
    this.#entries = entries
    this.#onConflict = onConflict
  }

  async load(): Promise<void> {
    for await (const page of this.#entries.all()) for (const [id, row] of page) this.#adopt(id, row)
  }

  get size(): number {
    return this.#marks.size
  }

  ids(): IterableIterator<string> {
    return this.#marks.keys()
  }

  mark(id: string): Mark | undefined {
    const text = this.#marks.get(id)
    return text === undefined ? undefined : parse(text)
  }

  /** Returns a row if no other process has replaced it. */
  async get(id: string): Promise<Stored<Row> | undefined> {
    const row = await this.#entries.get(id)
    if (row?.revision === this.mark(id)?.revision) return row
    this.#lose(id, row)
    return undefined
  }

  /** Replaces a row, or adds it. Returns undefined if another process has replaced it. */
  async replace(id: string, row: Row): Promise<Stored<Row> | undefined> {
    const stored = await this.#entries.replace(id, this.mark(id)?.revision, row)
    if (stored === undefined) this.#lose(id, await this.#entries.get(id))
    else this.#marks.set(id, format(stored))
    return stored
  }

  /** Forgets a row that was removed. */
  forget(id: string): void {
    this.#marks.delete(id)
  }

  #lose(id: string, row: Stored<Row> | undefined): void {
    this.#onConflict()
    if (row === undefined) this.#marks.delete(id)
    else this.#adopt(id, row)
  }

  #adopt(id: string, row: Stored<Row>): void {
    // A copy, because a part of a text keeps the whole text in memory.
    this.#marks.set(JSON.parse(JSON.stringify(id)), format(row))
    if (row.task !== 'none' && row.task !== 'unread') this.leftovers.add(id)
  }
}

/** Marks are texts, because objects would take twice the memory. `join` makes a text without parts. */
function format({ print, revision, isWatched, absence, task }: Stored<Row>): string {
  const flags = [isWatched ? 'w' : '-', absence[0], typeof task === 'number' ? task : task[0]]
  return [print.padEnd(13), revision, ...flags].join('')
}

function parse(text: string): Mark {
  return {
    print: text.slice(0, 13),
    revision: text.slice(13, 21),
    isWatched: text[21] === 'w',
    absence: absences[text[22] ?? ''] ?? 'no',
    task: tasks[text[23] ?? ''] ?? Number(text.slice(23)),
  }
}
