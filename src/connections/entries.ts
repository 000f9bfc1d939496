import { parseObject } from '../json.ts'
import { byAge, type EntryId, idPattern, newEntryId, timeOf } from './entry-id.ts'
import { damagedEntry } from './record.ts'
import type { KeyedStorage } from './storage.ts'

/** One saved token: its own id, and what was written. */
export interface Entry {
  readonly id: EntryId
  readonly value: unknown
}

/** A save and its retries. */
export interface Save {
  /** When it was first tried, in ms since the epoch. */
  readonly startedAt: number
  /** The ids of the entries that it has written so far. */
  readonly tried: EntryId[]
  /** The entry that was current when it was first tried, once that has been read. */
  replaces?: { readonly id: EntryId | undefined }
  /** A retry does not replace a login that was saved since the first try. */
  isRetry: boolean
}

interface Pointer {
  readonly current: EntryId
  readonly previous?: EntryId | undefined
}

/**
 * Keeps the entries of connections in a storage that has no compare-and-swap.
 *
 * Each save writes an entry under an id that is never used again, then a pointer that names it. So "read, compare,
 * remove that entry" cannot take away what somebody else has saved in between; a save that stops half-way leaves the
 * pointer, and with it the old connection, as it was; and a read takes two look-ups, not a walk through all keys.
 *
 * The pointer is only a short cut to the newest entry: it is removed under a mark, and whoever finds the mark, or a
 * pointer to nothing, looks at the entries themselves. Decision 16 has the argument.
 *
 * Every method throws `ConnectionStoreError` (`storage_failed`) when the storage throws or returns no usable value.
 */
export class Entries {
  readonly #storage: KeyedStorage

  constructor(storage: KeyedStorage) {
    this.#storage = storage
  }

  /** The same entries, whose errors do not quote these secrets. Used wherever a token is known. */
  hiding(secrets: readonly string[]): Entries {
    return new Entries(this.#storage.hiding(secrets))
  }

  /** The current entry of a connection; undefined when there is none. */
  async read(key: string): Promise<Entry | undefined> {
    let gone: EntryId | undefined
    for (let wasAbsent = false; ; ) {
      const pointer = await this.#pointer(key)
      if (pointer === 'damaged') throw damagedEntry(key)
      if (pointer !== undefined && pointer.current !== gone) {
        const value = await this.#storage.get(key, pointer.current)
        if (value !== undefined) return { id: pointer.current, value }
        // Revoked, or replaced since the pointer was read: only the pointer can tell.
        gone = pointer.current
      } else if (pointer !== undefined || (await this.#storage.get(key, 'removing')) !== undefined) {
        return this.#newest(key)
      } else if (wasAbsent) {
        return undefined
      } else {
        // A removal that ended between the two looks may have put the pointer back.
        wasAbsent = true
      }
    }
  }

  /**
   * Makes a value the current entry of a connection, and removes the one before.
   *
   * @returns the entry of a newer login when this is a retry and there is one: it stays.
   */
  async write(key: string, value: string, save: Save): Promise<Entry | undefined> {
    const id = newEntryId(save.startedAt)
    const leftovers = [...save.tried]
    save.tried.push(id)
    await this.#storage.set(key, id, value)
    // A damaged pointer counts as none where it is about to be overwritten: a new login repairs it.
    const pointer = await this.#pointer(key)
    const before = pointer === 'damaged' ? undefined : pointer
    if (save.isRetry && before !== undefined && isNewer(before.current, save)) {
      const newer = await this.#storage.get(key, before.current)
      if (newer !== undefined) return this.#giveWay(key, save, { id: before.current, value: newer })
    }
    save.replaces ??= { id: before?.current }
    await this.#point(key, { current: id, previous: before?.current })
    if (save.isRetry) {
      const newer = (await this.#ids(key)).filter((one) => isNewer(one, save)).at(-1)
      const saved = newer === undefined ? undefined : await this.#storage.get(key, newer)
      if (newer !== undefined && saved !== undefined) {
        await this.#point(key, { current: newer })
        return this.#giveWay(key, save, { id: newer, value: saved })
      }
    }
    // The connection is saved. What goes wrong from here on leaves an entry that nothing names, until the next removal.
    await this.#tidy(key, id, [before?.current, before?.previous, ...leftovers]).catch(() => {})
    return undefined
  }

  /**
   * Changes what an entry holds, as long as it is the current one of its connection. What has been saved in between
   * stays: it has an id of its own.
   */
  async rewrite(key: string, id: EntryId, value: string): Promise<void> {
    await this.#storage.set(key, id, value)
    const pointer = await this.#pointer(key)
    if (pointer === 'damaged' || pointer?.current === id) return
    // Replaced or removed meanwhile: it must not come back. Without a pointer but with the mark, a removal decides.
    if (pointer === undefined && (await this.#storage.get(key, 'removing')) !== undefined) return
    await this.#storage.remove(key, id)
  }

  /** Removes one entry, and the pointer if it names that one. */
  async removeEntry(key: string, id: EntryId): Promise<void> {
    await this.#storage.remove(key, id)
    await this.#removePointer(key, new Set([id]))
  }

  /** Removes a connection with everything that half-finished saves and removals may have left of it. */
  async removeAll(key: string): Promise<void> {
    const pointer = await this.#pointer(key)
    const dead = new Set<string>()
    for await (const place of this.#storage.places(key)) dead.add(place)
    const places = [...dead].filter((place) => place !== 'current')
    if (pointer !== undefined && pointer !== 'damaged') dead.add(pointer.current)
    await Promise.all(places.map((place) => this.#storage.remove(key, place)))
    await this.#removePointer(key, dead)
  }

  /** The keys of the connections that there are. */
  keys(): AsyncGenerator<string, void, undefined> {
    return this.#storage.keys()
  }

  async #tidy(key: string, id: EntryId, superseded: readonly (EntryId | undefined)[]): Promise<void> {
    // A removal at the same time may have pointed at this entry already.
    const ids = new Set(superseded.filter((old) => old !== undefined).filter((old) => old !== id))
    await Promise.all(Array.from(ids, (old) => this.#storage.remove(key, old)))
    // Of two saves at once, the one whose pointer was overwritten may be unknown to the other.
    const now = await this.#pointer(key)
    if (now === undefined || now === 'damaged' || ids.has(now.current) || byAge(now.current, id) <= 0) return
    await this.#storage.remove(key, id)
  }

  /** Takes the entries of a retry back, because there is a newer login. */
  async #giveWay(key: string, save: Save, newer: Entry): Promise<Entry> {
    await Promise.all(save.tried.map((id) => this.#storage.remove(key, id))).catch(() => {})
    return newer
  }

  /**
   * Removes the pointer if it names a dead entry. Between the look at it and its removal, a login may have overwritten
   * it: so the entries are listed afterwards, and the pointer is set to the newest that lives. The mark stands for the
   * pointer meanwhile, also for the processes that read after this one has died.
   */
  async #removePointer(key: string, dead: ReadonlySet<string>): Promise<void> {
    const isDead = async () => {
      const pointer = await this.#pointer(key)
      return pointer !== undefined && (pointer === 'damaged' || dead.has(pointer.current))
    }
    if (!(await isDead())) return
    await this.#storage.set(key, 'removing', '1')
    if (await isDead()) {
      await this.#storage.remove(key, 'current')
      await this.#restorePointer(key, dead)
    }
    await this.#storage.remove(key, 'removing')
  }

  async #restorePointer(key: string, dead: ReadonlySet<string>): Promise<void> {
    for (let written: EntryId | undefined; ; ) {
      const ids = await this.#ids(key)
      const risen = ids.filter((id) => dead.has(id))
      await Promise.all(risen.map((id) => this.#storage.remove(key, id)))
      const [newest, previous] = ids.filter((id) => !dead.has(id)).reverse()
      if (newest === undefined || newest === written) return
      await this.#point(key, { current: newest, previous })
      written = newest
    }
  }

  async #newest(key: string): Promise<Entry | undefined> {
    for (const id of (await this.#ids(key)).reverse()) {
      const value = await this.#storage.get(key, id)
      if (value !== undefined) return { id, value }
    }
    return undefined
  }

  /** The ids of all entries of a connection, oldest first. */
  async #ids(key: string): Promise<EntryId[]> {
    const ids = new Set<EntryId>()
    for await (const place of this.#storage.places(key)) if (idPattern.test(place)) ids.add(place)
    return [...ids].sort(byAge)
  }

  async #pointer(key: string): Promise<Pointer | 'damaged' | undefined> {
    return toPointer(await this.#storage.get(key, 'current'))
  }

  async #point(key: string, pointer: Pointer): Promise<void> {
    await this.#storage.set(key, 'current', JSON.stringify(pointer))
  }
}

/** Whether an entry was saved by somebody else after the first try of this save. */
function isNewer(id: EntryId, { startedAt, tried, replaces }: Save): boolean {
  return !tried.includes(id) && id !== replaces?.id && timeOf(id) > startedAt
}

function toPointer(value: unknown): Pointer | 'damaged' | undefined {
  if (value === undefined) return undefined
  const { current, previous } = parseObject(value) ?? {}
  if (typeof current !== 'string' || !idPattern.test(current)) return 'damaged'
  return { current, previous: typeof previous === 'string' && idPattern.test(previous) ? previous : undefined }
}
