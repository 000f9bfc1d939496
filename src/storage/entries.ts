import { isObject } from '../shared/json.ts'
import { type Change, GuardedStorage } from './guarded-storage.ts'
import type { KeyValueStorage } from './key-value-storage.ts'
import { damaged, type StoredTexts } from './stored-texts.ts'

type Check = (value: unknown) => boolean

/** The checks of each field, because another program can have changed an entry. */
export type FieldChecks<Content> = { readonly [Name in keyof Content]-?: Check }

export const isText: Check = (value) => typeof value === 'string'
export const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
export const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value)
export const isOptional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)
export const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
export const isRecordOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check)
export const hasFields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && Object.entries(checks).every(([field, check]) => check(value[field]))

/** How entries of one kind are kept. */
export interface EntryKind<Content> {
  /** The start of their keys. */
  readonly prefix: string
  readonly texts: StoredTexts
  /** The version of their format. Entries of other versions are refused. */
  readonly format: number
  readonly fields: FieldChecks<Content>
  /** Creates the error to throw if the storage fails. Called without a key if a listing fails. */
  readonly failed: (key: string | undefined, thrown: unknown) => Error
}

/** Entries of one kind in a storage: JSON objects, which are checked when they are read. */
export class Entries<Content extends object> {
  readonly #kind: EntryKind<Content>
  readonly #storage: GuardedStorage

  constructor(storage: KeyValueStorage, kind: EntryKind<Content>) {
    this.#kind = kind
    this.#storage = new GuardedStorage(storage, kind.prefix, kind.failed)
  }

  async get(key: string): Promise<Content | undefined> {
    return this.#read(key, await this.#storage.get(key))
  }

  /**
   * Changes an entry by compare-and-set.
   *
   * @param decide called with the entry, before each attempt. It must have no other effect.
   * @param known null if there is probably no entry, so that it is not read first
   */
  change<Result>(
    key: string,
    decide: (now: Content | undefined) => Change<Result, Content> | Promise<Change<Result, Content>>,
    known?: null,
  ): Promise<Result> {
    const { format, prefix, texts } = this.#kind
    return this.#storage.update(
      key,
      async (text): Promise<Change<Result>> => {
        const { write, result } = await decide(await this.#read(key, text))
        return { write: write && (await texts.write(prefix + key, { format, ...write })), result }
      },
      known,
    )
  }

  /**
   * Yields the entries in pages, in no particular order.
   *
   * @param onUnreadable called with the error of each entry that cannot be read. Without it, the first one is thrown.
   */
  async *pages(
    onUnreadable?: (error: unknown) => void,
  ): AsyncGenerator<readonly (readonly [key: string, content: Content])[], void, undefined> {
    const read = async ([key, text]: readonly [string, string]) => {
      try {
        return [[key, (await this.#read(key, text)) as Content] as const]
      } catch (thrown) {
        if (onUnreadable === undefined) throw thrown
        onUnreadable(thrown)
        return []
      }
    }
    for await (const page of this.#storage.pages()) yield (await Promise.all(page.map(read))).flat()
  }

  async #read(key: string, text: string | null): Promise<Content | undefined> {
    if (text === null) return undefined
    const { failed, fields, prefix, texts } = this.#kind
    try {
      const { format, ...content } = await texts.read(prefix + key, text)
      if (format !== this.#kind.format) throw damaged(prefix + key, 'was written by another version of this package')
      const wrong = Object.entries<Check>(fields).find(([field, check]) => !check(content[field]))
      if (wrong !== undefined) throw damaged(prefix + key, `is damaged in its field "${wrong[0]}"`)
      return content as Content
    } catch (thrown) {
      throw failed(key, thrown)
    }
  }
}
