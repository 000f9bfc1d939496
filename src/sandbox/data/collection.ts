import { createHmac } from 'node:crypto'

/** An ordered list of items with an id, paginated by cursors. */
export class Collection<Item extends { id: string }> {
  readonly #name: string
  readonly #order: 'newest-first' | 'oldest-first'
  readonly #entries = new Map<string, CollectionEntry<Item>>()
  #sorted: CollectionEntry<Item>[] | undefined
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

  /** Returns one page, or `undefined` if the cursor was not issued by this list. */
  page({ limit, after, before }: { limit: number; after: string | undefined; before: string | undefined }) {
    const list = this.#list()
    const cursor = after ?? before
    const at = cursor === undefined ? 0 : readCursor(this.#name, cursor)
    if (at === undefined) return undefined
    const isAhead = ({ sequence }: CollectionEntry<Item>) =>
      this.#order === 'newest-first' ? sequence > at : sequence < at
    let start = after === undefined ? 0 : countWhile(list, (entry) => isAhead(entry) || entry.sequence === at)
    let end = start + limit
    if (before !== undefined) {
      end = countWhile(list, isAhead)
      start = Math.max(end - limit, 0)
    }
    const page = list.slice(start, end)
    const [head, last] = [page[0], page.at(-1)]
    return {
      items: page.map(({ item }) => item),
      after: last !== undefined && end < list.length ? writeCursor(this.#name, last.sequence) : null,
      before: head !== undefined && start > 0 ? writeCursor(this.#name, head.sequence) : null,
    }
  }

  #list(): CollectionEntry<Item>[] {
    if (this.#sorted === undefined) {
      const entries = [...this.#entries.values()]
      this.#sorted = this.#order === 'newest-first' ? entries.reverse() : entries
    }
    return this.#sorted
  }
}

interface CollectionEntry<Item> {
  sequence: number
  item: Item
}

function countWhile<Element>(list: readonly Element[], holds: (element: Element) => boolean): number {
  const end = list.findIndex((element) => !holds(element))
  return end === -1 ? list.length : end
}

/**
 * Returns a cursor for the item with this sequence number, which stays valid while other items are added and removed.
 * The cursor is signed, so one that was made up, or issued by another list, is rejected.
 */
function writeCursor(list: string, sequence: number): string {
  const signature = createHmac('sha256', cursorKey).update(`${list}\n${sequence}`).digest('hex').slice(0, 25)
  return Buffer.concat([awkwardStart, Buffer.from(`${sequence} ${signature}`.padStart(40))]).toString('base64')
}

/** Returns the sequence number in a cursor, or `undefined` if this list did not issue it. */
function readCursor(list: string, cursor: string): number | undefined {
  const sequence = Number.parseInt(Buffer.from(cursor, 'base64').toString('latin1', awkwardStart.length), 10)
  return writeCursor(list, sequence) === cursor ? sequence : undefined
}

// In base64 these bytes are `+/+/`, and all 43 bytes end in `==`. If a client forgets to encode the cursor in a query,
// it therefore fails with each cursor. With the real service it might fail only now and then.
const awkwardStart = Buffer.from([0xfb, 0xff, 0xbf])

// A constant, so that a cursor saved by a program is still valid after the sandbox is restarted.
const cursorKey = 'support-workspace-sdk sandbox cursor'
