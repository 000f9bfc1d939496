import { GuardedStorage, type KeyValueStorage, unfit } from '../key-value/index.ts'
import { randomId } from '../shared/bytes.ts'
import { SupportWorkspaceError } from '../shared/errors/index.ts'
import { parseObject } from '../shared/json.ts'
import { WriteJournalError } from './journal-errors.ts'

/**
 * The state of a write in the journal:
 *
 * - `sending`: The process is about to send the write, waits for the response, or has ended meanwhile.
 * - `applied`: The service has applied the write.
 * - `unconfirmed`: The service may or may not have applied the write, and the checks could not confirm it.
 */
export type WriteState = 'sending' | 'applied' | 'unconfirmed'

/** A write of the journal. */
export interface WriteEntry {
  /** The caller's name for the write. */
  readonly key: string
  /** Whether the write is `sending`, `applied` or `unconfirmed`. */
  readonly state: WriteState
  /** The id of its operation, for example `messages.create`. */
  readonly operation: string
  /** The path of its request. */
  readonly path: string
  /**
   * When the write was sent, in milliseconds since the Unix epoch. The clock is the service's, known from the `Date`
   * header. Browsers hide this header, so there it is the clock of the process that sent the write.
   */
  readonly sentAt: number
  /** The id of the created or changed object. Absent if the write is not applied, or the id is unknown. */
  readonly id?: string | undefined
}

/** A check of an unconfirmed write. Times are in milliseconds since the Unix epoch, on the clock of the service. */
export interface WriteCheck extends Pick<WriteEntry, 'key' | 'operation'> {
  /** When the write was sent. */
  readonly since: number
  /** When the last check is made, if earlier checks do not confirm the write. */
  readonly until: number
}

/** The entry of the storage under a key. */
export interface WriteRecord extends Omit<WriteEntry, 'key'> {
  /** The id of the user of the token, if the service told it. */
  readonly author?: string | undefined
  /** A digest of the address of the service and the organization. */
  readonly place: string
  /** A digest of place, operation, path and input. */
  readonly input: string
  /** A digest of what the effects of two writes have in common if they look the same. */
  readonly mark?: string | undefined
  /** Random id of the attempt that sent it. */
  readonly attempt: string
  /** How long an attempt can take, in milliseconds. */
  readonly timeout: number
  /**
   * How long it has been watched while it was `sending`, in milliseconds. If only this changes, the write has not
   * changed.
   */
  readonly watched?: number | undefined
}

/** A record and its text, which is never written twice, so that it is the version of the record. */
export interface Stored {
  readonly record: WriteRecord
  readonly text: string
}

/** Starts the text of a record. Some drivers parse what begins as JSON. */
const start = 'write:'

/** Returns the text for a record. */
export function toStored(record: WriteRecord): Stored {
  return { record, text: start + JSON.stringify({ version: randomId(), ...record }) }
}

/** The start of every key in the storage, which can also have connections. */
const prefix = 'writes:'
/** Another process can write a record and remove it again before it is seen, but not this often in a row. */
const mostTries = 10

/** The records of a journal by key. Every method throws `WriteJournalError` if the storage fails. */
export class WriteRecords {
  readonly #storage: GuardedStorage

  constructor(storage: KeyValueStorage) {
    this.#storage = new GuardedStorage(storage, prefix, (key, thrown) => new WriteJournalError(key, thrown))
  }

  async get(key: string): Promise<Stored | undefined> {
    const text = await this.#storage.get(key)
    return text === null ? undefined : parse(key, text)
  }

  /** Writes a record, or removes it, if it is as expected. Returns whether it was. */
  async replace(key: string, expected: Stored | undefined, next: Stored | undefined): Promise<boolean> {
    let known = expected
    for (let tries = 0; tries < mostTries; tries += 1) {
      const write = this.#storage.compareAndSet(key, known?.text ?? null, next?.text ?? null)
      const [written] = await Promise.allSettled([write])
      if (written.status === 'fulfilled' && written.value) return true
      // Drivers send a command again when its response is lost. The text shows whether the first one was applied.
      const now = await this.get(key)
      if (isSame(now, next)) return true
      if (!isSame(now, expected)) return false
      if (written.status === 'rejected') throw written.reason
      known = now
    }
    throw new WriteJournalError(key, unfit('`compareAndSet` returns false, but nothing has changed.'))
  }

  /**
   * Yields every key and its record, in no particular order. A key that exists during the whole listing is among them.
   */
  async *all(): AsyncGenerator<readonly [key: string, stored: Stored], void, undefined> {
    for await (const page of this.#storage.pages()) {
      for (const [key, text] of page) yield [key, parse(key, text)]
    }
  }
}

/** Whether two records are the same, but for how long the write has been watched. */
export function isSame(one: Stored | undefined, other: Stored | undefined): boolean {
  if (one?.text === other?.text) return true
  const [first, second] = [one?.record, other?.record]
  return first?.state === 'sending' && second?.state === 'sending' && first.attempt === second.attempt
}

function parse(key: string, text: string): Stored {
  const json = text.startsWith(start) ? text.slice(start.length) : ''
  const { version, ...record } = parseObject(json) ?? {}
  if (typeof version === 'string' && isRecord(record)) return { record, text }
  const hint = `Find out what has changed "${prefix}${key}" in the storage. To be able to send the write again, remove it.`
  throw new WriteJournalError(key, new SupportWorkspaceError('Its entry is damaged.', { hint }))
}

const states: readonly unknown[] = ['sending', 'applied', 'unconfirmed'] satisfies WriteState[]

/**
 * Checks an entry, because another program might have written it. An entry without `timeout` would cause an endless
 * wait.
 */
function isRecord(fields: object): fields is WriteRecord {
  const record: Partial<Record<keyof WriteRecord, unknown>> = fields
  const {
    state,
    operation,
    path,
    place,
    input,
    attempt,
    sentAt,
    timeout,
    watched = 0,
    id = '',
    mark = '',
    author = '',
  } = record
  const texts = [operation, path, place, input, attempt, id, mark, author]
  return (
    states.includes(state) &&
    texts.every((text) => typeof text === 'string') &&
    [sentAt, timeout, watched].every(Number.isFinite)
  )
}
