import { isError } from '../shared/errors/redact.ts'
import { type KeyValueStorage, type StoragePage, unfit } from './key-value-storage.ts'
import { eachInTime, inTime } from './turns.ts'

/**
 * The keys of a storage that start with a prefix, which is added to each key here. Every method throws what `failed`
 * returns if the storage throws, returns an error or an invalid value, or does not respond in time.
 */
export class GuardedStorage {
  readonly #storage: KeyValueStorage
  readonly #prefix: string
  readonly #failed: (key: string | undefined, thrown: unknown) => Error

  constructor(storage: KeyValueStorage, prefix: string, failed: (key: string | undefined, thrown: unknown) => Error) {
    this.#storage = storage
    this.#prefix = prefix
    this.#failed = failed
  }

  async get(key: string): Promise<string | null> {
    return (await this.#call(key, () => this.#storage.get(this.#prefix + key), isText)) ?? null
  }

  compareAndSet(key: string, expected: string | null, value: string | null): Promise<boolean> {
    return this.#call(key, () => this.#storage.compareAndSet(this.#prefix + key, expected, value), isBoolean)
  }

  /** Yields keys and texts, in pages and in no particular order. */
  async *pages(): AsyncGenerator<StoragePage, void, undefined> {
    try {
      for await (const page of eachInTime(this.#storage.list(this.#prefix))) {
        if (!Array.isArray(page) || !page.every(isEntry)) throw unfit('It listed what is no page of keys and texts.')
        const texts: [key: string, text: string][] = []
        for (const [name, text] of page as StoragePage) {
          if (!name.startsWith(this.#prefix)) continue
          if (typeof text !== 'string') throw unfit(`It listed a value of type ${typeof text}.`)
          texts.push([name.slice(this.#prefix.length), text])
        }
        yield texts
      }
    } catch (thrown) {
      throw this.#failed(undefined, thrown)
    }
  }

  /** Some drivers return an error instead of throwing it. */
  async #call<Value>(key: string, method: () => unknown, isValid: (value: unknown) => value is Value): Promise<Value> {
    try {
      const value: unknown = await inTime(method())
      if (isValid(value)) return value
      throw isError(value) ? value : unfit(`It returned a value of type ${typeof value}.`)
    } catch (thrown) {
      throw this.#failed(key, thrown)
    }
  }
}

function isEntry(entry: unknown): boolean {
  return Array.isArray(entry) && typeof entry[0] === 'string'
}

function isText(value: unknown): value is string | null | undefined {
  return value === null || value === undefined || typeof value === 'string'
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}
