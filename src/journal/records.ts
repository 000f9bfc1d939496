import { SupportWorkspaceError } from '../errors/index.ts'
import { randomId } from '../shared/bytes.ts'
import { parseObject } from '../shared/json.ts'
import {
  type Change,
  GuardedStorage,
  hasFields,
  isOneOf,
  isOptional,
  isText,
  type KeyValueStorage,
} from '../storage/interface.ts'
import { WriteJournalError } from './journal-errors.ts'
import type { WriteState } from './write-state.ts'

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
  /**
   * How long processes have checked the write while it was `sending`, in milliseconds. `isSame` ignores this field,
   * because it changes during each check.
   */
  readonly watched?: number | undefined
}

/** A record and its text. Each text contains a random version, so comparing two texts compares the versions. */
export interface Stored {
  readonly record: WriteRecord
  readonly text: string
}

/** The start of the text of a record. Some drivers would parse a text that begins like JSON. */
const start = 'write:'

/** Returns the text for a record. */
export function toStored(record: WriteRecord): Stored {
  return { record, text: start + JSON.stringify({ version: randomId(), ...record }) }
}

/** The start of the journal's keys, because connections can be in the same storage. */
const prefix = 'writes:'

/** The starts of the keys of approvals, open and final, which are also names of writes. */
const foreign = ['approvals:open:', 'approvals:final:']

/** The records of a journal by key. Every method throws `WriteJournalError` if the storage fails. */
export class WriteRecords {
  readonly #storage: GuardedStorage
  readonly #foreign: readonly GuardedStorage[]

  constructor(storage: KeyValueStorage) {
    const failed = (key: string | undefined, thrown: unknown) => new WriteJournalError(key, thrown)
    this.#storage = new GuardedStorage(storage, prefix, failed)
    this.#foreign = foreign.map((start) => new GuardedStorage(storage, start, failed))
  }

  /** Whether approvals in the same storage have a write of this name. */
  async isForeign(key: string): Promise<boolean> {
    for (const other of this.#foreign) if ((await other.get(key)) !== null) return true
    return false
  }

  async get(key: string): Promise<Stored | undefined> {
    const text = await this.#storage.get(key)
    return text === null ? undefined : parse(key, text)
  }

  /** Replaces or removes a record if it is still the expected one (compare-and-set). Returns whether it was. */
  replace(key: string, expected: Stored | undefined, next: Stored | undefined): Promise<boolean> {
    const change = (text: string | null): Change<boolean> => {
      const now = text === null ? undefined : parse(key, text)
      return isSame(now, expected) ? { write: next?.text ?? null, result: true } : { result: isSame(now, next) }
    }
    return this.#storage.update(key, change, expected?.text ?? null)
  }

  /**
   * Yields the keys and their records in no particular order, including each key that exists during the whole listing.
   */
  async *all(): AsyncGenerator<readonly [key: string, stored: Stored], void, undefined> {
    for await (const page of this.#storage.pages()) {
      for (const [key, text] of page) yield [key, parse(key, text)]
    }
  }
}

/** Whether two records are the same, apart from `watched`. */
export function isSame(one: Stored | undefined, other: Stored | undefined): boolean {
  if (one?.text === other?.text) return true
  const [first, second] = [one?.record, other?.record]
  return first?.state === 'sending' && second?.state === 'sending' && first.attempt === second.attempt
}

function parse(key: string, text: string): Stored {
  const json = text.startsWith(start) ? text.slice(start.length) : ''
  const { version, ...record } = parseObject(json) ?? {}
  if (typeof version === 'string' && isRecord(record)) return { record: record as unknown as WriteRecord, text }
  const hint = `Find out what has changed "${prefix}${key}" in the storage. To be able to send the write again, remove it.`
  throw new WriteJournalError(key, new SupportWorkspaceError('Its entry is damaged.', { hint }))
}

/** A missing timeout would make a wait endless. */
const isRecord = hasFields({
  state: isOneOf('sending', 'applied', 'unconfirmed'),
  ...{ operation: isText, path: isText, place: isText, input: isText, attempt: isText },
  ...{ id: isOptional(isText), mark: isOptional(isText), author: isOptional(isText) },
  ...{ sentAt: Number.isFinite, timeout: Number.isFinite, watched: isOptional(Number.isFinite) },
})
