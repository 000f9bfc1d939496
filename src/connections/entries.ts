import { parseObject } from '../json.ts'
import { byAge, type EntryId, isEntryId, newEntryId, timeOf } from './entry-id.ts'
import { damagedEntry } from './record.ts'
import type { KeyedStorage } from './storage.ts'

/** A saved token: the id of its entry, and the stored value. */
export interface Entry {
  readonly id: EntryId
  readonly value: unknown
}

/** A save and its retries. */
export interface Save {
  /** Time of the first attempt, in milliseconds since the Unix epoch. */
  readonly startedAt: number
  /** The ids of the entries written so far. */
  readonly tried: EntryId[]
  /** The entry that was current at the first attempt, once the pointer has been read. */
  replaces?: { readonly id: EntryId | undefined }
  /** A retry does not replace a login that was saved since the first attempt. */
  isRetry: boolean
}

interface Pointer {
  /** Undefined if the pointer is damaged. */
  readonly current: EntryId | undefined
  readonly previous?: EntryId | undefined
}

/**
 * Keeps the entries of connections in a storage without compare-and-swap.
 *
 * Each save writes an entry under an id that is never used again, and then a pointer to it. So "read, compare, remove that
 * entry" cannot remove an entry that was saved in between, an interrupted save leaves the pointer and the old connection
 * unchanged, and a read takes two lookups instead of a walk through all keys.
 *
 * The pointer is only a shortcut to the newest entry. It is removed under a mark, and a reader that finds the mark, or a
 * pointer to nothing, looks for the newest entry itself. Decision 16 explains why this is safe.
 *
 * Every method throws `ConnectionStoreError` (`storage_failed`) if the storage throws or returns an invalid value.
 */
export class Entries {
  readonly #storage: KeyedStorage

  constructor(storage: KeyedStorage) {
    this.#storage = storage
  }

  /** Returns the same entries with errors that do not quote these secrets. Used wherever a token is known. */
  redacting(secrets: readonly string[]): Entries {
    return new Entries(this.#storage.redacting(secrets))
  }

  /** Returns the current entry of a connection, or undefined if there is none. */
  async read(key: string): Promise<Entry | undefined> {
    let missing: EntryId | undefined
    for (let wasAbsent = false; ; ) {
      const pointer = await this.#pointer(key)
      const current = pointer?.current
      if (pointer !== undefined && current === undefined) throw damagedEntry(key)
      if (current !== undefined && current !== missing) {
        const value = await this.#storage.get(key, current)
        if (value !== undefined) return { id: current, value }
        // Removed, or replaced since the pointer was read: the pointer decides.
        missing = current
      } else if (pointer !== undefined || (await this.#storage.get(key, 'removing')) !== undefined) {
        return this.#newest(key)
      } else if (wasAbsent) {
        return undefined
      } else {
        // A removal that ended between the two reads may have restored the pointer.
        wasAbsent = true
      }
    }
  }

  /**
   * Writes the current entry of a connection, and removes the previous one.
   *
   * @returns the entry of a newer login, which a retry does not replace
   */
  async write(key: string, value: string, save: Save): Promise<Entry | undefined> {
    const id = newEntryId(save.startedAt)
    const leftovers = [...save.tried]
    save.tried.push(id)
    await this.#storage.set(key, id, value)
    const before = await this.#pointer(key)
    if (save.isRetry && before?.current !== undefined && isNewer(before.current, save)) {
      const newer = await this.#storage.get(key, before.current)
      if (newer !== undefined) return this.#keepNewer(key, save, { id: before.current, value: newer })
    }
    save.replaces ??= { id: before?.current }
    await this.#setPointer(key, { current: id, previous: before?.current })
    if (save.isRetry) {
      const newer = (await this.#ids(key)).filter((one) => isNewer(one, save)).at(-1)
      if (newer !== undefined) {
        const saved = await this.#storage.get(key, newer)
        if (saved !== undefined) {
          await this.#setPointer(key, { current: newer })
          return this.#keepNewer(key, save, { id: newer, value: saved })
        }
      }
    }
    // The connection is saved. A failure from here on only leaves an unused entry, until the next removal.
    await this.#removeReplaced(key, id, [before?.current, before?.previous, ...leftovers]).catch(() => {})
    return undefined
  }

  /**
   * Changes the value of an entry if it is still the current one. A login saved in between is kept, because it has a
   * different id.
   */
  async rewrite(key: string, id: EntryId, value: string): Promise<void> {
    await this.#storage.set(key, id, value)
    const pointer = await this.#pointer(key)
    if (pointer !== undefined && (pointer.current === undefined || pointer.current === id)) return
    // Replaced or removed in the meantime: it must not reappear. With the mark instead of a pointer, the removal decides.
    if (pointer === undefined && (await this.#storage.get(key, 'removing')) !== undefined) return
    await this.#storage.remove(key, id)
  }

  /** Removes an entry, and the pointer if it points to it. */
  async removeEntry(key: string, id: EntryId): Promise<void> {
    await this.#storage.remove(key, id)
    await this.#removePointer(key, new Set([id]))
  }

  /** Removes a connection, including all remains of interrupted saves and removals. */
  async removeAll(key: string): Promise<void> {
    const pointer = await this.#pointer(key)
    const dead = new Set<string>()
    for await (const place of this.#storage.places(key)) dead.add(place)
    const places = [...dead].filter((place) => place !== 'current')
    if (pointer?.current !== undefined) dead.add(pointer.current)
    await Promise.all(places.map((place) => this.#storage.remove(key, place)))
    await this.#removePointer(key, dead)
  }

  /** Yields the keys of all connections. */
  keys(): AsyncGenerator<string, void, undefined> {
    return this.#storage.keys()
  }

  async #removeReplaced(key: string, id: EntryId, replaced: readonly (EntryId | undefined)[]): Promise<void> {
    // A concurrent removal may already have set the pointer to this entry.
    const ids = new Set(replaced.filter((old) => old !== undefined).filter((old) => old !== id))
    await Promise.all(Array.from(ids, (old) => this.#storage.remove(key, old)))
    // Of two concurrent saves, the one whose pointer was overwritten removes its entry: the other may not know it.
    const now = (await this.#pointer(key))?.current
    if (now === undefined || ids.has(now) || byAge(now, id) <= 0) return
    await this.#storage.remove(key, id)
  }

  /** Removes the entries of a retry, because there is a newer login. */
  async #keepNewer(key: string, save: Save, newer: Entry): Promise<Entry> {
    await Promise.all(save.tried.map((id) => this.#storage.remove(key, id))).catch(() => {})
    return newer
  }

  /**
   * Removes the pointer if it points to a removed entry. A login may overwrite the pointer between the check and the
   * removal, so the entries are listed afterwards and the pointer is set to the newest remaining one. Until then the mark
   * replaces the pointer, also for other processes and if this process ends.
   */
  async #removePointer(key: string, dead: ReadonlySet<string>): Promise<void> {
    const isDead = async () => {
      const pointer = await this.#pointer(key)
      return pointer !== undefined && (pointer.current === undefined || dead.has(pointer.current))
    }
    if (!(await isDead())) return
    // An object, because some storages parse JSON, and a value must be text or an object.
    await this.#storage.set(key, 'removing', JSON.stringify({ removing: true }))
    if (await isDead()) {
      await this.#storage.remove(key, 'current')
      await this.#restorePointer(key, dead)
    }
    await this.#storage.remove(key, 'removing')
  }

  async #restorePointer(key: string, dead: ReadonlySet<string>): Promise<void> {
    for (let written: EntryId | undefined; ; ) {
      const ids = await this.#ids(key)
      const restored = ids.filter((id) => dead.has(id))
      await Promise.all(restored.map((id) => this.#storage.remove(key, id)))
      const [newest, previous] = ids.filter((id) => !dead.has(id)).reverse()
      if (newest === undefined || newest === written) return
      await this.#setPointer(key, { current: newest, previous })
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

  /** Returns the ids of all entries of a connection, oldest first. */
  async #ids(key: string): Promise<EntryId[]> {
    const ids = new Set<EntryId>()
    for await (const place of this.#storage.places(key)) if (isEntryId(place)) ids.add(place)
    return [...ids].sort(byAge)
  }

  async #pointer(key: string): Promise<Pointer | undefined> {
    return parsePointer(await this.#storage.get(key, 'current'))
  }

  async #setPointer(key: string, pointer: Pointer): Promise<void> {
    await this.#storage.set(key, 'current', JSON.stringify(pointer))
  }
}

/** Whether another login saved an entry after the first attempt of this save. */
function isNewer(id: EntryId, { startedAt, tried, replaces }: Save): boolean {
  return !tried.includes(id) && id !== replaces?.id && timeOf(id) > startedAt
}

function parsePointer(value: unknown): Pointer | undefined {
  if (value === undefined) return undefined
  const { current, previous } = parseObject(value) ?? {}
  if (!isEntryId(current)) return { current: undefined }
  return { current, previous: isEntryId(previous) ? previous : undefined }
}
