import { ConnectionStoreError } from '../../errors/connection-store-error.ts'
import { safeCause } from '../../errors/redact.ts'
import { parseObject } from '../../http/json-object.ts'
import { damagedEntry } from './record.ts'
import type { ConnectionStorage } from './storage.ts'

/** One saved token: its own id, and what was written. */
export interface Entry {
  readonly id: string
  readonly value: unknown
}

interface Pointer {
  readonly current: string
  readonly previous?: string | undefined
}

/**
 * Keeps the entries of connections in a storage that has no compare-and-swap.
 *
 * Each save writes an entry under an id that is never used again, then a pointer that names it. An entry is only ever
 * removed, never changed. So "read, compare, remove" cannot take away what somebody else has saved in between; a save
 * that stops half-way leaves the pointer, and with it the old connection, as it was; and a read takes two look-ups, not
 * a walk through all keys.
 *
 * Every method throws `ConnectionStoreError` (`storage_failed`) when the storage does.
 */
export class Entries {
  readonly #storage: ConnectionStorage
  readonly #base: string

  /** @param base what every storage key begins with, without a colon at its end. */
  constructor(storage: ConnectionStorage, base: string) {
    this.#storage = storage
    this.#base = base
  }

  /** The current entry of a connection; undefined when there is none. */
  async read(key: string): Promise<Entry | undefined> {
    let gone: string | undefined
    for (;;) {
      const pointer = toPointer(await this.#ask(key, () => this.#storage.getItem(this.#pointerAt(key))))
      if (pointer === 'damaged') throw damagedEntry(key)
      if (pointer === undefined || pointer.current === gone) return undefined
      const value = await this.#ask(key, () => this.#storage.getItem(this.#entryAt(key, pointer.current)))
      if (value !== null && value !== undefined) return { id: pointer.current, value }
      // Revoked, or replaced since the pointer was read: only the pointer can tell.
      gone = pointer.current
    }
  }

  /**
   * Makes a value the current entry of a connection, and removes the one before.
   *
   * @param tried the ids of earlier tries to save the same value; this one is added to them.
   * @param secrets what must not be quoted from an error of the storage.
   */
  async write(key: string, value: string, tried: string[], secrets: readonly string[]): Promise<void> {
    const id = newId()
    const leftovers = [...tried]
    tried.push(id)
    await this.#ask(key, () => this.#storage.setItem(this.#entryAt(key, id), value), secrets)
    const before = await this.#pointer(key)
    const pointer: Pointer = { current: id, previous: before?.current }
    await this.#ask(key, () => this.#storage.setItem(this.#pointerAt(key), JSON.stringify(pointer)))
    // The connection is saved. What goes wrong from here on leaves an entry that nothing names, until the next save.
    await this.#tidy(key, id, [before?.current, before?.previous, ...leftovers]).catch(() => {})
  }

  /** Removes one entry. The pointer stays: between looking at it and removing it, it could have moved on. */
  async removeEntry(key: string, id: string): Promise<void> {
    await this.#ask(key, () => this.#storage.removeItem(this.#entryAt(key, id)))
  }

  /** Removes a connection with everything that half-finished saves may have left of it. */
  async removeAll(key: string): Promise<void> {
    // The pointer goes first: a save at the same time then ends either wholly saved or wholly removed.
    await this.#ask(key, () => this.#storage.removeItem(this.#pointerAt(key)))
    const start = `${this.#base}:${key}:`
    const all = await this.#ask(key, () => this.#storage.getKeys(start))
    const entries = all.filter((name) => name.startsWith(start) && name !== this.#pointerAt(key))
    await Promise.all(entries.map((name) => this.#ask(key, () => this.#storage.removeItem(name))))
  }

  /** The keys of the connections that there are or were. */
  async keys(): Promise<string[]> {
    const start = `${this.#base}:`
    const all = await this.#ask(undefined, () => this.#storage.getKeys(start))
    const pointers = all.filter((name) => name.startsWith(start) && name.endsWith(pointerEnd))
    return pointers.map((name) => name.slice(start.length, -pointerEnd.length))
  }

  async #tidy(key: string, id: string, superseded: readonly (string | undefined)[]): Promise<void> {
    const ids = new Set(superseded.filter((old) => old !== undefined))
    await Promise.all(Array.from(ids, (old) => this.removeEntry(key, old)))
    // Of two saves at once, the one whose pointer was overwritten may be unknown to the other.
    const now = await this.#pointer(key)
    if (now !== undefined && now.current !== id) await this.removeEntry(key, id)
  }

  /** A damaged pointer counts as none where it is about to be overwritten: a new login repairs it. */
  async #pointer(key: string): Promise<Pointer | undefined> {
    const pointer = toPointer(await this.#ask(key, () => this.#storage.getItem(this.#pointerAt(key))))
    return pointer === 'damaged' ? undefined : pointer
  }

  #pointerAt(key: string): string {
    return `${this.#base}:${key}${pointerEnd}`
  }

  #entryAt(key: string, id: string): string {
    return `${this.#base}:${key}:${id}`
  }

  async #ask<Value>(
    key: string | undefined,
    question: () => Value | Promise<Value>,
    secrets: readonly string[] = [],
  ): Promise<Value> {
    try {
      return await question()
    } catch (thrown) {
      const cause = safeCause(thrown, secrets)
      const whose = key === undefined ? 'of the connections' : `of the connection "${key}"`
      throw new ConnectionStoreError(`The storage ${whose} failed: ${cause.message.replace(/\.$/, '')}.`, {
        reason: 'storage_failed',
        key,
        cause,
        hint: 'Check that the storage can be reached, then try again.',
      })
    }
  }
}

const pointerEnd = ':current'
const idPattern = /^[0-9a-f]{32}$/

function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function toPointer(value: unknown): Pointer | 'damaged' | undefined {
  if (value === null || value === undefined) return undefined
  const { current, previous } = parseObject(value) ?? {}
  if (typeof current !== 'string' || !idPattern.test(current)) return 'damaged'
  return { current, previous: typeof previous === 'string' && idPattern.test(previous) ? previous : undefined }
}
