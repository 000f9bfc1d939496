import { isError, placeholder, safeCause } from '../errors/redact.ts'
import { isConnectionKey } from './connection-key.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import { tokenIn } from './record.ts'
import type { ConnectionStorage, StoragePage } from './storage.ts'
import { inTime } from './turns.ts'

/**
 * A storage addressed by connection key. The storage key is `<base>:<connection key>`.
 *
 * Every method throws `ConnectionStoreError` (`storage_failed`) if the storage throws, returns an error or an invalid value,
 * or does not respond in time.
 */
export class KeyedStorage {
  readonly #storage: ConnectionStorage
  readonly #base: string
  readonly #secrets: readonly string[]

  /**
   * @param base the start of every storage key, without a colon at the end
   * @param secrets secrets that no error may quote
   */
  constructor(storage: ConnectionStorage, base: string, secrets: readonly string[] = []) {
    this.#storage = storage
    this.#base = base
    this.#secrets = secrets
  }

  /** Returns the same storage with errors that do not quote these secrets. Drivers quote commands, results and pipelines. */
  redacting(secrets: readonly string[]): KeyedStorage {
    return new KeyedStorage(this.#storage, this.#base, secrets)
  }

  /** Returns the text of a connection, or null if there is none. */
  async get(key: string): Promise<string | null> {
    const text = await this.#call(key, [], () => this.#storage.get(this.#storageKey(key)), isText)
    return text ?? null
  }

  /** Writes or removes the text of a connection if it is as expected. Returns whether it was. */
  async compareAndSet(key: string, expected: string | null, value: string | null): Promise<boolean> {
    const write = () => this.#storage.compareAndSet(this.#storageKey(key), expected, value)
    return this.#call(key, [tokenIn(expected), tokenIn(value)], write, isBoolean)
  }

  /** Yields the connection keys and texts of the storage, in pages and in no particular order. */
  async *pages(): AsyncGenerator<StoragePage, void, undefined> {
    const start = this.#storageKey('')
    try {
      for await (const page of eachInTime(this.#storage.list(start))) {
        const texts: [key: string, text: string][] = []
        for (const [name, text] of page) {
          const key = name.startsWith(start) ? name.slice(start.length) : undefined
          if (!isConnectionKey(key)) continue
          if (!isText(text)) throw new TypeError(`It listed a value of type ${typeof text}.`)
          texts.push([key, text])
        }
        yield texts
      }
    } catch (thrown) {
      throw this.#failed(undefined, thrown)
    }
  }

  #storageKey(key: string): string {
    return `${this.#base}:${key}`
  }

  /** Some drivers return an error instead of throwing it. */
  async #call<Value>(
    key: string,
    tokens: readonly string[],
    method: () => unknown,
    isValid: (value: unknown) => value is Value,
  ): Promise<Value> {
    try {
      const value: unknown = await inTime(method())
      if (isValid(value)) return value
      throw isError(value) ? value : new TypeError(`It returned a value of type ${typeof value}.`)
    } catch (thrown) {
      throw this.#failed(key, thrown, tokens)
    }
  }

  #failed(key: string | undefined, thrown: unknown, tokens: readonly string[] = []): ConnectionStoreError {
    const cause = withoutTokens(safeCause(thrown, [...this.#secrets, ...tokens]))
    const whose = key === undefined ? 'of the connections' : `of the connection "${key}"`
    return new ConnectionStoreError(`The storage ${whose} failed: ${cause.message.replace(/\.$/, '')}.`, {
      reason: 'storage_failed',
      key,
      cause,
      hint: 'Check that the storage is reachable, then try again.',
    })
  }
}

function isText(value: unknown): value is string | null | undefined {
  return value === null || value === undefined || typeof value === 'string'
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

/**
 * Matches the token of a quoted record, also if its quotes are escaped because the record is quoted within JSON. Ends at the
 * first quote with the same escape.
 */
const quotedToken = /((\\*)"accessToken\2"\s*:\s*\2")(?:(?!(?<!\\)\2")[\s\S])*/g

/** Removes the tokens of quoted records from a copy of an error and its causes. */
function withoutTokens(error: Error): Error {
  for (let part: unknown = error; isError(part); part = part.cause) {
    const hidden = (text: string) => text.replace(quotedToken, `$1${placeholder}`)
    part.message = hidden(part.message)
    part.name = hidden(part.name)
    part.stack = hidden(part.stack ?? '')
    if ('code' in part) part.code = hidden(String(part.code))
  }
  return error
}

/** Yields the pages of a storage, and awaits each of them up to the time limit. */
async function* eachInTime(pages: AsyncIterable<StoragePage>): AsyncGenerator<StoragePage, void, undefined> {
  const iterator = pages[Symbol.asyncIterator]()
  let isReading = false
  try {
    for (;;) {
      isReading = true
      const { done, value } = await inTime(iterator.next())
      if (done === true) return
      isReading = false
      yield value
    }
  } finally {
    // Left early by the caller. After a failure or the end there is nothing to close.
    if (!isReading) await inTime(iterator.return?.())
  }
}
