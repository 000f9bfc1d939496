import { InvalidArgumentError, isSupportWorkspaceError, PaginationError } from '../errors/index.ts'
import { forwardAbort, throwIfAborted } from '../shared/abort.ts'
import { bindMethods } from '../shared/bind-methods.ts'
import { type Call, callOf, namingCall, type Reply, type WithResponse } from './call.ts'
import { abandoned } from './call-record.ts'
import type { PreparedCall } from './input.ts'
import { type Checkpoint, type ListArguments, type ListOptions, readMaxItems } from './list-options.ts'

/** One page of a list. */
export interface Page<Item> {
  /** The items of the page, as the service sent them. */
  readonly data: Item[]
  /** The cursor of the next page, or null on the last page. Opaque text: store it and pass it back unchanged. */
  readonly after: string | null
  /** The cursor of the previous page, or null on the first page. Opaque text: store it and pass it back unchanged. */
  readonly before: string | null
  /** Where to resume after this page, in the direction of the list. Store it as JSON and pass it as `resumeFrom`. */
  readonly checkpoint: Checkpoint
}

/** The arguments of a list, and the functions that fetch a page. */
export interface ListPlan extends ListArguments {
  readonly prepare: () => Promise<PreparedCall>
  readonly send: (call: PreparedCall) => Promise<Reply>
}

/**
 * The result of a list call. `await` returns the first page; `for await` iterates over all items and fetches pages as
 * needed. The list is lazy: the first request is sent when you `await` or iterate, and invalid arguments reject at that
 * point, with an `InvalidArgumentError`. Each iteration starts from the beginning.
 *
 * A list ends at a page whose cursor is null, absent or empty. An empty page with a cursor is not the end
 * ([specification](docs/service.md#paging)). A repeated cursor throws a `PaginationError`. A cursor that the service no
 * longer accepts throws a `CursorRejectedError`.
 *
 * @example
 * for await (const { id } of workspace.conversations.list({ limit: 50 })) console.log(id)
 * for await (const page of workspace.conversations.list().pages()) console.log(page.data.length, page.checkpoint)
 * const firstPage = await workspace.conversations.list()
 * console.log(firstPage.data.length)
 */
export class Paginated<Item> implements Call<Page<Item>>, AsyncIterable<Item> {
  /** Returns the plan, or throws the error for invalid arguments. */
  readonly #plan: () => ListPlan
  #first: Call<Page<Item>> | undefined

  /**
   * @internal
   * @param plan throws if the arguments are invalid. The list then rejects when it is awaited or iterated
   */
  constructor(plan: () => ListPlan) {
    this.#plan = plan
    bindMethods(this)
  }

  /** The first page, which is requested when the caller first asks for it. */
  get #firstPage(): Call<Page<Item>> {
    this.#first ??= callOf(firstPage<Item>(this.#plan))
    return this.#first
  }

  /** Returns the first page together with status, headers and request id of its response. */
  withResponse(): Promise<WithResponse<Page<Item>>> {
    return this.#firstPage.withResponse()
  }

  /** Handles the first page or a rejection, like `then` of any promise. Usually called by `await`. */
  // biome-ignore lint/suspicious/noThenProperty: a list is awaitable by design
  then<Fulfilled = Page<Item>, Rejected = never>(
    onFulfilled?: ((page: Page<Item>) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#firstPage.then(onFulfilled, onRejected)
  }

  /** Handles a rejection, like `catch` of any promise. */
  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Page<Item> | Rejected> {
    return this.#firstPage.catch(onRejected)
  }

  /** Runs a callback when the call has ended, like `finally` of any promise. */
  finally(onFinally?: (() => void) | null): Promise<Page<Item>> {
    return this.#firstPage.finally(onFinally)
  }

  /** Iterates over all items. */
  [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    return this.#items()
  }

  /**
   * Iterates over the pages, each with a checkpoint to resume from. Each page is complete, so that its cursors stay
   * valid. With `maxItems`, the last page is the page that reaches the maximum.
   *
   * @throws PaginationError if the service returns the same cursor twice.
   * @throws CursorRejectedError if the service no longer accepts a cursor.
   */
  pages(): AsyncGenerator<Page<Item>, void, undefined> {
    return this.#pages()
  }

  /**
   * Returns all items in an array.
   *
   * @param options `maxItems`: maximum number of items. Defaults to the `maxItems` of the list.
   */
  async toArray(options: Pick<ListOptions, 'maxItems'> = {}): Promise<Item[]> {
    const { call } = this.#plan()
    const maxItems = readMaxItems(options, call.operation)
    const items: Item[] = []
    for await (const item of this.#items(maxItems)) items.push(item)
    return items
  }

  /** @param maxItems defaults to the `maxItems` of the list */
  async *#items(maxItems?: number): AsyncGenerator<Item, void, undefined> {
    const { call, maxItems: most } = this.#plan()
    let left = maxItems ?? most
    for await (const page of this.#pages(left)) {
      for (const item of page.data) {
        throwIfAborted(call.signal)
        if (left === 0) return
        left -= 1
        yield item
      }
    }
  }

  async *#pages(maxItems?: number): AsyncGenerator<Page<Item>, void, undefined> {
    const plan = this.#plan()
    const { signal } = plan.call
    let left = maxItems ?? plan.maxItems
    if (left === 0 || plan.resumeFrom?.done) return
    let ahead: PageAhead | undefined
    try {
      let reply = await fetchFirst(plan)
      const seen = new Set<unknown>([plan.resumeFrom?.cursor ?? plan.call.query[plan.follows]])
      for (let number = 1; ; number += 1) {
        // A prefetched page might have arrived before the caller aborted.
        throwIfAborted(signal)
        const page = toPage<Item>(plan, reply)
        const { cursor } = page.checkpoint
        left -= page.data.length
        const isRepeated = seen.has(cursor)
        const goesOn = cursor !== null && left > 0
        if (goesOn && !isRepeated) {
          seen.add(cursor)
          // Many callers only look at the first page, which should cost one request.
          if (plan.prefetch && number > 1) ahead = fetchAhead(plan, cursor, number + 1)
        }
        yield page
        if (!goesOn) return
        if (isRepeated) throw repeatedCursor(plan, number)
        reply = (await takeAhead(ahead, signal)) ?? (await fetchPage(plan, cursor, signal, number + 1))
        ahead = undefined
      }
    } finally {
      ahead?.abandon()
    }
  }

  /** @hidden */
  get [Symbol.toStringTag](): string {
    return 'Paginated'
  }
}

async function firstPage<Item>(plan: () => ListPlan): Promise<Reply<Page<Item>>> {
  const known = plan()
  if (known.resumeFrom?.done) {
    const error = new InvalidArgumentError(
      'resumeFrom',
      'The list is finished, so it has no page to return.',
      'Leave out `resumeFrom` to start a new round.',
    )
    throw namingCall(error, known.call.operation.id)
  }
  const reply = await fetchFirst(known)
  return {
    data: toPage<Item>(known, reply),
    cursors: reply.cursors,
    get response() {
      return reply.response
    },
  }
}

/** @param cursor where the page begins. Null is the start of the list, and undefined is the cursor in the query */
async function fetchPage(
  { call, prepare, send, follows }: ListPlan,
  cursor: string | null | undefined,
  signal: AbortSignal | undefined,
  page: number,
): Promise<Reply> {
  try {
    const prepared = await prepare()
    const cursors = cursor === undefined ? {} : { after: null, before: null, [follows]: cursor }
    return await send({ ...prepared, query: { ...prepared.query, ...cursors }, signal, page })
  } catch (thrown) {
    throw namingCall(thrown, call.operation.id)
  }
}

function fetchFirst(plan: ListPlan): Promise<Reply> {
  return fetchPage(plan, plan.resumeFrom?.cursor, plan.call.signal, 1)
}

function toPage<Item>({ follows }: ListPlan, { data, cursors }: Reply): Page<Item> {
  const cursor = cursors[follows]
  return { data: data as Item[], ...cursors, checkpoint: { cursor, done: cursor === null } }
}

/** A prefetched page. */
interface PageAhead {
  readonly page: Promise<Reply>
  hasFailed: boolean
  readonly abandon: () => void
}

function fetchAhead(plan: ListPlan, cursor: string, number: number): PageAhead {
  const controller = new AbortController()
  const release = forwardAbort(plan.call.signal, controller)
  const page = fetchPage(plan, cursor, controller.signal, number)
  const ahead: PageAhead = { page, hasFailed: false, abandon: () => controller.abort(abandoned) }
  // A rejection is handled when the loop reaches the page. The caller's signal is released here, because the loop might
  // end before.
  page
    .catch(() => {
      ahead.hasFailed = true
    })
    .then(release)
  return ahead
}

/**
 * Returns the prefetched page. Undefined if the page has to be fetched now: it was not prefetched, or had failed before
 * the loop reached it, and the error does not say that a retry is useless. Errors of the caller's functions do not.
 */
async function takeAhead(ahead: PageAhead | undefined, signal: AbortSignal | undefined): Promise<Reply | undefined> {
  if (ahead === undefined) return undefined
  const { page, hasFailed } = ahead
  try {
    return await page
  } catch (error) {
    const isFinal = signal?.aborted || (isSupportWorkspaceError(error) && error.remedy !== 'retry')
    if (isFinal || !hasFailed) throw error
    return undefined
  }
}

function repeatedCursor({ call: { operation } }: ListPlan, page: number): PaginationError {
  const { id, method } = operation
  return new PaginationError(`${id} returned the same cursor twice (page ${page}).`, {
    operation: id,
    outcome: method === 'GET' ? 'no-effect' : 'unknown',
    remedy: 'fix',
    hint: 'The items so far are complete, but the list cannot continue. Report this to the service.',
  })
}
