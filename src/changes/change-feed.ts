import { checkSignal } from '../core/index.ts'
import { bindMethods } from '../shared/bind-methods.ts'
import {
  type Check,
  checkFunction,
  checkInteger,
  checkMilliseconds,
  checkObject,
  checkOneOf,
  checkPositive,
  checkText,
  mustBe,
  readOptions,
} from '../shared/check-options.ts'
import type { SealSecret } from '../shared/seal.ts'
import { checkMethods, checkStorage, type KeyValueStorage, storedTexts } from '../storage/interface.ts'
import type { Change, WatchedList } from './change.ts'
import type { ChangeFeedOptions, Counts, FeedSettings, FeedStatus } from './feed-options.ts'
import { acknowledge, openRecords, type Progress, type Records } from './records.ts'
import { Run } from './run.ts'
import { Work } from './work.ts'

const checkNames =
  <Value extends string>(check: Check<Value>): Check<readonly Value[]> =>
  (name, value) => {
    if (!Array.isArray(value)) throw mustBe('an array', name, value, 'Pass an array of names.')
    return value.map((each) => check(name, each))
  }

const checks = {
  workspace: (_, value) => value as ChangeFeedOptions['workspace'],
  storage: (_, value) => value as KeyValueStorage,
  watch: checkNames((name, value) => checkOneOf(name, value, ['conversations', 'messages', 'contacts'])),
  since: (name, value) => checkOneOf(name, value, ['now', 'beginning']),
  interval: checkMilliseconds,
  passes: (name, value) => (value === Number.POSITIVE_INFINITY ? value : checkInteger(name, value, 1)),
  auditEvery: checkPositive,
  deletions: checkNames((name, value) => checkOneOf(name, value, ['messages', 'contacts'])),
  maxDeletions: (name, value) => checkInteger(name, value, 0),
  ignore: checkNames(checkText),
  name: checkText,
  limit: (name, value) => checkInteger(name, value, 1),
  secret: (_, value) => value as SealSecret,
  signal: checkSignal,
  onProblem: checkFunction<NonNullable<ChangeFeedOptions['onProblem']>>,
} satisfies Record<keyof ChangeFeedOptions, Check<unknown>>

/**
 * Reports what changes in a workspace, for a service without webhooks. Reads its lists repeatedly, and compares them with
 * fingerprints in a storage.
 *
 * - A state of a conversation or contact is reported at least once if a pass reads it, and a state of a message if a
 *   reading of its conversation sees it. States between two readings can be missed.
 * - Asking for the next change acknowledges the one before. A change that was not acknowledged comes again, with the
 *   same `key`.
 * - A conversation is reported as deleted only after two complete passes without it, and a 404 for its messages.
 *
 * The guide "Watch for changes" has the promises and the limits in full.
 *
 * @example
 * const feed = new ChangeFeed({ workspace, storage: memoryStorage(), since: 'beginning', passes: 1 })
 * for await (const change of feed) console.log(change.resource, change.kind, change.id)
 */
export class ChangeFeed implements AsyncIterable<Change> {
  readonly #settings: FeedSettings
  readonly #records: Records
  readonly #skipped = new Set<string>()
  readonly #counts: Counts = {
    ...{ passes: 0, completedAt: undefined, requests: 0, changes: 0 },
    ...{ foundByAudit: 0, conflicts: 0, skipped: 0, heldDeletions: {} },
  }

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: ChangeFeedOptions) {
    checkObject('options', options, 'Pass at least `workspace` and `storage`.')
    const given = readOptions(options, checks, 'a change feed')
    checkMethods('workspace', options.workspace, ['withOptions'], 'Pass a `SupportWorkspace`.')
    const { watch = ['conversations', 'messages'], deletions = [] } = given
    const storage = checkStorage(options.storage)
    const texts = storedTexts(given.secret, 'change feed')
    this.#records = openRecords(storage, given.name ?? 'feed', texts, new Set(watch))
    this.#settings = {
      workspace: options.workspace,
      ...{ signal: given.signal, onProblem: given.onProblem, maxDeletions: given.maxDeletions },
      ...{ watch: new Set<WatchedList>(watch), deletions: new Set<WatchedList>(deletions) },
      ...{ since: given.since ?? 'now', interval: given.interval ?? 30_000, limit: given.limit ?? 50 },
      ignore: given.ignore ?? ['presigned_url', 'profile_picture_url'],
      auditEvery: given.auditEvery ?? 86_400_000,
      passes: given.passes ?? Number.POSITIVE_INFINITY,
    }
    bindMethods(this)
  }

  /**
   * Reads the workspace and yields its changes. Each loop begins with what was not acknowledged.
   *
   * @throws ChangeFeedError if an entry of the storage is damaged. A storage that is not reachable is waited for.
   * @throws RequestError if the remedy is `reconnect` or `fix`. With `retry`, the feed waits and goes on.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, undefined> {
    yield* new Run(new Work(this.#settings, this.#records, this.#counts), this.#skipped).changes()
  }

  /**
   * Acknowledges a change that cannot be handled, so that it does not come again and block the changes behind it.
   *
   * @param key the `key` of the change
   * @returns whether the change was there
   * @throws ChangeFeedError if the storage failed.
   */
  async skip(key: string): Promise<boolean> {
    const isThere = await acknowledge(this.#records, checkText('key', key))
    this.#skipped.add(key)
    if (isThere) this.#counts.skipped += 1
    return isThere
  }

  /**
   * Lets the deletions through that the last complete pass held back, because more than `maxDeletions` items were
   * missing. The next complete pass reports them, if no more are missing by then.
   *
   * @throws ChangeFeedError if the storage failed.
   */
  async acceptDeletions(): Promise<void> {
    const accept = (now: Progress | undefined) => ({ write: now && { ...now, accepted: now.held }, result: undefined })
    await this.#records.progress.change('', accept)
  }

  /** Returns what the feed has done since this object was created. */
  status(): FeedStatus {
    const { completedAt, heldDeletions } = this.#counts
    const held = Object.fromEntries(Object.entries(heldDeletions).filter(([, count]) => count > 0))
    return {
      ...this.#counts,
      age: completedAt === undefined ? undefined : Date.now() - completedAt,
      heldDeletions: held,
    }
  }
}
