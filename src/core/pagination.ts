import { forwardAbort, throwIfAborted } from '../shared/abort.ts'
import { checkInteger, checkOptions } from '../shared/check-options.ts'
import { CursorRejectedError, InvalidArgumentError, PaginationError, RequestError } from '../shared/errors/index.ts'
import type { JsonObject } from '../shared/json.ts'
import { notify } from '../shared/notify.ts'
import type { WebAbortSignal } from '../shared/web-types.ts'
import { Call, type Received } from './call.ts'
import { abandoned } from './call-record.ts'
import type { Locate } from './caller.ts'
import type { PageCursors } from './envelope.ts'
import {
  type Checkpoint,
  type ListOptions,
  listChecks,
  type TakenListOptions,
  takeListOptions,
} from './list-options.ts'
import type { Operation } from './operation.ts'

/** One page of a list. */
export interface Page<Item> {
  /** The items, as the service sent them. */
  readonly data: Item[]
  /** The cursor of the next page, or null on the last page. Opaque: store it and pass it back unchanged. */
  readonly after: string | null
  /** The cursor of the previous page, or null on the first page. Opaque: store it and pass it back unchanged. */
  readonly before: string | null
  /** Where to resume after this page, in the direction of the list. Store it as JSON and pass it as `resumeFrom`. */
  readonly checkpoint: Checkpoint
}

type FetchedPage<Item> = Received<Item[]> & { readonly cursors: PageCursors }

/** Fetches one page. */
export type FetchPage<Item> = (
  query: JsonObject,
  signal: WebAbortSignal | undefined,
  page: number,
) => Promise<FetchedPage<Item>>

/** Copies of the arguments of a list call, and how to fetch a page. */
export interface ListPlan<Item> {
  readonly operation: Pick<Operation, 'id' | 'method'>
  readonly query: JsonObject
  readonly options: TakenListOptions
  readonly signal: WebAbortSignal | undefined
  readonly fetchPage: FetchPage<Item>
}

/**
 * The result of a list call. `await` returns the first page; `for await` iterates over all items, fetching pages as
 * needed. No request is sent before that, and each iteration starts over. Invalid arguments reject then, with an
 * `InvalidArgumentError`.
 *
 * Only the cursor ends a list: an empty page with a cursor continues, and a cursor that is null, absent or empty is the
 * end ([specification](docs/service.md#paging)). A repeated cursor throws a `PaginationError`, and one that the service no
 * longer accepts a `CursorRejectedError`.
 *
 * @example
 * for await (const conversation of workspace.conversations.list({ limit: 50 })) console.log(conversation.id)
 * for await (const page of workspace.conversations.list({ limit: 50 }).pages()) console.log(page.data.length, page.checkpoint)
 * const firstPage = await workspace.conversations.list()
 */
export class Paginated<Item> extends Call<Page<Item>> implements AsyncIterable<Item> {
  /** Returns the plan, or throws the error for invalid arguments. */
  readonly #plan: () => ListPlan<Item>

  readonly #locate: Locate

  /**
   * @internal
   * Calls `readPlan` immediately. If it throws, the list rejects when it is awaited or iterated.
   *
   * @param locate puts the place of the call into the stack of an error
   */
  constructor(operation: string, readPlan: () => ListPlan<Item>, locate: Locate) {
    const plan = takeNow(() => {
      const read = readPlan()
      checkStart(read)
      return read
    }, locate)
    super(operation, async () => {
      const known = plan()
      if (known.options.resumeFrom?.done) throw locate(finished())
      const received = await fetchFirst(known)
      return { data: toPage(known, received), response: received.response }
    })
    this.#plan = plan
    this.#locate = locate
  }

  /** Iterates over all items. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const { signal, options } = this.#plan()
    const { maxItems = Number.POSITIVE_INFINITY } = options
    let left = maxItems
    for await (const page of this.pages()) {
      for (const item of page.data) {
        throwIfAborted(signal)
        if (left === 0) return
        left -= 1
        yield item
      }
    }
  }

  /**
   * Iterates over the pages, each with a checkpoint to resume from. Pages are never cut off, so that their cursors stay
   * valid: with `maxItems`, the last page is the one that reaches the maximum.
   *
   * @throws PaginationError if the service returns the same cursor twice.
   * @throws CursorRejectedError if the service no longer accepts a cursor.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const plan = this.#plan()
    const { fetchPage, signal, options } = plan
    const { maxItems = Number.POSITIVE_INFINITY, prefetch = true, resumeFrom } = options
    if (maxItems === 0 || resumeFrom?.done) return
    let { query: start, ...received } = await fetchFirst(plan)
    const seen = new Set<unknown>([start[followedCursor(plan)]])
    let left = maxItems
    let ahead: PageAhead<Item> | undefined
    try {
      for (let number = 1; ; number += 1) {
        // A prefetched page may have arrived before the caller aborted.
        throwIfAborted(signal)
        const page = toPage(plan, received)
        const { cursor } = page.checkpoint
        left -= page.data.length
        const isRepeated = seen.has(cursor)
        const goesOn = cursor !== null && left > 0
        const query = queryAt(plan, cursor)
        if (goesOn && !isRepeated) {
          seen.add(cursor)
          // Many callers only look at the first page, which should cost one request.
          if (prefetch && number > 1) ahead = fetchAhead(plan, query, number + 1)
        }
        yield page
        if (!goesOn) return
        if (isRepeated) throw this.#locate(repeatedCursor(plan, number))
        const fetchNow = () => fetchPage(query, signal, number + 1)
        received = await (ahead === undefined ? fetchNow() : takeAhead(ahead, fetchNow))
        ahead = undefined
      }
    } finally {
      ahead?.abandon()
    }
  }

  /**
   * Returns all items in an array.
   *
   * @param options `maxItems`: maximum number of items. Defaults to the `maxItems` of the list.
   */
  async toArray(options: Pick<ListOptions, 'maxItems'> = {}): Promise<Item[]> {
    const { maxItems } = this.#takeMaximum(options)
    const plan = this.#plan()
    const capped = maxItems === undefined ? plan : { ...plan, options: { ...plan.options, maxItems } }
    const items: Item[] = []
    for await (const item of new Paginated(this.operation, () => capped, this.#locate)) items.push(item)
    return items
  }

  #takeMaximum(options: Pick<ListOptions, 'maxItems'>): Pick<ListOptions, 'maxItems'> {
    try {
      checkOptions('options', options, { maxItems: listChecks.maxItems }, '`toArray`')
      return takeListOptions(options)
    } catch (thrown) {
      throw this.#locate(thrown)
    }
  }

  /** @hidden */
  override get [Symbol.toStringTag](): string {
    return 'Paginated'
  }
}

/** Runs a function now. Returns a function that returns its result, or throws its error, each time. */
function takeNow<Value>(run: () => Value, locate: Locate): () => Value {
  try {
    const value = run()
    return () => value
  } catch (error) {
    const located = locate(error)
    return () => {
      throw located
    }
  }
}

function checkStart({ query, options: { resumeFrom } }: ListPlan<unknown>): void {
  const limit = query.limit ?? undefined
  if (limit !== undefined) checkInteger('limit', limit, 1, "Leave it out for the service's default.")
  const cursors = ['after', 'before'].filter((name) => (query[name] ?? undefined) !== undefined)
  if (cursors.length > 1) {
    throw new InvalidArgumentError(
      'before',
      '`after` and `before` cannot be combined.',
      'Pass the cursor to start from, and set `direction` in the options.',
    )
  }
  if (resumeFrom === undefined || cursors.length === 0) return
  throw new InvalidArgumentError(
    'resumeFrom',
    `\`resumeFrom\` and \`${cursors[0]}\` cannot be combined.`,
    'Leave the cursor out of the query: the list starts at `resumeFrom`.',
  )
}

function finished(): InvalidArgumentError {
  return new InvalidArgumentError(
    'resumeFrom',
    'The list is finished, so it has no page to return.',
    'Leave out `resumeFrom` to start a new round.',
  )
}

/** Fetches the first page. Returns its query too, which has no cursor after a restart. */
async function fetchFirst<Item>(plan: ListPlan<Item>): Promise<FetchedPage<Item> & Pick<ListPlan<Item>, 'query'>> {
  const { query, signal, options, fetchPage } = plan
  const { resumeFrom, onRejectedCursor } = options
  const first = resumeFrom ? queryAt(plan, resumeFrom.cursor) : query
  try {
    return { ...(await fetchPage(first, signal, 1)), query: first }
  } catch (error) {
    if (onRejectedCursor !== 'restart' || !(error instanceof CursorRejectedError)) throw error
    const start = queryAt(plan, null)
    return { ...(await fetchPage(start, signal, 1)), query: start }
  }
}

/** Returns the query of the list at a cursor, or at its start. */
function queryAt(plan: ListPlan<unknown>, cursor: string | null): JsonObject {
  return { ...plan.query, after: undefined, before: undefined, [followedCursor(plan)]: cursor }
}

function toPage<Item>(plan: ListPlan<Item>, { data, cursors }: FetchedPage<Item>): Page<Item> {
  const cursor = cursors[followedCursor(plan)]
  return { data, ...cursors, checkpoint: { cursor, done: cursor === null } }
}

function followedCursor({ query, options }: ListPlan<unknown>): 'after' | 'before' {
  const { direction = (query.before ?? undefined) === undefined ? 'forward' : 'backward' } = options
  return direction === 'forward' ? 'after' : 'before'
}

/** A prefetched page. */
interface PageAhead<Item> {
  readonly page: Promise<FetchedPage<Item>>
  readonly hasFailed: () => boolean
  readonly abandon: () => void
}

function fetchAhead<Item>({ fetchPage, signal }: ListPlan<Item>, query: JsonObject, number: number): PageAhead<Item> {
  const controller = new AbortController()
  const unfollow = forwardAbort(signal as AbortSignal | undefined, controller)
  // The signal of a polyfill may throw.
  const release = () => notify(unfollow)
  const page = fetchPage(query, controller.signal, number)
  // A rejection is handled when the loop reaches the page. It may never do so, so release the caller's signal here.
  let hasFailed = false
  page
    .catch(() => {
      hasFailed = true
    })
    .then(release)
  return { page, hasFailed: () => hasFailed, abandon: () => controller.abort(abandoned) }
}

/**
 * Returns the prefetched page. Fetches it again if it failed before the loop asked for it, which may be long ago, with an
 * error that can be retried.
 */
async function takeAhead<Item>(
  { page, hasFailed }: PageAhead<Item>,
  fetchNow: () => Promise<FetchedPage<Item>>,
): Promise<FetchedPage<Item>> {
  const isStale = hasFailed()
  try {
    return await page
  } catch (error) {
    const isFinal = error instanceof RequestError && error.remedy !== 'retry'
    if (isFinal || !isStale) throw error
    return fetchNow()
  }
}

function repeatedCursor({ operation: { id, method } }: ListPlan<unknown>, page: number): PaginationError {
  return new PaginationError(`${id} returned the same cursor twice (page ${page}).`, {
    operation: id,
    outcome: method === 'GET' ? 'no-effect' : 'unknown',
    remedy: 'fix',
    hint: 'The items so far are complete, but the list cannot continue. Report this to the service.',
  })
}
