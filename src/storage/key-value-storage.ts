import {
  type ErrorDetails,
  InvalidArgumentError,
  isSupportWorkspaceError,
  SupportWorkspaceError,
} from '../errors/index.ts'
import { isError, placeholder, safeCause } from '../errors/redact.ts'

/**
 * A storage of texts under keys with an atomic compare-and-set, for connections and write journals.
 * `support-workspace-sdk/storage` has storages for SQLite, Redis, Postgres and memory. Check your own storage with
 * the tests that [the guide](docs/storage.md#test-your-storage) shows.
 *
 * Every method can return its result or a promise of the result. If a method throws or returns an error, or its promise
 * is still pending after 30 seconds, a `ConnectionStore` throws a `ConnectionStoreError` (`storage_failed`), and a
 * `WriteJournal` throws a `WriteJournalError`.
 *
 * The storage must be strongly consistent: every process reads the last write. So do not put a cache or a read replica
 * in front of it. The SDK writes each text only once, so a compare-and-set of texts compares the versions of a record.
 * The SDK writes no empty texts.
 */
export interface KeyValueStorage {
  /** Returns the text under a key. Null or undefined if the key is absent. */
  get(key: string): string | null | undefined | Promise<string | null | undefined>
  /**
   * Writes `value` if the text under the key is `expected`, in one atomic step. Returns whether it has written.
   *
   * @param expected the text that must be there, or null if the key must be absent
   * @param value the text to write, or null to remove the key
   */
  compareAndSet(key: string, expected: string | null, value: string | null): boolean | Promise<boolean>
  /**
   * Lists the keys that start with a prefix and their texts, as pages of `[key, text]`, in any order. A key that exists
   * during the whole listing must be listed, at least once.
   */
  list(prefix: string): AsyncIterable<StoragePage>
}

/** A page of a listing: keys and their texts. */
export type StoragePage = readonly (readonly [key: string, text: string])[]

/** Keeps connections in memory, for tests and for apps in a single process. All data is lost when the process ends. */
export function memoryStorage(): KeyValueStorage {
  const texts = new Map<string, string>()
  return {
    get: (key) => texts.get(key),
    compareAndSet(key, expected, value) {
      if ((texts.get(key) ?? null) !== expected) return false
      if (value === null) texts.delete(key)
      else texts.set(key, value)
      return true
    },
    async *list(prefix) {
      yield [...texts].filter(([key]) => key.startsWith(prefix))
    },
  }
}

/** Returns a page of the keys that have a text. */
export function pageOf(keys: readonly string[], texts: readonly (string | null)[]): StoragePage {
  return keys.flatMap((key, index) => {
    const text = texts[index]
    return typeof text === 'string' ? [[key, text] as const] : []
  })
}

/** Checks that a storage has all methods. */
export function checkStorage(storage: KeyValueStorage): KeyValueStorage {
  checkMethods(
    'storage',
    storage,
    ['get', 'compareAndSet', 'list'],
    'Pass what `sqliteStorage`, `redisStorage` or `postgresStorage` returns. If only one process uses a storage of `unstorage`, wrap it in `singleProcessStorage`.',
  )
  return storage
}

/** Checks that an object has all of the methods. */
export function checkMethods<Value>(
  name: string,
  value: Value,
  methods: readonly (keyof Value & string)[],
  hint: string,
): void {
  const missing = methods.filter((method) => typeof value?.[method] !== 'function')
  if (missing.length === 0) return
  throw new InvalidArgumentError(name, `\`${name}\` lacks ${missing.map((each) => `\`${each}\``).join(', ')}.`, hint)
}

/**
 * Returns the error for a storage that violates the contract of `KeyValueStorage`. Repeating the call does not help.
 */
export function unfit(problem: string): SupportWorkspaceError {
  return new SupportWorkspaceError(problem, { hint: 'Check the storage with the tests of docs/storage.md.' })
}

const tryAgain = { remedy: 'retry', hint: 'Check that the storage is reachable, then try again.' } as const

/**
 * Returns the message and details of an error for a failed storage. Keeps the remedy and hint of an error of this
 * package.
 */
export function failureOf(whose: string, thrown: unknown): [message: string, details: ErrorDetails] {
  const cause = withoutTexts(safeCause(thrown))
  const { message, remedy, hint } = isSupportWorkspaceError(thrown) ? thrown : { message: cause.message, ...tryAgain }
  const problem = message.replace(hint, '').replace(/\.? *$/, '')
  return [`The storage of ${whose} failed: ${problem}.`, { remedy, hint, cause }]
}

/** Matches the text of a record, its start, or a long part of it. Drivers quote commands, results and pipelines. */
const quotedText = /plain(?::|%3A)[\w-]*|[\w-]{60,}/gi

/**
 * Removes the texts of records from a copy of an error and its causes, because a text that is not encrypted has a
 * token.
 */
function withoutTexts(error: Error): Error {
  for (let part: unknown = error; isError(part); part = part.cause) {
    const hidden = (text: string) => text.replace(quotedText, placeholder)
    part.message = hidden(part.message)
    part.name = hidden(part.name)
    part.stack = hidden(String(part.stack))
    if ('code' in part) part.code = hidden(String(part.code))
  }
  return error
}
