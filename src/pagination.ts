import { Call, type WithResponse } from './call.ts'
import { InvalidArgumentError, PaginationError } from './errors/index.ts'
import { forwardAbort } from './http/call-clock.ts'
import type { PageCursors } from './http/envelope.ts'
import { isRepeatable } from './http/retry.ts'
import type { JsonObject } from './json.ts'
import { checkInteger, copyListOptions, type ListOptions } from './list-options.ts'
import type { ListQuery, Operation } from './operation.ts'

/** One page of a list. */
export interface Page<Item> {
  /** The items, as the service sent them. */
  readonly data: Item[]
  /** The cursor of the next page, to go on from here later; null when there is none. Opaque: pass it back as it is. */
  readonly after: string | null
  /** The cursor of the previous page; null when there is none. Opaque: pass it back as it is. */
  readonly before: string | null
}

/** Fetches one page. */
export type FetchPage<Item> = (
  query: JsonObject,
  options: ListOptions & { readonly page: number },
) => Promise<{ readonly data: Item[]; readonly cursors: PageCursors } & Pick<WithResponse<unknown>, 'response'>>

/** What a list needs to fetch its pages: copies of the arguments that it was called with. */
export interface ListPlan<Item> {
  readonly operation: Pick<Operation, 'id' | 'method'>
  readonly query: JsonObject
  readonly options: ListOptions
  readonly fetchPage: FetchPage<Item>
}

/**
 * A list call: awaited, it is the first page; iterated, it is every item, page after page. Nothing is sent before one
 * or the other, and each iteration starts anew. Bad arguments reject with an `InvalidArgumentError` then.
 *
 * Only the cursor decides when the end is reached: an empty page with a cursor goes on; a cursor that is null, absent
 * or empty ends (specification, section 4). A cursor that comes again is a `PaginationError`.
 *
 * @example
 * for await (const conversation of workspace.conversations.list({ limit: 50 })) console.log(conversation.id)
 * const firstPage = await workspace.conversations.list()
 */
export class Paginated<Item> extends Call<Page<Item>> implements AsyncIterable<Item> {
  /** Returns the plan, or throws what is wrong with the arguments. */
  readonly #plan: () => ListPlan<Item>

  /** Runs `readPlan` at once. What it throws is kept until the list is awaited or iterated. */
  constructor(readPlan: () => ListPlan<Item>) {
    const plan = takeNow(() => {
      const read = readPlan()
      checkQuery(read.query)
      return read
    })
    super(async () => {
      const { fetchPage, query, options } = plan()
      const { data, cursors, response } = await fetchPage(query, { ...options, page: 1 })
      return { data: { data, ...cursors }, response }
    })
    this.#plan = plan
  }

  /** Every item, page after page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const { signal, maxItems = Number.POSITIVE_INFINITY } = this.#plan().options
    let left = maxItems
    for await (const page of this.pages()) {
      for (const item of page.data) {
        if (signal?.aborted) throw signal.reason
        if (left === 0) return
        left -= 1
        yield item
      }
    }
  }

  /**
   * Page after page, each with the cursors to resume from. Pages are never cut, so that their cursors stay true: with
   * `maxItems`, the last one is the page that reaches the maximum.
   *
   * @throws PaginationError when the service returns the same cursor twice.
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
        const fetchNow = () => fetchPage(query, { ...options, page: number })
        const { data, cursors } = await (ahead === undefined ? fetchNow() : takeAhead(plan, ahead, fetchNow))
        ahead = undefined
        // A page that was fetched ahead may have come before the caller's abort.
        if (signal?.aborted) throw signal.reason
        left -= data.length
        const cursor = cursors[cursorName]
        const isRepeated = seen.has(cursor)
        const goesOn = cursor !== null && left > 0
        if (goesOn && !isRepeated) {
          seen.add(cursor)
          query = { ...plan.query, after: undefined, before: undefined, [cursorName]: cursor }
          // The first page is often all that a caller looks at: it costs one request.
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
   * All items in one array.
   *
   * @param options `maxItems`: maximum number of items. Defaults to the list's own `maxItems`.
   */
  async toArray(options: Pick<ListOptions, 'maxItems'> = {}): Promise<Item[]> {
    const { maxItems } = copyListOptions(options)
    const plan = this.#plan()
    const capped = maxItems === undefined ? plan : { ...plan, options: { ...plan.options, maxItems } }
    const items: Item[] = []
    for await (const item of new Paginated(() => capped)) items.push(item)
    return items
  }
}

/** Runs the function now, and returns what it returned, or throws what it threw, each time it is asked. */
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
    'Pass the cursor to start from, and `direction` in the options to say which way to go on.',
  )
}

function followedCursor({ query, options }: ListPlan<unknown>): 'after' | 'before' {
  const { direction = (query.before ?? undefined) === undefined ? 'forward' : 'backward' } = options
  return direction === 'forward' ? 'after' : 'before'
}

/** A page that was asked for before it was needed. */
interface PageAhead<Item> {
  readonly page: ReturnType<FetchPage<Item>>
  readonly abandon: () => void
}

function fetchAhead<Item>({ fetchPage, options }: ListPlan<Item>, query: JsonObject, number: number): PageAhead<Item> {
  const controller = new AbortController()
  const release = forwardAbort(options.signal as AbortSignal | undefined, controller)
  const page = fetchPage(query, { ...options, signal: controller.signal, page: number })
  // What went wrong is told when the page is reached; until then nobody listens. A caller may never come back for it,
  // so that the listener on their signal must not wait for that.
  page.then(release, release)
  return { page, abandon: () => controller.abort() }
}

/** The page ahead, or the page fetched anew when fetching it ahead failed in a way that may pass. */
async function takeAhead<Item>(
  { operation, options }: ListPlan<Item>,
  { page }: PageAhead<Item>,
  fetchNow: () => ReturnType<FetchPage<Item>>,
): ReturnType<FetchPage<Item>> {
  try {
    return await page
  } catch (error) {
    if (options.signal?.aborted || !isRepeatable(operation.method, error)) throw error
    return fetchNow()
  }
}

function repeatedCursor({ operation: { id } }: ListPlan<unknown>, page: number): PaginationError {
  return new PaginationError(`${id} returned the same cursor twice (page ${page}).`, {
    operation: id,
    outcome: 'refused',
    hint: 'The items so far are complete; the list cannot be followed further. Report it to the service.',
  })
}
