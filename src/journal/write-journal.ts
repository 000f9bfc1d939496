// src/journal keeps a record of each write, so that the write is sent at most once or reported as unconfirmed. It
// imports the client, and other folders do not import it.

import type { SupportWorkspace } from '../client/index.ts'
import { type ClientOptions, changeableChecks, createLog, traced } from '../core/index.ts'
import { checkStorage, type KeyValueStorage } from '../key-value/index.ts'
import type { Actor } from '../shared/actor.ts'
import {
  type Check,
  checkFlag,
  checkFunction,
  checkInteger,
  checkObject,
  checkOneOf,
  checkPositive,
  checkText,
  mustBe,
  readOptions,
} from '../shared/check-options.ts'
import { InvalidArgumentError } from '../shared/errors/index.ts'
import type { FindEffect } from './effects.ts'
import { rememberIdentity } from './identity.ts'
import { Intent, type OnceOptions } from './intent.ts'
import {
  toStored,
  type WriteCheck,
  type WriteEntry,
  type WriteRecord,
  WriteRecords,
  type WriteState,
} from './records.ts'
import { ServiceClock } from './service-clock.ts'
import type { Shared } from './write.ts'

/** The options of a `WriteJournal`. */
export interface WriteJournalOptions<A extends Actor = Actor> {
  /**
   * Client that sends and checks the writes. All its tokens must belong to one organization, so use one journal for
   * each organization.
   */
  readonly workspace: SupportWorkspace<A>
  /**
   * Storage for the records, from `support-workspace-sdk/storage`. All processes that might send the same writes must
   * share it. Use `sqliteStorage` on one machine, and `postgresStorage` or `redisStorage` on several machines.
   */
  readonly storage: KeyValueStorage
  /**
   * How long to keep checking whether an unconfirmed write was applied, in milliseconds after its request has ended.
   * The default is a guess, because the service does not document how long it works on a request after a failure.
   *
   * @default 30_000
   */
  readonly confirmTimeout?: number | undefined
  /**
   * Maximum number of writes in a row that end unconfirmed, for example 5. After that, `once` rejects with the remedy
   * `retry` and the outcome `not-sent`, until it confirms that one of these writes was applied, or the job runs again.
   *
   * @default Infinity
   */
  readonly stopAfter?: number | undefined
  /**
   * Called before each check of an unconfirmed write, for example to show progress during a wait of up to a minute.
   * Errors that it throws are ignored.
   */
  readonly onCheck?: ((check: WriteCheck) => void) | undefined
  /**
   * Where to log that a write is being confirmed, as a warning without its key.
   *
   * @default nothing is logged, or `console` if the environment variable `SUPPORT_WORKSPACE_LOG` names a level
   */
  readonly logger?: ClientOptions['logger']
}

/** The result of a write that was applied. */
export interface WrittenOnce<Data> {
  /** The id of the created or changed object. Absent if it is unknown. */
  readonly id?: string | undefined
  /** What the function returned. Absent if the write was applied before, or its response was lost. */
  readonly data?: Data
}

const journalChecks = {
  workspace: (_, value) => value,
  storage: (_, value) => value,
  confirmTimeout: checkPositive,
  stopAfter: (name, value) => checkInteger(name, value, 1),
  onCheck: checkFunction<NonNullable<WriteJournalOptions['onCheck']>>,
  logger: changeableChecks().logger,
} satisfies Record<keyof WriteJournalOptions, Check<unknown>>

const onceChecks = {
  find: checkFunction<FindEffect>,
  resendIfAbsent: checkFlag,
} satisfies Record<keyof OnceOptions, Check<unknown>>

const listChecks = {
  state: (name, value) => checkOneOf(name, value, ['sending', 'applied', 'unconfirmed']),
} satisfies Record<'state', Check<WriteState>>

/** Records younger than this are kept, in milliseconds, because a process might still need them. */
const youngest = 3_600_000

/**
 * Sends each write at most once, even if the job is retried, runs in several processes, or is killed. The journal saves
 * a record before each write leaves. If there is a record already, it checks whether the service has applied the write,
 * in place of sending it again. If it cannot find out, it throws an `UnconfirmedWriteError`. (With `resendIfAbsent`, a
 * write can be sent twice.)
 *
 * @example
 * const journal = new WriteJournal({ workspace, storage: memoryStorage() })
 * const reply = await journal.once('reply:msg_1', (client) => client.messages.create(id, { body_html: '<p>On it.</p>' }))
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
    if (typeof workspace?.withOptions !== 'function') {
      throw mustBe('a client', 'workspace', workspace, 'Pass a `SupportWorkspace`.')
    }
    const clock = new ServiceClock()
    const reader = workspace.withOptions({ middleware: clock.middleware, fresh: true })
    this.#workspace = workspace
    this.#shared = {
      workspace: reader,
      records: new WriteRecords(checkStorage(given.storage as KeyValueStorage)),
      clock,
      identify: rememberIdentity(reader),
      confirmTimeout: given.confirmTimeout ?? 30_000,
      onCheck: given.onCheck,
      log: createLog(given.logger, undefined),
      stopAfter: given.stopAfter ?? Number.POSITIVE_INFINITY,
      unconfirmed: 0,
    }
  }

  /**
   * Sends one write, if it was not applied before. The function runs each time, because only it knows the write. It
   * must make exactly one call that changes data, through the client that it gets. If the journal knows that the write
   * was applied, it rejects this call in place of sending it, and `once` returns the known result.
   *
   * If an earlier attempt might have been applied, `once` checks it. It first waits as long as the response can still
   * arrive, and then checks for up to `confirmTimeout`. The waiting time of earlier runs counts. If another process is
   * sending the write, `once` waits for its result.
   *
   * The first call asks the service for the organization of the token (`me`). A key belongs to one organization of one
   * service.
   *
   * @param key your name for the write, the same in each run. For example `reply:` and the id of the message that it
   *   answers. The storage and error messages contain the key, so keep secrets out of it.
   * @throws UnconfirmedWriteError (`verify`) if the journal cannot find out whether the write was applied, for example
   *   because an earlier run sent another body.
   * @throws InvalidArgumentError if the key belongs to another write or organization, or if the function makes no write
   *   or more than one. Only the first write is sent, and later runs end the function at that write.
   * @throws WriteJournalError (`retry`) if the storage fails. The remedy is `fix` if the storage breaks its contract.
   * @throws InsufficientScopeError (`reconnect`) if `/me` says that the token cannot read the data that would confirm
   *   the write.
   * @throws the error of the function or its call, which was refused or not sent. The key is then free again, or in the
   *   state before a resend. After `stopAfter` unconfirmed writes the error is a `RequestError` (`retry`, `not-sent`).
   */
  once<Data>(
    key: string,
    write: (workspace: SupportWorkspace<A>) => PromiseLike<Data>,
    options: OnceOptions = {},
  ): Promise<WrittenOnce<Data>> {
    return traced(() => {
      checkText('key', key)
      checkFunction('write', write)
      const intent = new Intent(this.#shared, key, readOptions(options, onceChecks, '`once`'))
      const { middleware } = this.#shared.clock
      const client = this.#workspace.withOptions({ middleware: [middleware, (call, next) => intent.pass(call, next)] })
      return intent.run(() => write(client))
    })
  }

  /** Returns the entry of a write. Undefined if the write was not sent. */
  get(key: string): Promise<WriteEntry | undefined> {
    return traced(async () => {
      const stored = await this.#shared.records.get(checkText('key', key))
      return stored && toEntry(key, stored.record)
    })
  }

  /** Lists the writes, optionally only the writes in one state. The order is not defined. */
  list(filter: { readonly state?: WriteState | undefined } = {}): Promise<readonly WriteEntry[]> {
    return traced(async () => {
      checkObject('filter', filter, "For example `{ state: 'unconfirmed' }`.")
      const { state } = readOptions(filter, listChecks, 'the list of a journal')
      const entries: WriteEntry[] = []
      for await (const [key, { record }] of this.#shared.records.all()) {
        if (state === undefined || record.state === state) entries.push(toEntry(key, record))
      }
      return entries
    })
  }

  /**
   * Records your decision about a write that is `sending` or `unconfirmed`. Pass `applied` if you found its effect.
   * Pass `absent` to let the next `once` send it.
   *
   * **Warning:** With `absent`, the write can happen twice if the process that was sending it still runs. A paused
   * process sends the write when it wakes up. Make sure that the process has ended.
   *
   * @throws InvalidArgumentError if the write is in another state.
   */
  resolve(key: string, as: 'applied' | 'absent'): Promise<void> {
    return traced(async () => {
      checkOneOf('as', as, ['applied', 'absent'])
      const stored = await this.#shared.records.get(checkText('key', key))
      const next = as === 'applied' && stored ? toStored({ ...stored.record, state: 'applied' }) : undefined
      const isOpen = stored !== undefined && stored.record.state !== 'applied'
      if (isOpen && (await this.#shared.records.replace(key, stored, next))) return
      const hint = 'Read it again with `journal.get`.'
      throw new InvalidArgumentError('key', `The write "${key}" is not open, or has just changed.`, hint)
    })
  }

  /**
   * Removes the records of applied writes that are older than `olderThan`, in milliseconds, at least an hour. Returns
   * the number of removed records.
   *
   * **Warning:** The next `once` with a removed key SENDS THE WRITE AGAIN.
   */
  forget(olderThan: number): Promise<number> {
    return traced(async () => {
      checkInteger('olderThan', olderThan, youngest, 'Pass milliseconds, at least an hour.')
      let count = 0
      for await (const [key, stored] of this.#shared.records.all()) {
        const { state, sentAt } = stored.record
        if (state !== 'applied' || sentAt > this.#shared.clock.now() - olderThan) continue
        if (await this.#shared.records.replace(key, stored, undefined)) count += 1
      }
      return count
    })
  }
}

function toEntry(key: string, { state, operation, path, sentAt, id }: WriteRecord): WriteEntry {
  return { key, state, operation, path, sentAt, ...(id !== undefined && { id }) }
}
