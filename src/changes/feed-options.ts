import type { SupportWorkspace } from '../client/index.ts'
import { checkSignal } from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
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
import type { WatchedList } from './change.ts'

/** The options of a `ChangeFeed`. */
export interface ChangeFeedOptions {
  /** Client that reads. Needs `conversations:read` and `messages:read`, and `contacts:read` to watch contacts. */
  readonly workspace: SupportWorkspace
  /** Storage for fingerprints, and for changes until they are acknowledged. These contain the texts of messages. */
  readonly storage: KeyValueStorage
  /**
   * Lists to watch. A list that is added later begins according to `since`.
   *
   * @default ['conversations', 'messages']
   */
  readonly watch?: readonly WatchedList[] | undefined
  /**
   * Where to begin. `now` reports what is created after the service has first answered `/me`, by its own clock,
   * and what changes after the feed has read it. `beginning` reports everything.
   *
   * @default 'now'
   */
  readonly since?: 'now' | 'beginning' | undefined
  /**
   * Pause between two passes, in milliseconds. The feed varies it by a tenth (jitter).
   *
   * @default 30_000
   */
  readonly interval?: number | undefined
  /** Number of passes after which the feed ends, for example 1 under cron or in a queue. Without it, there is no end. */
  readonly passes?: number | undefined
  /**
   * Time in which the messages of each conversation are read once, although its list entry does not change, in
   * milliseconds. `Infinity` for never. It is not known whether a list entry changes with each message.
   *
   * @default 86_400_000 (a day)
   */
  readonly auditEvery?: number | undefined
  /**
   * Lists besides the conversations whose deletions to report. The service cannot be asked for a message or a contact.
   * If a list is capped or filtered, these deletions are invented.
   *
   * @default []
   */
  readonly deletions?: readonly ('messages' | 'contacts')[] | undefined
  /**
   * Maximum number of items of a list that can be missing at once. If more are missing, the feed reports none of them
   * until you call `acceptDeletions`.
   *
   * @default the larger of 5 and a tenth of the list
   */
  readonly maxDeletions?: number | undefined
  /**
   * Names of fields, at any depth, whose changes do not count.
   *
   * @default ['presigned_url', 'profile_picture_url']
   */
  readonly ignore?: readonly string[] | undefined
  /**
   * Name of the feed in the storage. Feeds with the same name share their progress.
   *
   * @default 'feed'
   */
  readonly name?: string | undefined
  /**
   * Number of items on a page.
   *
   * @default 50
   */
  readonly limit?: number | undefined
  /**
   * A secret of at least 32 characters that encrypts what is stored. For rotation, a list of secrets. The first encrypts,
   * and each of them can decrypt.
   *
   * @default nothing is encrypted
   */
  readonly secret?: SealSecret | undefined
  /** Ends the feed. The loop rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** Called when something went wrong that does not end the feed. */
  readonly onProblem?: ((problem: FeedProblem) => void) | undefined
}

/** A problem that does not end a feed. */
export interface FeedProblem {
  /** What went wrong. */
  readonly error: unknown
  /** Time until the feed tries again, in milliseconds. Undefined if it goes on. */
  readonly retryIn?: number | undefined
  /** The conversation whose list entry or messages could not be read. The feed tries again, or skips it until the next pass. */
  readonly conversationId?: string | undefined
}

/** What a feed has done since its object was created. */
export interface FeedStatus {
  /** Number of passes that have ended. */
  readonly passes: number
  /** When the last complete pass ended, also in an earlier process, in milliseconds since the Unix epoch. */
  readonly completedAt: number | undefined
  /** Time since the last complete pass, in milliseconds. If it grows, the feed is stuck or too slow. */
  readonly age: number | undefined
  /** Number of requests to the service. */
  readonly requests: number
  /** Number of acknowledged changes. */
  readonly changes: number
  /** Number of changes of messages that only the audit found. If it grows, list entries do not show every message. */
  readonly foundByAudit: number
  /** Number of rows that another process has replaced first. */
  readonly conflicts: number
  /** Number of changes that `skip` has acknowledged. */
  readonly skipped: number
  /** Number of missing items whose deletions are held back, by list. */
  readonly heldDeletions: Readonly<Partial<Record<WatchedList, number>>>
}

/** What a feed counts. */
export type Counts = { -readonly [Name in Exclude<keyof FeedStatus, 'age'>]: FeedStatus[Name] }

const checkNames =
  <Value extends string>(check: Check<Value>): Check<readonly Value[]> =>
  (name, value) => {
    if (!Array.isArray(value)) throw mustBe('an array', name, value, 'Pass an array of names.')
    // A copy has no holes, which `map` would leave unchecked.
    return [...value].map((each) => check(name, each))
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

/** The options of a feed with their defaults. */
export type FeedSettings = ReturnType<typeof readSettings>

/** @throws InvalidArgumentError if an option is invalid */
export function readSettings(options: ChangeFeedOptions) {
  checkObject('options', options, 'Pass at least `workspace` and `storage`.')
  const given = readOptions(options, checks, 'a change feed')
  checkMethods('workspace', options.workspace, ['withOptions'], 'Pass a `SupportWorkspace`.')
  const { workspace, watch = ['conversations', 'messages'], deletions = [] } = options
  if (watch.length === 0) throw new InvalidArgumentError('watch', '`watch` is empty.', 'Pass the names of lists.')
  // Messages are found through their conversations.
  const lists = (['conversations', 'contacts'] as const).filter(
    (list) => watch.includes(list) || (list === 'conversations' && watch.includes('messages')),
  )
  return {
    ...{ workspace, lists, storage: checkStorage(options.storage), name: given.name ?? 'feed' },
    ...{ signal: given.signal, onProblem: given.onProblem, maxDeletions: given.maxDeletions },
    ...{ watch: new Set<WatchedList>(watch), deletions: new Set<WatchedList>(deletions) },
    ...{ since: given.since ?? 'now', interval: given.interval ?? 30_000, limit: given.limit ?? 50 },
    ignore: given.ignore ?? ['presigned_url', 'profile_picture_url'],
    auditEvery: given.auditEvery ?? 86_400_000,
    passes: given.passes ?? Number.POSITIVE_INFINITY,
    texts: storedTexts(given.secret, 'change feed'),
  }
}
