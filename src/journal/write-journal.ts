// src/journal keeps a record of each write, so that it happens once or says that nobody knows. It imports the client; nothing
// imports it.

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
   * The client that the writes are sent with, and looked for. All its tokens belong to one organization, which is asked for
   * once: use a journal for each.
   */
  readonly workspace: SupportWorkspace<A>
  /**
   * Where the records are kept: a storage of `support-workspace-sdk/storage`. All processes that may send the same writes share
   * it: `sqliteStorage` on one machine, `postgresStorage` or `redisStorage` on many.
   */
  readonly storage: KeyValueStorage
  /**
   * How long an effect may show after its request has ended, in milliseconds. Until then, looking for it is repeated. The
   * default is a guess, because how long the service works on a request after a failure is not documented.
   *
   * @default 30_000
   */
  readonly confirmTimeout?: number | undefined
  /**
   * How many writes of this journal may end unconfirmed in a row. After that `once` sends nothing and rejects (`retry`,
   * `not-sent`), until it finds that one of them was applied, or the job runs again. A job sets it, for example, to 5.
   *
   * @default Infinity
   */
  readonly stopAfter?: number | undefined
  /**
   * Called before each check of a write that may have been applied, so that a wait of up to a minute does not look like a
   * hang. Errors that it throws are ignored.
   */
  readonly onCheck?: ((check: WriteCheck) => void) | undefined
  /**
   * Where to log that a write is being confirmed, as a warning without its key.
   *
   * @default nothing is logged, or `console` if the environment variable `SUPPORT_WORKSPACE_LOG` names a level
   */
  readonly logger?: ClientOptions['logger']
}

/** What is known of a write that was applied. */
export interface WrittenOnce<Data> {
  /** The id of what was created or changed, if there is one. */
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

/** Younger records are never forgotten, in milliseconds: a process may still be about to ask for them. */
const youngest = 3_600_000

/**
 * A journal of writes, each of which happens once, or is reported as unconfirmed: across retries of a job, several processes,
 * and processes that are killed. The record of a write is in the storage when its request leaves. A write that may have been
 * applied is looked for, and never sent again on its own.
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
   * Sends one write, unless it was applied before. The function runs each time, because only it knows the write: it makes
   * exactly one call that changes something, through the client that it is given. If the journal knows that the write was
   * applied, the call is not sent: it rejects, and `once` returns what is known.
   *
   * If the write may have been applied, by this process or one that was killed, `once` looks for it: up to `confirmTimeout`, and
   * before that as long as the response may still come. Time that earlier runs have waited counts. While another process sends
   * it, `once` waits for what comes of it.
   *
   * The first call asks the service for the organization of the token (`me`). A key belongs to one organization of one service.
   *
   * @param key your name for the write, the same in each run: `reply:` and the id of the message that it answers. Not a
   *   secret. Email addresses in it are stored.
   * @throws UnconfirmedWriteError (`verify`) if nobody can say whether the write was applied, for example because an earlier run
   *   sent another body.
   * @throws InvalidArgumentError if the key belongs to another write or organization, or the function sends none or two. Of two,
   *   the first is sent, and in the runs after that the function ends there.
   * @throws WriteJournalError (`retry`) if the storage fails; `fix` if it does not do what its interface says.
   * @throws InsufficientScopeError (`reconnect`) if `/me` says that the token cannot read what would confirm the write.
   * @throws the error of the function or its call, which was refused or not sent. The key is free again, or what it was before a
   *   write was repeated. After `stopAfter` unconfirmed writes it is a `RequestError` (`retry`, `not-sent`).
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

  /** Returns what is known of a write; undefined if it was not sent. */
  get(key: string): Promise<WriteEntry | undefined> {
    return traced(async () => {
      const stored = await this.#shared.records.get(checkText('key', key))
      return stored && toEntry(key, stored.record)
    })
  }

  /** Lists the writes, or those in one state, in no particular order. */
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
   * Decides about a write that is `sending` or `unconfirmed`: it was `applied`, or its effect is `absent`, so that the next `once`
   * sends it. Use `absent` only if the process that was sending it has ended: one that is stopped sends when it wakes up.
   *
   * @throws InvalidArgumentError if the write is not open.
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
   * Removes the records of applied writes that are older than a time in milliseconds, at least an hour. Returns how many. A
   * write whose key is forgotten IS SENT AGAIN by the next `once`.
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
