import { readCursor, writeCursor } from './cursor.ts'

export interface PageQuery {
  limit: number
  after?: string
  before?: string
}

export interface CursorPage<Item> {
  items: Item[]
  after: string | null
  before: string | null
}

/** An ordered list of things with an id, cut into pages by cursors. */
export class Collection<Item extends { id: string }> {
  readonly #name: string
  readonly #order: 'newest-first' | 'oldest-first'
  readonly #entries = new Map<string, Entry<Item>>()
  #sorted: Entry<Item>[] | undefined
  #lastSequence = 0

  constructor(name: string, order: 'newest-first' | 'oldest-first') {
    this.#name = name
    this.#order = order
  }

  get size(): number {
    return this.#entries.size
  }

  add(item: Item): Item {
    this.#lastSequence += 1
    this.#entries.set(item.id, { sequence: this.#lastSequence, item })
    this.#sorted = undefined
    return item
  }

  /** Puts another item in the place of the one with its id. */
  replace(item: Item): Item {
    const entry = this.#entries.get(item.id)
    if (entry === undefined) throw new TypeError(`There is nothing to replace at ${item.id}.`)
    entry.item = item
    return item
  }

  get(id: string): Item | undefined {
    return this.#entries.get(id)?.item
  }

  find(matches: (item: Item) => boolean): Item | undefined {
    for (const { item } of this.#entries.values()) if (matches(item)) return item
    return undefined
  }

  remove(id: string): boolean {
    this.#sorted = undefined
    return this.#entries.delete(id)
  }

  all(): Item[] {
    return this.#list().map(({ item }) => item)
  }

  /** One page, or `'bad-cursor'` when the cursor was not issued by this list. */
  page({ limit, after, before }: PageQuery): CursorPage<Item> | 'bad-cursor' {
    const list = this.#list()
    let start = 0
    let end = Math.min(limit, list.length)
    if (after !== undefined) {
      const sequence = readCursor(this.#name, after)
      if (sequence === undefined) return 'bad-cursor'
      start = countWhile(list, (entry) => !this.#isBeyond(entry.sequence, sequence))
      end = Math.min(start + limit, list.length)
    } else if (before !== undefined) {
      const sequence = readCursor(this.#name, before)
      if (sequence === undefined) return 'bad-cursor'
      end = countWhile(list, (entry) => this.#isBeyond(sequence, entry.sequence))
      start = Math.max(end - limit, 0)
    }
    const first = list[start]
    const last = list[end - 1]
    return {
      items: list.slice(start, end).map(({ item }) => item),
      after: last !== undefined && end < list.length ? writeCursor(this.#name, last.sequence) : null,
      before: first !== undefined && start > 0 ? writeCursor(this.#name, first.sequence) : null,
    }
  }

  #isBeyond(sequence: number, place: number): boolean {
    return this.#order === 'newest-first' ? sequence < place : sequence > place
  }

  #list(): Entry<Item>[] {
    if (this.#sorted === undefined) {
      const entries = [...this.#entries.values()]
      this.#sorted = this.#order === 'newest-first' ? entries.reverse() : entries
    }
    return this.#sorted
  }
}

interface Entry<Item> {
  sequence: number
  item: Item
}

function countWhile<Element>(list: readonly Element[], holds: (element: Element) => boolean): number {
  const end = list.findIndex((element) => !holds(element))
  return end === -1 ? list.length : end
}
