import { isError } from '../errors/redact.ts'
import { type KeyValueStorage, type StoragePage, unfit } from './key-value-storage.ts'
import { eachInTime, inTime } from './turns.ts'

/** What to do with the text under a key. */
export interface Change<Result, Content = string> {
  /** What to write; null to remove the key; undefined to keep it unchanged. */
  readonly write?: Content | null | undefined
  /** Returned once the write has been made. */
  readonly result: Result
}

/** Number of refused changes in a row after which the storage counts as broken. Other processes rarely cause two. */
const mostAttempts = 100

/**
 * The part of a storage whose keys start with a prefix. The methods add the prefix to each key. If the storage throws,
 * returns an error or an invalid value, or does not respond in time, the methods throw the error that `failed` creates.
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

  /**
   * Changes a text by compare-and-set: reads it, calls `decide`, and writes only if the text is unchanged since the
   * read. Otherwise starts again. Texts that are written must differ from each other.
   *
   * @param decide called with the text, before each attempt
   * @param known the text that was read before, to save the first read
   */
  async update<Result>(
    key: string,
    decide: (text: string | null) => Change<Result> | Promise<Change<Result>>,
    known?: string | null,
  ): Promise<Result> {
    const sent = new Map<string | null, Result>()
    let failure: unknown
    const read = () =>
      this.get(key).catch((thrown: unknown) => {
        throw failure ?? thrown
      })
    for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
      const text = attempt === 1 && known !== undefined ? known : await read()
      // Drivers send a command again when its response is lost, and the second one finds the text of the first.
      if (sent.has(text)) return sent.get(text) as Result
      const { write, result } = await decide(text)
      if (write === undefined || write === text) return result
      if (failure !== undefined) throw failure
      try {
        if (await this.compareAndSet(key, text, write)) return result
      } catch (thrown) {
        // The write is unconfirmed. The next read shows whether it was applied.
        failure = thrown
      }
      sent.set(write, result)
    }
    throw this.#failed(key, unfit(`\`compareAndSet\` has refused ${mostAttempts} changes in a row.`))
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

  /**
   * Calls a method of the storage and checks its result. Throws returned errors as well, because some drivers return
   * them.
   */
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
