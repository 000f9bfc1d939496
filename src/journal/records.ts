import {
  Entries,
  type FieldChecks,
  GuardedStorage,
  hasFields,
  isOneOf,
  isOptional,
  isText,
  type KeyValueStorage,
  StoredTexts,
} from '../storage/interface.ts'
import { WriteJournalError, type WriteState } from './journal-errors.ts'

/** A write in the journal. */
export interface WriteEntry {
  /** The key that you passed to `once`, for example `reply:msg_1`. */
  readonly key: string
  /** Whether the write is being sent, was applied, or is unconfirmed. */
  readonly state: WriteState
  /** The id of the operation, for example `messages.create`. */
  readonly operation: string
  /** The path of the request. */
  readonly path: string
  /**
   * When the write was sent, in milliseconds since the Unix epoch on the service's clock. If responses have no readable
   * `Date` header, for example in browsers, the clock of the sending process counts.
   */
  readonly sentAt: number
  /** The id of the created or changed item. Absent until the write is applied, and if the response has no id. */
  readonly id?: string | undefined
}

/** A check whether a write was applied. Times are in milliseconds since the Unix epoch on the service's clock. */
export interface WriteCheck extends Pick<WriteEntry, 'key' | 'operation'> {
  /** When the write was sent, in milliseconds since the Unix epoch. */
  readonly since: number
  /** When the last check is made if the checks before it cannot tell, in milliseconds since the Unix epoch. */
  readonly until: number
}

/** The record that the storage keeps under a key. */
export interface WriteRecord extends Omit<WriteEntry, 'key'> {
  /** The id of the user of the token. Undefined if `/me` returned no user. */
  readonly author?: string | undefined
  /** SHA-256 digest of the address of the service and the organization. */
  readonly place: string
  /** SHA-256 digest of place, operation, path, query and body. */
  readonly input: string
  /** SHA-256 digest that two writes share if their effects look the same. */
  readonly mark?: string | undefined
  /** Random id of the attempt that sent the write. */
  readonly attempt: string
  /** Longest duration of an attempt, in milliseconds. */
  readonly timeout: number
  /** When the write was last sent, or found to be applied, in milliseconds since the Unix epoch on the service's clock. */
  readonly changedAt?: number | undefined
  /** How long processes have checked the write while it was `sending`, in milliseconds. */
  readonly watched?: number | undefined
}

/** The checks of the fields of a record. A missing timeout would make a wait endless. */
export const recordFields: FieldChecks<WriteRecord> = {
  state: isOneOf('sending', 'applied', 'unconfirmed'),
  ...{ operation: isText, path: isText, place: isText, input: isText, attempt: isText },
  ...{ id: isOptional(isText), mark: isOptional(isText), author: isOptional(isText) },
  ...{ sentAt: Number.isFinite, timeout: Number.isFinite, watched: isOptional(Number.isFinite) },
  changedAt: isOptional(Number.isFinite),
}

/** Where the records of a journal are. */
export interface WriteEntries extends Pick<Entries<WriteRecord>, 'get' | 'change' | 'pages'> {
  /** Whether the others that write to the same storage hold the key: the approvals, or else a journal. */
  isForeign(key: string): Promise<boolean>
  /** Yields the records of those others, in pages. */
  foreign(onUnreadable: (error: unknown) => void): AsyncIterable<readonly WriteRecord[]>
}

/** Journals keep their records here, also next to approvals. */
export const journalPrefix = 'writes:'

type OnUnreadable = (error: WriteJournalError) => void

/** What a journal reads of a proposal. */
interface Proposed {
  readonly write?: WriteRecord | undefined
}

/** The records of a journal by key. */
export class WriteRecords {
  readonly #entries: WriteEntries

  /** Every method throws `WriteJournalError` if the storage fails. */
  static in(storage: KeyValueStorage): WriteRecords {
    const failed = (key: string | undefined, thrown: unknown) => new WriteJournalError(key, thrown)
    // Connections can be in the same storage, and approvals, whose keys are also names of writes.
    const kind = { prefix: journalPrefix, texts: new StoredTexts(), format: 1, fields: recordFields, failed }
    const open = new GuardedStorage(storage, 'approvals:open:', failed)
    const final = new GuardedStorage(storage, 'approvals:final:', failed)
    // A proposal that ends is written as final before it is removed as open.
    const isForeign = async (key: string) => (await open.get(key)) !== null || (await final.get(key)) !== null
    const proposals = ['open', 'final'].map((shelf) => {
      const fields = { write: isOptional(hasFields(recordFields)) }
      return new Entries<Proposed>(storage, { ...kind, fields, prefix: `approvals:${shelf}:` })
    })
    async function* foreign(onUnreadable: (error: unknown) => void) {
      for (const shelf of proposals) {
        for await (const page of shelf.pages(onUnreadable)) yield page.flatMap(([, { write }]) => write ?? [])
      }
    }
    return new WriteRecords(Object.assign(new Entries(storage, kind), { isForeign, foreign }))
  }

  constructor(entries: WriteEntries) {
    this.#entries = entries
  }

  isForeign(key: string): Promise<boolean> {
    return this.#entries.isForeign(key)
  }

  get(key: string): Promise<WriteRecord | undefined> {
    return this.#entries.get(key)
  }

  /** Replaces or removes a record if it is still the expected one (compare-and-set). Returns whether it was. */
  replace(key: string, expected: WriteRecord | undefined, next: WriteRecord | undefined): Promise<boolean> {
    const change = (now: WriteRecord | undefined) =>
      isSame(now, expected) ? { write: next ?? null, result: true } : { result: isSame(now, next) }
    return this.#entries.change(key, change, expected === undefined ? null : undefined)
  }

  /**
   * Yields the keys and their records in no particular order, including each key that exists during the whole listing.
   *
   * @param onUnreadable called with the error of each record that cannot be read. Without it, the first one is thrown.
   */
  async *all(
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<readonly [key: string, record: WriteRecord], void, undefined> {
    for await (const page of this.#entries.pages(onUnreadable as (error: unknown) => void)) yield* page
  }

  /** Yields the records of the others that write to the same storage. */
  async *foreign(onUnreadable: OnUnreadable): AsyncGenerator<WriteRecord, void, undefined> {
    for await (const page of this.#entries.foreign(onUnreadable as (error: unknown) => void)) yield* page
  }

  /** Yields the records of all writes but one, also those of the others that write to the same storage. */
  async *others(key: string, onUnreadable: OnUnreadable): AsyncGenerator<WriteRecord, void, undefined> {
    for await (const [other, record] of this.all(onUnreadable)) if (other !== key) yield record
    yield* this.foreign(onUnreadable)
  }
}

/** Whether two records say the same about the same attempt. How long it was watched does not matter. */
export function isSame(one: WriteRecord | undefined, other: WriteRecord | undefined): boolean {
  return one?.attempt === other?.attempt && one?.state === other?.state && one?.id === other?.id
}
