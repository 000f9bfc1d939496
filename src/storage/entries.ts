import { isObject } from '../shared/json.ts'
import { notify } from '../shared/notify.ts'
import { type Change, GuardedStorage } from './guarded-storage.ts'
import type { KeyValueStorage } from './key-value-storage.ts'
import { damaged, type StoredTexts } from './stored-texts.ts'

type Test = (value: unknown) => boolean

/** A check that says what the value is. */
type Guard<Value> = (value: unknown) => value is Value

/** Whether a value is what an entry can hold in a field. */
type Check<Value> = Guard<Value> | Test

/** The checks of each field, because another program can have changed an entry. */
export type FieldChecks<Content> = { readonly [Name in keyof Content]-?: Test }

/** What an entry holds, by the checks of its fields. */
export type ContentOf<Checks> = {
  readonly [Name in keyof Checks]: Checks[Name] extends Guard<infer Value> ? Value : never
}

export const isText = (value: unknown): value is string => typeof value === 'string'
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
export const isOneOf =
  <const Value>(...values: readonly Value[]): Guard<Value> =>
  (value): value is Value =>
    values.includes(value as Value)
export const isOptional =
  <Value>(check: Check<Value>): Guard<Value | undefined> =>
  (value): value is Value | undefined =>
    value === undefined || check(value)
export const isListOf =
  <Value>(check: Check<Value>): Guard<readonly Value[]> =>
  (value): value is readonly Value[] =>
    Array.isArray(value) && value.every(check)
export const isRecordOf =
  <Value>(check: Check<Value>): Guard<Readonly<Record<string, Value>>> =>
  (value): value is Readonly<Record<string, Value>> =>
    isObject(value) && Object.values(value).every(check)
export const hasFields =
  <Content>(checks: FieldChecks<Content>): Guard<Content> =>
  (value): value is Content =>
    isObject(value) && Object.entries<Test>(checks).every(([field, check]) => check(value[field]))

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
        notify(onUnreadable, thrown)
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
      const wrong = Object.entries<Test>(fields).find(([field, check]) => !check(content[field]))
      if (wrong !== undefined) throw damaged(prefix + key, `is damaged in its field "${wrong[0]}"`)
      return content as Content
    } catch (thrown) {
      throw failed(key, thrown)
    }
  }
}
