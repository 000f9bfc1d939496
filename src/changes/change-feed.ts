import { sleep, throwIfAborted } from '../shared/abort.ts'
import { bindMethods } from '../shared/bind-methods.ts'
import { checkText, longestTimer } from '../shared/check-options.ts'
import type { Entries } from '../storage/interface.ts'
import type { Change } from './change.ts'
import {
  type ChangeFeedOptions,
  type Counts,
  type FeedSettings,
  type FeedStatus,
  readSettings,
} from './feed-options.ts'
import { fingerprints } from './fingerprints.ts'
import { Pass } from './pass.ts'
import { Reader } from './reader.ts'
import { acknowledge, type Outbox, openRecords, type Progress, partsOf, type Records } from './records.ts'
import { Rows } from './rows.ts'
import { runPass } from './run-pass.ts'

/**
 * Reports what changes in a workspace, for a service without webhooks. Reads its lists repeatedly, and compares them with
 * fingerprints in a storage. Asking for the next change acknowledges the one before. A change that was not acknowledged
 * comes again, with the same `key`. The guide "Watch for changes" has the promises and the limits in full.
 *
 * @example
 * const feed = new ChangeFeed({ workspace, storage: memoryStorage(), since: 'beginning', passes: 1 })
 * for await (const change of feed) console.log(change.resource, change.kind, change.id)
 */
export class ChangeFeed implements AsyncIterable<Change> {
  readonly #settings: FeedSettings
  readonly #records: Records
  readonly #counts: Counts = {
    ...{ passes: 0, completedAt: undefined, requests: 0, changes: 0 },
    ...{ foundByAudit: 0, conflicts: 0, skipped: 0, heldDeletions: {} },
  }

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: ChangeFeedOptions) {
    this.#settings = readSettings(options)
    this.#records = openRecords(this.#settings)
    bindMethods(this)
  }

  /**
   * Reads the workspace and yields its changes. Each loop begins with what was not acknowledged.
   *
   * @throws ChangeFeedError if an entry of the storage is damaged. A storage that is not reachable is waited for.
   * @throws RequestError if the remedy is `reconnect` or `fix`. With `retry`, the feed waits and goes on.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, undefined> {
    const [settings, records, counts] = [this.#settings, this.#records, this.#counts]
    const { ignore, interval, lists, passes, signal } = settings
    const reader = new Reader(settings, counts)
    const open = (list: 'conversations' | 'contacts') => new Rows(records[list], reader, counts)
    const rows = { conversations: open('conversations'), contacts: open('contacts') }
    const feed = { settings, records, counts, reader, rows, printOf: fingerprints(ignore) }
    await reader.identify()
    for (const list of lists) await reader.patiently(() => rows[list].load())
    for (let pass = 1; pass <= passes; pass += 1) {
      throwIfAborted(signal)
      yield* runPass(await Pass.begin(feed, reader.place))
      if (pass < passes) await sleep(Math.min(longestTimer, interval * (0.9 + Math.random() / 5)), signal)
    }
  }

  /**
   * Acknowledges a change that cannot be handled, so that it does not come again and block the changes behind it.
   *
   * @param key the `key` of the change
   * @returns whether the change was there
   * @throws ChangeFeedError if the storage failed.
   */
  async skip(key: string): Promise<boolean> {
    const { resource, owner } = partsOf(checkText('key', key)) ?? {}
    if (resource === undefined || owner === undefined) return false
    const { isThere } = await acknowledge(this.#records[resource] as Entries<Outbox>, owner, key)
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
    const accept = (now: Progress | undefined) => ({ write: now && { ...now, isAccepted: true }, result: undefined })
    await this.#records.progress.change('', accept)
  }

  /** Returns what the feed has done since this object was created. */
  status(): FeedStatus {
    const { completedAt } = this.#counts
    return { ...this.#counts, age: completedAt === undefined ? undefined : Date.now() - completedAt }
  }
}
