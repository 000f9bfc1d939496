import { Call, type Received } from './call.ts'
import { checkOptions } from './check-options.ts'
import { InvalidArgumentError, PaginationError, RequestError } from './errors/index.ts'
import { forwardAbort, throwIfAborted } from './http/call-clock.ts'
import type { PageCursors } from './http/envelope.ts'
import type { JsonObject } from './json.ts'
import { checkInteger, copyListOptions, type ListOptions } from './list-options.ts'
import type { ListQuery, Operation } from './operation.ts'

/** One page of a list. */
export interface Page<Item> {
  /** The items, as the service sent them. */
  readonly data: Item[]
  /** The cursor of the next page, or null on the last page. Opaque: store it and pass it back unchanged. */
  readonly after: string | null
  /** The cursor of the previous page, or null on the first page. Opaque: store it and pass it back unchanged. */
  readonly before: string | null
}

/** Fetches one page. */
export type FetchPage<Item> = (
  query: JsonObject,
  options: ListOptions,
  page: number,
) => Promise<Received<Item[]> & { readonly cursors: PageCursors }>

/** Copies of the arguments of a list call, and how to fetch a page. */
export interface ListPlan<Item> {
  readonly operation: Pick<Operation, 'id' | 'method'>
  readonly query: JsonObject
  readonly options: ListOptions
  readonly fetchPage: FetchPage<Item>
}

/**
 * The result of a list call. `await` returns the first page; `for await` iterates over all items, fetching pages as
 * needed. No request is sent before that, and each iteration starts over. Invalid arguments reject then, with an
 * `InvalidArgumentError`.
 *
 * Only the cursor ends a list: an empty page with a cursor continues, and a cursor that is null, absent or empty is the
 * end ([specification](docs/service.md#paging)). A repeated cursor throws a `PaginationError`.
 *
 * @example
 * for await (const conversation of workspace.conversations.list({ limit: 50 })) console.log(conversation.id)
 * for await (const page of workspace.conversations.list({ limit: 50 }).pages()) console.log(page.data.length, page.after)
 * const firstPage = await workspace.conversations.list()
 */
export class Paginated<Item> extends Call<Page<Item>> implements AsyncIterable<Item> {
  /** Returns the plan, or throws the error for invalid arguments. */
  readonly #plan: () => ListPlan<Item>

  /** Calls `readPlan` immediately. If it throws, the list rejects when it is awaited or iterated. */
  constructor(readPlan: () => ListPlan<Item>) {
    const plan = takeNow(() => {
      const read = readPlan()
      checkQuery(read.query)
      return read
    })
    super(async () => {
      const { fetchPage, query, options } = plan()
      const { data, cursors, response } = await fetchPage(query, options, 1)
      return { data: { data, ...cursors }, response }
    })
    this.#plan = plan
  }

  /** Iterates over all items. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const { signal, maxItems = Number.POSITIVE_INFINITY } = this.#plan().options
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
   * Iterates over the pages, each with the cursors to resume from. Pages are never cut off, so that their cursors stay
   * valid: with `maxItems`, the last page is the one that reaches the maximum.
   *
   * @throws PaginationError if the service returns the same cursor twice.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const plan = this.#plan()
    const { fetchPage, options } = plan
    const { signal, maxItems = Number.POSITIVE_INFINITY, prefetch = true } = options
    const cursorName = followedCursor(plan)
    const seen = new Set<unknown>([plan.query[cursorName]])
    let query = plan.query
    let left = maxItems
    let ahead: PageAhead<Item> | undefined
    try {
      for (let number = 1; left > 0; number += 1) {
        const fetchNow = () => fetchPage(query, options, number)
        const { data, cursors } = await (ahead === undefined ? fetchNow() : takeAhead(plan, ahead, fetchNow))
        ahead = undefined
        // A prefetched page may have arrived before the caller aborted.
        throwIfAborted(signal)
        left -= data.length
        const cursor = cursors[cursorName]
        const isRepeated = seen.has(cursor)
        const goesOn = cursor !== null && left > 0
        if (goesOn && !isRepeated) {
          seen.add(cursor)
          query = { ...plan.query, after: undefined, before: undefined, [cursorName]: cursor }
          // Many callers only look at the first page, which should cost one request.
          if (prefetch && number > 1) ahead = fetchAhead(plan, query, number + 1)
        }
        yield { data, ...cursors }
        if (!goesOn) return
        if (isRepeated) throw repeatedCursor(plan, number)
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
    checkOptions('options', options, { maxItems: true }, '`toArray`')
    const { maxItems } = copyListOptions(options)
    const plan = this.#plan()
    const capped = maxItems === undefined ? plan : { ...plan, options: { ...plan.options, maxItems } }
    const items: Item[] = []
    for await (const item of new Paginated(() => capped)) items.push(item)
    return items
  }
}

/** Runs a function now. Returns a function that returns its result, or throws its error, each time. */
function takeNow<Value>(run: () => Value): () => Value {
  try {
    const value = run()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}

function checkQuery({ limit, after, before }: ListQuery): void {
  checkInteger('limit', limit ?? undefined, 1)
  if ((after ?? undefined) === undefined || (before ?? undefined) === undefined) return
  throw new InvalidArgumentError(
    'before',
    '`after` and `before` cannot be combined.',
    'Pass the cursor to start from, and set `direction` in the options.',
  )
}

function followedCursor({ query, options }: ListPlan<unknown>): 'after' | 'before' {
  const { direction = (query.before ?? undefined) === undefined ? 'forward' : 'backward' } = options
  return direction === 'forward' ? 'after' : 'before'
}

/** A prefetched page. */
interface PageAhead<Item> {
  readonly page: ReturnType<FetchPage<Item>>
  readonly abandon: () => void
}

function fetchAhead<Item>({ fetchPage, options }: ListPlan<Item>, query: JsonObject, number: number): PageAhead<Item> {
  const controller = new AbortController()
  const release = forwardAbort(options.signal as AbortSignal | undefined, controller)
  const page = fetchPage(query, { ...options, signal: controller.signal }, number)
  // A rejection is handled when the loop reaches the page. It may never do so, so release the caller's signal here.
  page.then(release, release)
  return { page, abandon: () => controller.abort() }
}

/** Returns the prefetched page. Fetches it again if prefetching failed with an error that can be retried. */
async function takeAhead<Item>(
  { options }: ListPlan<Item>,
  { page }: PageAhead<Item>,
  fetchNow: () => ReturnType<FetchPage<Item>>,
): ReturnType<FetchPage<Item>> {
  try {
    return await page
  } catch (error) {
    const isFinal = error instanceof RequestError && error.remedy !== 'retry'
    if (options.signal?.aborted || isFinal) throw error
    return fetchNow()
  }
}

function repeatedCursor({ operation: { id } }: ListPlan<unknown>, page: number): PaginationError {
  return new PaginationError(`${id} returned the same cursor twice (page ${page}).`, {
    operation: id,
    outcome: 'refused',
    remedy: 'fix',
    hint: 'The items so far are complete, but the list cannot continue. Report this to the service.',
  })
}
