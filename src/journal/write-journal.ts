// src/journal keeps a record of each write, so that a job can run again and each of its writes is sent at most once. It
// imports the client. No other folder except the entry points imports the journal.

import { type SupportWorkspace, TokenIdentities } from '../client/index.ts'
import { type ClientOptions, changeableChecks, createLog } from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import type { Actor } from '../shared/actor.ts'
import { bindMethods } from '../shared/bind-methods.ts'
import {
  type Check,
  checkFlag,
  checkFunction,
  checkInteger,
  checkObject,
  checkOneOf,
  checkPositive,
  checkText,
  readOptions,
} from '../shared/check-options.ts'
import { checkMethods, checkStorage, type KeyValueStorage } from '../storage/interface.ts'
import type { FindEffect } from './effects.ts'
import { Intent, type OnceOptions } from './intent.ts'
import { type WriteJournalError, WriteResolvedError, type WriteState } from './journal-errors.ts'
import { type WriteCheck, type WriteEntries, type WriteEntry, type WriteRecord, WriteRecords } from './records.ts'
import { ServiceClock } from './service-clock.ts'
import type { Shared } from './write.ts'

/** The options of a `WriteJournal`. */
export interface WriteJournalOptions<A extends Actor = Actor> {
  /**
   * Client that sends and checks the writes. A key belongs to one organization, so put the organization into the keys
   * if the client's token can be of several.
   */
  readonly workspace: SupportWorkspace<A>
  /**
   * Storage for the records, from `support-workspace-sdk/storage`. All processes that can send the same writes must
   * share the storage: use `sqliteStorage` on one machine, and `postgresStorage` or `redisStorage` on several.
   */
  readonly storage: KeyValueStorage
  /**
   * How long to keep checking whether an unconfirmed write was applied, in milliseconds, counted from the end of its
   * attempt. The default is a guess, because the service does not document how long it works on a request after a
   * failure.
   *
   * @default 30_000
   */
  readonly confirmTimeout?: number | undefined
  /**
   * Number of unconfirmed writes in a row after which this journal stops sending, for example 5. Further calls of
   * `once` reject with a `RequestError` (`retry`, `not-sent`) until the journal confirms one of the writes, a person
   * resolves one, or the job creates a new journal.
   *
   * @default no limit
   */
  readonly stopAfter?: number | undefined
  /**
   * Called before each check of an unconfirmed write, for example to show progress: a wait can take a minute. Errors
   * that the function throws are ignored.
   */
  readonly onCheck?: ((check: WriteCheck) => void) | undefined
  /**
   * Logger that gets a warning when the journal begins to check a write. The warning does not contain the key.
   *
   * @default no logger, or `console` if the environment variable `SUPPORT_WORKSPACE_LOG` names a level
   */
  readonly logger?: ClientOptions['logger']
  /**
   * Where the records of approvals are, instead of a `storage`. A lost write is then checked by later calls of `once`
   * only, and one time each, so that none of them waits.
   *
   * @internal
   */
  readonly entries?: WriteEntries | undefined
}

/** The options of `journal.list`. */
export interface ListWritesOptions {
  /**
   * The state of the writes.
   *
   * @default all
   */
  readonly state?: WriteState | undefined
  /**
   * Called for each write whose record cannot be read, with an error that has its `key`. The list is without them.
   *
   * @default `list` throws the first of these errors
   */
  readonly onUnreadable?: ((error: WriteJournalError) => void) | undefined
}

/** The result of `once`: the write was applied. */
export interface WrittenOnce<Data> {
  /** The id of the created or changed item. Absent if the response or the found item has none. */
  readonly id?: string | undefined
  /** The return value of your function. Absent if an earlier run applied the write, or the response was lost. */
  readonly data?: Data
}

const journalChecks = {
  workspace: (_, value) => value,
  storage: (_, value) => value,
  confirmTimeout: checkPositive,
  stopAfter: (name, value) => checkInteger(name, value, 1),
  onCheck: checkFunction<NonNullable<WriteJournalOptions['onCheck']>>,
  logger: changeableChecks().logger,
  entries: (_, value) => value as WriteEntries,
} satisfies Record<keyof WriteJournalOptions, Check<unknown>>

const onceChecks = {
  before: checkFunction<NonNullable<OnceOptions['before']>>,
  answers: checkText,
  known: (_, value) => value as readonly string[],
  beforeCheck: checkFunction<NonNullable<OnceOptions['beforeCheck']>>,
  find: checkFunction<FindEffect>,
  resendIfAbsent: checkFlag,
} satisfies Record<keyof OnceOptions, Check<unknown>>

const listChecks = {
  state: (name, value) => checkOneOf(name, value, ['sending', 'applied', 'unconfirmed']),
  onUnreadable: checkFunction<NonNullable<ListWritesOptions['onUnreadable']>>,
} satisfies Record<keyof ListWritesOptions, Check<unknown>>

/** Minimum for `forget`, in milliseconds, because a process that is still running can need younger records. */
const youngest = 3_600_000

/**
 * Sends each write at most once, even if the job is retried, runs in several processes, or is killed. Saves a record
 * before each write. If there is a record already, checks the service instead of sending again, and throws
 * `UnconfirmedWriteError` if it cannot tell. (With `resendIfAbsent`, a write can be sent twice.)
 *
 * @example
 * const journal = new WriteJournal({ workspace, storage: memoryStorage() })
 * const body_html = '<p>On it.</p>'
 * const reply = await journal.once('reply:msg_1', (client) => client.messages.create(conversationId, { body_html }))
 * console.log(reply.id)
 */
export class WriteJournal<A extends Actor = Actor> {
  readonly #workspace: SupportWorkspace<A>
  readonly #shared: Shared

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: WriteJournalOptions<A>) {
    checkObject('options', options, 'Pass at least `workspace` and `storage`.')
    const { workspace } = options
    const given = readOptions(options, journalChecks, 'a journal')
    checkMethods('workspace', workspace, ['withOptions'], 'Pass a `SupportWorkspace`.')
    const clock = new ServiceClock()
    const reader = workspace.withOptions({ middleware: clock.middleware, fresh: true })
    this.#workspace = workspace
    this.#shared = {
      workspace: reader,
      records: given.entries ? new WriteRecords(given.entries) : WriteRecords.in(checkStorage(given.storage as never)),
      clock,
      identities: new TokenIdentities(reader),
      isHasty: given.entries !== undefined,
      confirmTimeout: given.confirmTimeout ?? 30_000,
      onCheck: given.onCheck,
      log: createLog(given.logger, undefined),
      stopAfter: given.stopAfter ?? Number.POSITIVE_INFINITY,
      unconfirmed: 0,
    }
    bindMethods(this)
  }

  /**
   * Sends one write if it was not applied before. The journal runs the function each time, because only the function
   * knows the write. The function must make exactly one call that changes data, through the client that it receives. If
   * an earlier run applied the write, this call rejects inside the function before it is sent, and `once` returns the
   * id from the record.
   *
   * If an earlier attempt is unconfirmed, `once` first waits as long as its response can still come. Then it checks the
   * service for up to `confirmTimeout`. The time that earlier runs have waited counts. If another process is sending
   * the write, waits for its result.
   *
   * The first call asks the service for the organization of the token (`me`). A key belongs to one organization of one
   * service.
   *
   * @param key your name for the write, which must be the same in each run, for example `reply:` and the id of the
   *   message that you answer. The storage keeps the key as plain text, so put no secrets into it, and an email address
   *   only if the storage is allowed to have it.
   * @throws UnconfirmedWriteError (`verify`) if the journal cannot find out whether the write was applied, for example
   *   because an earlier run sent another body.
   * @throws InvalidArgumentError if the key belongs to another write or organization, or approvals on the same storage
   *   hold it. Nothing was sent.
   * @throws SupportWorkspaceError (`fix`), without an outcome, if the function makes no write with the client that it
   *   gets, does not await it, or makes more than one. Only the first write is sent.
   * @throws WriteJournalError (`retry`) if the storage fails; `fix` if the storage violates the contract of
   *   `KeyValueStorage`.
   * @throws InsufficientScopeError (`reconnect`) if `/me` says that the token lacks a scope to read what the write
   *   changes.
   * @throws the error of the function or of its call, if the call was rejected or not sent. You can use the key again.
   *   If the call repeated an unconfirmed write, that write stays unconfirmed. After `stopAfter` unconfirmed writes,
   *   the error is a `RequestError` (`retry`, `not-sent`).
   */
  async once<Data>(
    key: string,
    write: (client: SupportWorkspace<A>) => PromiseLike<Data>,
    options: OnceOptions = {},
  ): Promise<WrittenOnce<Data>> {
    checkText('key', key)
    checkFunction('write', write)
    const intent = new Intent(this.#shared, key, readOptions(options, onceChecks, '`once`'))
    const { middleware } = this.#shared.clock
    const client = this.#workspace.replaceOptions(({ middleware: others = [], guard }) => {
      if (guard !== undefined) throw nested()
      return { middleware: [others, middleware, intent.guard.middleware].flat(), guard: intent.guard }
    })
    return intent.run(() => write(client))
  }

  /** Returns the record of a write. Undefined if the journal has none. */
  async get(key: string): Promise<WriteEntry | undefined> {
    const stored = await this.#shared.records.get(checkText('key', key))
    return stored && toEntry(key, stored)
  }

  /**
   * Lists all writes, or only the writes in one state, in no particular order.
   *
   * @throws WriteJournalError if the storage fails, or if a record is damaged and there is no `onUnreadable`
   */
  async list(options: ListWritesOptions = {}): Promise<readonly WriteEntry[]> {
    checkObject('options', options, "For example `{ state: 'unconfirmed' }`.")
    const { state, onUnreadable } = readOptions(options, listChecks, 'the list of a journal')
    const entries: WriteEntry[] = []
    for await (const [key, record] of this.#shared.records.all(onUnreadable)) {
      if (state === undefined || record.state === state) entries.push(toEntry(key, record))
    }
    return entries
  }

  /**
   * Records your decision about an unconfirmed write: `applied`, or `absent` to let the next `once` send it. Also works
   * for a write that is `sending`. Use `absent` only after the process that was sending the write has ended, because a
   * stopped process could still send the write when it wakes up.
   *
   * @throws InvalidArgumentError if the journal has no record of the key
   * @throws WriteResolvedError if the write is `applied`, or another process has just changed its record
   */
  async resolve(key: string, as: 'applied' | 'absent'): Promise<void> {
    checkOneOf('as', as, ['applied', 'absent'])
    const stored = await this.#shared.records.get(checkText('key', key))
    const changedAt = this.#shared.clock.now()
    const next = as === 'applied' && stored ? ({ ...stored, state: 'applied', changedAt } as const) : undefined
    if (stored === undefined) {
      const problem = `The journal has no record of the write "${key}".`
      throw new InvalidArgumentError('key', problem, '`journal.list` shows the writes.')
    }
    if (stored.state === 'applied') throw new WriteResolvedError(key, stored)
    if (!(await this.#shared.records.replace(key, stored, next)))
      throw new WriteResolvedError(key, await this.#shared.records.get(key))
    this.#shared.unconfirmed = 0
  }

  /**
   * Removes the records of writes that are applied for longer than `olderThan`, and returns their number. **Warning:** after
   * this, the next `once` with the key of a removed record sends the write again.
   *
   * Keeps a record while an unconfirmed write could be mistaken for it. The journal cannot read approvals with a
   * `secret`, so next to them, the records of all new items stay.
   *
   * @param olderThan an age in milliseconds, at least 3_600_000 (an hour)
   */
  async forget(olderThan: number): Promise<number> {
    checkInteger('olderThan', olderThan, youngest, 'Pass milliseconds, at least an hour.')
    const last = this.#shared.clock.now() - olderThan
    const old: (readonly [string, WriteRecord])[] = []
    const { records } = this.#shared
    // The marks of writes that could be confirmed by the effect of another one if its record was gone.
    const open = new Set<string | undefined>()
    // A record that cannot be read stays, and keeps no other one.
    for await (const entry of records.all(() => {})) {
      const { state, sentAt, changedAt = sentAt, mark } = entry[1]
      if (state !== 'applied') open.add(mark)
      else if (changedAt <= last) old.push(entry)
    }
    let isUnclear = false
    const onUnreadable = () => {
      isUnclear = true
    }
    for await (const { state, mark } of records.foreign(onUnreadable)) if (state !== 'applied') open.add(mark)
    // The oldest first: a job may send one write because of the record of an earlier one.
    old.sort(([, one], [, other]) => one.sentAt - other.sentAt)
    let count = 0
    for (const [key, stored] of old) {
      const isNeeded = stored.mark !== undefined && (isUnclear || open.has(stored.mark))
      if (!isNeeded && (await records.replace(key, stored, undefined))) count += 1
    }
    return count
  }
}

function toEntry(key: string, { state, operation, path, sentAt, id }: WriteRecord): WriteEntry {
  return { key, state, operation, path, sentAt, ...(id !== undefined && { id }) }
}

/** Only one journal can run its guard around a write. */
function nested(): InvalidArgumentError {
  return new InvalidArgumentError(
    'workspace',
    'The client of this journal comes from `once` of another journal.',
    'Create the journal with a client from outside of `once`.',
  )
}
