import { createHmac } from 'node:crypto'

export interface PageRequest {
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
  page({ limit, after, before }: PageRequest): CursorPage<Item> | 'bad-cursor' {
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
 * Cursors name a place in one list by its sequence number, so that they stay good while items come and go.
 * They carry a keyed digest, so one that was built or taken from another list is refused.
 */
export function writeCursor(list: string, sequence: number): string {
  const place = Buffer.alloc(placeLength)
  place.writeUIntBE(sequence, 0, placeLength)
  return Buffer.from([...awkwardStart, ...mask(place), ...seal(list, place)]).toString('base64')
}

/** Gives the sequence number back, or `undefined` when this list never issued such a cursor. */
export function readCursor(list: string, cursor: string): number | undefined {
  const bytes = Buffer.from(cursor, 'base64')
  if (bytes.length !== cursorLength) return undefined
  const place = mask(bytes.subarray(awkwardStart.length, awkwardStart.length + placeLength))
  const sequence = Buffer.from(place).readUIntBE(0, placeLength)
  return writeCursor(list, sequence) === cursor ? sequence : undefined
}

// In base64 these bytes read `+/+/`, and 22 bytes end in `==`: a client that forgets to encode a cursor in a query
// always fails here, instead of once in a while with the real service.
const awkwardStart = [0xfb, 0xff, 0xbf]
const placeLength = 6
const sealLength = 13
const cursorLength = awkwardStart.length + placeLength + sealLength

// Fixed, so that a resume point which a program saved is still good after the sandbox starts again.
const key = 'support-workspace-sdk sandbox cursor'
const disguise = [0x5a, 0xc3, 0x96, 0x3c, 0xa5, 0x69]

function seal(list: string, place: Uint8Array): Uint8Array {
  return createHmac('sha256', key).update(`${list}\n`).update(place).digest().subarray(0, sealLength)
}

function mask(place: Uint8Array): Uint8Array {
  return place.map((byte, index) => byte ^ (disguise[index] ?? 0))
}
