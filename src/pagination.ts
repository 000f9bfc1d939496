import { Call, type WithResponse } from './call.ts'
import type { CallOptions } from './client-options.ts'
import { InvalidArgumentError, PaginationError } from './errors/index.ts'
import { follow } from './http/abort.ts'
import type { PageCursors } from './http/envelope.ts'
import type { QueryValue } from './operation.ts'

/** One page of a list. */
export interface Page<Item> {
  /** The items, as the service sent them. */
  readonly data: Item[]
  /** The cursor of the next page, to go on from here later; null when there is none. Opaque: pass it back as it is. */
  readonly after: string | null
  /** The cursor of the previous page; null when there is none. Opaque: pass it back as it is. */
  readonly before: string | null
}

/** The query of a list (specification, section 4). Other parameters go out as they are given. */
export interface ListQuery {
  /** Items per page. The service's default and maximum are not documented. For a cap on the whole, see `maxItems`. */
  readonly limit?: number | undefined
  /** Start after this point: a cursor from a page's `after`. */
  readonly after?: string | null | undefined
  /** Start before this point: a cursor from a page's `before`. */
  readonly before?: string | null | undefined
  readonly [parameter: string]: QueryValue
}

/** The options of a list call. Time limits and retries count for each page. */
export interface ListOptions extends CallOptions {
  /** Which cursor leads on: `forward` follows `after`, `backward` follows `before`. Default: `forward`. */
  readonly direction?: 'forward' | 'backward' | undefined
  /** Stop after this many items. Default: no cap. */
  readonly maxItems?: number | undefined
  /**
   * Ask for the next page while the caller works on this one, from the second page on; never more than one ahead.
   * Default: true.
   */
  readonly prefetch?: boolean | undefined
}

/** Fetches one page. */
export type FetchPage<Item> = (
  query: ListQuery,
  options: CallOptions & { readonly page: number },
) => Promise<{ readonly data: Item[]; readonly cursors: PageCursors } & Pick<WithResponse<unknown>, 'response'>>

/**
 * A list call: awaited, it is the first page; iterated, it is every item, page after page. Nothing is sent before one
 * or the other, and each iteration starts anew.
 *
 * Only the cursor decides when the end is reached: an empty page with a cursor goes on; a cursor that is null, absent
 * or empty ends (specification, section 4). A cursor that comes again is a `PaginationError`.
 *
 * @example
 * for await (const conversation of workspace.conversations.list({ limit: 50 })) console.log(conversation.id)
 * const firstPage = await workspace.conversations.list()
 */
export class Paginated<Item> extends Call<Page<Item>> implements AsyncIterable<Item> {
  readonly #operation: string
  readonly #fetchPage: FetchPage<Item>
  readonly #query: ListQuery
  readonly #options: ListOptions

  constructor(operation: string, fetchPage: FetchPage<Item>, query: ListQuery = {}, options: ListOptions = {}) {
    checkWhole('limit', query.limit, 1)
    checkWhole('maxItems', options.maxItems, 0)
    super(async () => {
      const { data, cursors, response } = await fetchPage(query, { ...options, page: 1 })
      return { data: { data, ...cursors }, response }
    })
    this.#operation = operation
    this.#fetchPage = fetchPage
    this.#query = query
    this.#options = options
  }

  /** Every item, page after page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const { signal, maxItems = Number.POSITIVE_INFINITY } = this.#options
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
   * `maxItems`, the last one is the page that reaches the cap.
   *
   * @throws PaginationError when the service gives a cursor that it had given before.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const { signal, direction = 'forward', maxItems = Number.POSITIVE_INFINITY, prefetch = true } = this.#options
    const cursorName = direction === 'forward' ? 'after' : 'before'
    const seen = new Set<unknown>([this.#query[cursorName]])
    let query = this.#query
    let left = maxItems
    let ahead: PageAhead<Item> | undefined
    try {
      for (let number = 1; left > 0; number += 1) {
        const { data, cursors } = await (ahead?.page ?? this.#fetchPage(query, { ...this.#options, page: number }))
        ahead?.release()
        ahead = undefined
        // A page that was fetched ahead may have come before the caller's abort.
        if (signal?.aborted) throw signal.reason
        left -= data.length
        const cursor = cursors[cursorName]
        const isRepeated = seen.has(cursor)
        const goesOn = cursor !== null && left > 0
        if (goesOn && !isRepeated) {
          seen.add(cursor)
          query = { ...this.#query, after: undefined, before: undefined, [cursorName]: cursor }
          // The first page is often all that a caller looks at: it costs one request.
          if (prefetch && number > 1) ahead = this.#fetchAhead(query, number + 1)
        }
        yield { data, ...cursors }
        if (!goesOn) return
        if (isRepeated) throw this.#repeatedCursor(number)
      }
    } finally {
      ahead?.abandon()
    }
  }

  /**
   * All items in one array.
   *
   * @param options `maxItems`: stop after this many. Default: the list's own `maxItems`.
   */
  async toArray(options: { readonly maxItems?: number | undefined } = {}): Promise<Item[]> {
    const maxItems = options.maxItems ?? this.#options.maxItems
    const items: Item[] = []
    const capped = new Paginated(this.#operation, this.#fetchPage, this.#query, { ...this.#options, maxItems })
    for await (const item of capped) items.push(item)
    return items
  }

  #fetchAhead(query: ListQuery, number: number): PageAhead<Item> {
    const controller = new AbortController()
    const release = follow(this.#options.signal as AbortSignal | undefined, controller)
    const page = this.#fetchPage(query, { ...this.#options, signal: controller.signal, page: number })
    // What went wrong is told when the page is reached; until then nobody listens.
    page.catch(() => {})
    return {
      page,
      release,
      abandon: () => {
        release()
        controller.abort()
      },
    }
  }

  #repeatedCursor(page: number): PaginationError {
    return new PaginationError(`${this.#operation} gave page ${page} a cursor that it had given before.`, {
      operation: this.#operation,
      outcome: 'refused',
      hint: 'The items so far are whole; the list cannot be followed further. Report it to the service.',
    })
  }
}

/** A page that was asked for before it was needed. */
interface PageAhead<Item> {
  readonly page: ReturnType<FetchPage<Item>>
  readonly release: () => void
  readonly abandon: () => void
}

function checkWhole(name: string, value: unknown, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= least)) return
  throw new InvalidArgumentError(name, `\`${name}\` is not a whole number from ${least}.`, 'Leave it out for no limit.')
}
