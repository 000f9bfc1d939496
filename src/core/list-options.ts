import { InvalidArgumentError } from '../errors/index.ts'
import {
  type Check,
  type Checked,
  checkFlag,
  checkInteger,
  checkObject,
  checkOneOf,
  checkPlain,
  readOptions,
} from '../shared/check-options.ts'
import { namingCall } from './call.ts'
import { type CapturedCall, callChecks, captureCall, isGiven, type PreparedCall } from './input.ts'
import { isCustom, type Operation, type OperationInput } from './operation.ts'
import type { CallOptions } from './options.ts'
import type { ClientSettings } from './settings.ts'

/** A position in a list, from which `resumeFrom` continues. Plain JSON. */
export interface Checkpoint {
  /** The cursor to continue after, or null at the start and at the end of the list. An opaque text of the service. */
  readonly cursor: string | null
  /** Whether the list is finished: it has no further page in its direction. */
  readonly done: boolean
}

/** The options of a list call. They are read when the list is called. Timeouts and retries apply to each page. */
export interface ListOptions extends CallOptions {
  /**
   * The direction of paging: `forward` follows `after`, `backward` follows `before`. In either direction, the list
   * starts at the cursor in the query.
   *
   * @default 'backward' if the query has `before`, otherwise 'forward'
   */
  readonly direction?: 'forward' | 'backward' | undefined
  /**
   * Where to resume: the `checkpoint` of a page of this list. Null and `{ cursor: null, done: false }` mean the start.
   * Iterating a list that is `done` ends at once without a request. Awaiting its first page rejects with an
   * `InvalidArgumentError`.
   *
   * Pass the same query and `direction` as before, without `after` and `before`. A list that started at a `before`
   * needs `direction: 'backward'` to resume.
   *
   * If the service no longer accepts the cursor, the list rejects with a `CursorRejectedError`.
   *
   * @default the start of the list, or the cursor in the query
   */
  readonly resumeFrom?: Checkpoint | null | undefined
  /**
   * Maximum number of items in total.
   *
   * @default no maximum
   */
  readonly maxItems?: number | undefined
  /**
   * Whether to fetch the next page while you process the current one, starting with the second page. If a prefetched
   * page has failed by the time the loop reaches it, the page is fetched again, unless the `remedy` of the error is
   * another than `retry`.
   *
   * @default true
   */
  readonly prefetch?: boolean | undefined
}

const ownChecks = {
  direction: (name, value) => checkOneOf(name, value, ['forward', 'backward']),
  maxItems: (name, value) => checkInteger(name, value, 0),
  prefetch: checkFlag,
  resumeFrom: copyCheckpoint,
} satisfies Record<Exclude<keyof ListOptions, keyof CallOptions>, Check<unknown>>

// Bundlers remove an unused `Object.assign` that is marked as pure, but not a spread.
const listChecks: typeof callChecks & typeof ownChecks = /* @__PURE__ */ Object.assign({}, callChecks, ownChecks)

/** Checked and copied arguments of a list. */
export interface ListArguments {
  /** The call for each page, without its cursor. */
  readonly call: PreparedCall
  /** The cursor to follow from page to page. */
  readonly follows: 'after' | 'before'
  readonly maxItems: number
  readonly prefetch: boolean
  /** Where to start, if not at the cursor in the query. */
  readonly resumeFrom: Checkpoint | null | undefined
}

/**
 * Checks and copies the arguments of a list. Must run before the first await.
 *
 * @throws InvalidArgumentError
 */
export function readListArguments(
  operation: Operation,
  input: OperationInput,
  options: ListOptions | undefined,
  settings: ClientSettings,
): ListArguments & CapturedCall {
  const { direction, maxItems, prefetch, resumeFrom, ...callOptions } = readListOptions(options)
  const { call, checked } = captureCall(operation, input, callOptions, settings)
  checkListQuery(call, resumeFrom)
  const isBackward = direction === undefined ? isGiven(call.query.before) : direction === 'backward'
  return {
    call,
    checked,
    follows: isBackward ? 'before' : 'after',
    maxItems: maxItems ?? Number.POSITIVE_INFINITY,
    prefetch: prefetch ?? true,
    resumeFrom,
  }
}

function readListOptions(options: ListOptions | undefined): Partial<Checked<typeof listChecks>> {
  return options === undefined ? {} : readOptions(checkPlain('options', options), listChecks, 'a list')
}

export function readMaxItems(options: Pick<ListOptions, 'maxItems'>, { id }: Operation): number | undefined {
  try {
    return readOptions(options, { maxItems: ownChecks.maxItems }, '`toArray`').maxItems
  } catch (thrown) {
    throw namingCall(thrown, id)
  }
}

/** Rejects combinations that a list does not support, and options in the query, where they would be ignored. */
function checkListQuery({ operation, query }: PreparedCall, resumeFrom: Checkpoint | null | undefined): void {
  const misplaced = Object.keys(listChecks).find((name) => query[name] !== undefined)
  if (misplaced !== undefined && !isCustom(operation)) {
    throw new InvalidArgumentError(
      misplaced,
      `\`${misplaced}\` is an option of the list, not a query parameter.`,
      'Pass it in the options, after the query. A query parameter of this name goes into `extraQuery`.',
    )
  }
  if (isGiven(query.limit)) checkInteger('limit', query.limit, 1, "Leave it out for the service's default.")
  const [cursor, second] = ['after', 'before'].filter((name) => isGiven(query[name]))
  if (second !== undefined) {
    throw new InvalidArgumentError(
      'before',
      '`after` and `before` cannot be combined.',
      'Pass the cursor to start from, and set `direction` in the options.',
    )
  }
  if (cursor !== undefined && resumeFrom !== undefined) {
    throw new InvalidArgumentError(
      'resumeFrom',
      `\`resumeFrom\` and \`${cursor}\` cannot be combined.`,
      'Leave the cursor out of the query: the list starts at `resumeFrom`.',
    )
  }
}

const checkpointHint =
  'Pass the `checkpoint` of a page unchanged, after `JSON.parse` if you store text. A cursor alone is `{ cursor, done: false }`.'

/**
 * Copies a checkpoint, which can come from a file or a database of the caller.
 *
 * @throws InvalidArgumentError if it differs from the checkpoints of pages.
 */
function copyCheckpoint(name: string, given: unknown): Checkpoint | null {
  if (given === null) return null
  checkObject(name, given, checkpointHint)
  const { cursor, done, ...rest } = given as Partial<Record<string, unknown>>
  const isText = typeof cursor === 'string' && cursor !== ''
  const isCheckpoint = typeof done === 'boolean' && (cursor === null || (isText && !done))
  if (isCheckpoint && Object.keys(rest).length === 0) return { cursor, done }
  throw new InvalidArgumentError(name, `\`${name}\` is not the checkpoint of a page.`, checkpointHint)
}
