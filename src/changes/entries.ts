import { InvalidArgumentError, SupportWorkspaceError } from '../errors/index.ts'
import { randomId } from '../shared/bytes.ts'
import type { JsonObject } from '../shared/json.ts'
import {
  damaged,
  failureOf,
  GuardedStorage,
  type KeyValueStorage,
  type Change as Step,
  type StoredTexts,
} from '../storage/interface.ts'

/**
 * The storage of a `ChangeFeed` failed. With the remedy `retry`, the feed waits and tries again by itself. With `fix`,
 * an entry is damaged or encrypted with an unknown secret, or the storage violates the contract of `KeyValueStorage`.
 */
export class ChangeFeedError extends SupportWorkspaceError {
  static override readonly kind: string = 'ChangeFeedError'

  constructor(thrown: unknown) {
    super(...failureOf('the change feed', thrown))
  }
}

/** The version of the format of an entry. */
const format = 1

/** What an entry holds, with a random revision that each replacement changes. */
export type Stored<Content> = Content & { readonly revision: string }

/** Checks each field of a content. */
export type FieldChecks<Content> = { readonly [Name in keyof Content]-?: (value: unknown) => boolean }

/** Entries of one kind in the storage of a feed. Every method throws `ChangeFeedError` if the storage fails. */
export class Entries<Content extends object> {
  readonly #storage: GuardedStorage
  readonly #texts: StoredTexts
  readonly #checks: FieldChecks<Content>
  readonly #prefix: string

  constructor(storage: KeyValueStorage, prefix: string, texts: StoredTexts, checks: FieldChecks<Content>) {
    this.#storage = new GuardedStorage(storage, prefix, (_, thrown) =>
      thrown instanceof InvalidArgumentError || thrown instanceof ChangeFeedError
        ? thrown
        : new ChangeFeedError(thrown),
    )
    this.#prefix = prefix
    this.#texts = texts
    this.#checks = checks
  }

  async get(key: string): Promise<Stored<Content> | undefined> {
    return this.#read(key, await this.#storage.get(key))
  }

  /**
   * Replaces an entry, or removes it with null. Returns undefined if the entry has another revision, because another
   * process has replaced it.
   *
   * @param revision the expected revision, undefined if there must be no entry
   */
  replace(key: string, revision: string | undefined, content: Content | null): Promise<Stored<Content> | undefined> {
    const next = content && { ...content, revision: randomId().slice(0, 8) }
    return this.change(
      key,
      (now) => (now?.revision === revision ? next : undefined),
      revision === undefined ? null : undefined,
    )
  }

  /**
   * Changes a part of an entry that does not count as a replacement. Returns the changed entry, or undefined if `decide`
   * has returned undefined.
   *
   * @param known null if there is probably no entry, so that it is not read first
   */
  change(
    key: string,
    decide: (now: Stored<Content> | undefined) => Stored<Content> | null | undefined,
    known?: null,
  ): Promise<Stored<Content> | undefined> {
    const step = async (text: string | null): Promise<Step<Stored<Content> | undefined>> => {
      const next = decide(await this.#read(key, text))
      if (next === undefined) return { result: undefined }
      const write = next && (await this.#texts.write(this.#prefix + key, { format, ...next }))
      return { write, result: next ?? undefined }
    }
    return this.#storage.update(key, step, known)
  }

  /** Yields the entries in pages, in no particular order. */
  async *all(): AsyncGenerator<readonly (readonly [key: string, content: Stored<Content>])[], void, undefined> {
    for await (const page of this.#storage.pages()) {
      yield await Promise.all(
        page.map(async ([key, text]) => [key, (await this.#read(key, text)) as Stored<Content>] as const),
      )
    }
  }

  async #read(key: string, text: string | null): Promise<Stored<Content> | undefined> {
    if (text === null) return undefined
    const name = this.#prefix + key
    try {
      const { format: found, revision, ...content } = await this.#texts.read(name, text)
      if (found !== format) throw damaged(name, 'was written by another version of this package')
      const wrong = Object.entries<(value: unknown) => boolean>(this.#checks).find(
        ([field, isValid]) => !isValid((content as JsonObject)[field]),
      )
      const field = typeof revision === 'string' ? wrong?.[0] : 'revision'
      if (field !== undefined) throw damaged(name, `is damaged in its field "${field}"`)
      return { ...(content as Content), revision: revision as string }
    } catch (thrown) {
      throw new ChangeFeedError(thrown)
    }
  }
}
