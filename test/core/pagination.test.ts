import fc from 'fast-check'
import {
  ActorSelfRequiredError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  type Checkpoint,
  CursorRejectedError,
  defineOperation,
  InsufficientScopeError,
  InvalidArgumentError,
  type ListOptions,
  NotFoundError,
  type Page,
  PaginationError,
  PermissionDeniedError,
  ServerError,
  UnexpectedResponseError,
} from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { invalidArgument, json, makeClient, page, refusal, rejection, scripted } from '../helpers/client.ts'
import { turns } from '../helpers/turns.ts'

interface Item {
  readonly id: string
}

/** The pages of a list by their cursor. The first page has the cursor ''. */
type PagesByCursor = Record<string, { data: Item[]; after?: string | null; before?: string | null }>

/** Returns a client whose conversations come in the given pages, and the queries it sends. */
function setUp(pages: PagesByCursor, cursor: 'after' | 'before' = 'after') {
  const queries: Record<string, string>[] = []
  const fetch = scripted((request) => {
    const query = Object.fromEntries(new URL(request.url).searchParams)
    queries.push(query)
    // Endless paging fails instead of filling the memory.
    if (queries.length > 1_000) throw new Error('too many requests')
    const found = pages[query[cursor] ?? '']
    return found === undefined ? refusal(400, 'invalid_request') : json(page(found.data, found.after, found.before))
  })
  return { queries, fetch, list: makeClient({ fetch }).conversations }
}

const items = (...ids: (string | number)[]): Item[] => ids.map((id) => ({ id: String(id) }))

async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const collected: Value[] = []
  for await (const value of values) collected.push(value)
  return collected
}

/** Reads a list that fails. Returns the ids of the items before the error. */
async function readUntilError(list: AsyncIterable<{ id: string }>) {
  const seen: string[] = []
  const loop = async () => {
    for await (const { id } of list) seen.push(id)
  }
  return { error: await rejection(loop()), seen }
}

const ids = async (values: AsyncIterable<{ id: string }>) => (await all(values)).map(({ id }) => id)

/** The pages of a list with these numbers of items, and its items. */
function pagesOf(lengths: number[], cursor: 'after' | 'before') {
  const pages: PagesByCursor = {}
  let next = 0
  for (const [index, length] of lengths.entries()) {
    const data = items(...Array.from({ length }, () => next++))
    const following = index + 1 < lengths.length ? `p${index + 1}` : null
    pages[index === 0 ? '' : `p${index}`] = { data, [cursor]: following }
  }
  return { pages, ids: Array.from({ length: next }, (_, index) => String(index)) }
}

const at = (cursor: string): Checkpoint => ({ cursor, done: false })
const start: Checkpoint = { cursor: null, done: false }
const finished: Checkpoint = { cursor: null, done: true }

const threePages: PagesByCursor = {
  '': { data: items(1, 2), after: 'a' },
  a: { data: items(3, 4), after: 'b', before: 'z' },
  b: { data: items(5), after: null, before: 'a' },
}

describe('a list', () => {
  test('resolves to its first page, with the cursors to continue from', async () => {
    const { list, queries } = setUp(threePages)
    const first = await list.list({ limit: 2 })
    expect(first).toEqual({ data: items(1, 2), after: 'a', before: null, checkpoint: at('a') })
    expect(queries).toEqual([{ limit: '2' }])
  })

  test('sends one request when awaited twice', async () => {
    const { list, fetch } = setUp(threePages)
    const conversations = list.list()
    expect(await conversations).toBe(await conversations)
    expect((await conversations.withResponse()).response.status).toBe(200)
    expect(fetch.requests).toHaveLength(1)
  })

  test('starts over each time it is iterated', async () => {
    const { list, fetch } = setUp(threePages)
    const conversations = list.list()
    const expected = ['1', '2', '3', '4', '5']
    expect(await Promise.all([ids(conversations), ids(conversations)])).toEqual([expected, expected])
    expect(await ids(conversations)).toEqual(expected)
    expect(fetch.requests).toHaveLength(9)
  })

  test('follows `before` when it starts there, unless a direction is set', async () => {
    const pagesByCursor: PagesByCursor = {
      z: { data: items(5, 6), after: 'q', before: 'y' },
      y: { data: items(3), after: 'z', before: null },
      q: { data: items(9), after: null, before: 'z' },
    }
    const fetch = scripted(({ url }) => {
      const { after, before } = Object.fromEntries(new URL(url).searchParams)
      const { data, ...cursors } = pagesByCursor[after ?? before ?? ''] ?? { data: [] }
      return json(page(data, cursors.after, cursors.before))
    })
    const { conversations } = makeClient({ fetch })
    expect(await ids(conversations.list({ before: 'z' }))).toEqual(['5', '6', '3'])
    expect(await ids(conversations.list({ before: 'z', after: null }))).toEqual(['5', '6', '3'])
    expect(await ids(conversations.list({ before: 'z' }, { direction: 'forward' }))).toEqual(['5', '6', '9'])
    expect(await ids(conversations.list({ after: 'z' }, { direction: 'backward' }))).toEqual(['5', '6', '3'])
    expect(fetch.queries().join(' ')).toBe(
      '?before=z ?before=y ?before=z ?before=y ?before=z ?after=q ?after=z ?before=y',
    )
  })

  test('rejects `after` and `before` together, in either direction', async () => {
    for (const direction of ['forward', 'backward', undefined] as const) {
      const query = { after: 'a', before: 'b' }
      const error = await invalidArgument(({ contacts }) => all(contacts.list(query, { direction })))
      expect(error).toHaveProperty('argument', 'before')
    }
  })
})

test('a cursor of the greatest length is followed', async () => {
  const longest = 'c'.repeat(16_384)
  const { list } = setUp({ '': { data: items(1), after: longest }, [longest]: { data: items(2) } })
  expect(await ids(list.list())).toEqual(['1', '2'])
})

describe('the end of a list', () => {
  test.each([
    ['a null cursor', { data: items(1), page_metadata: { after: null, before: null } }],
    ['no cursor', { data: items(1), page_metadata: {} }],
    ['an empty cursor', { data: items(1), page_metadata: { after: '', before: '' } }],
    ['no page_metadata', { data: items(1) }],
    ['a null page_metadata', { data: items(1), page_metadata: null }],
  ])('is a page with %s', async (_, body) => {
    const fetch = scripted(json(body))
    const list = makeClient({ fetch }).conversations.list()
    expect(await ids(list)).toEqual(['1'])
    expect(fetch.requests).toHaveLength(1)
    expect(await list).toEqual({ data: items(1), after: null, before: null, checkpoint: finished })
  })

  test('comes after every item was returned once and in order, for pages of any size', async () => {
    const sizes = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 7 })), { minLength: 1, maxLength: 25 })
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.boolean(),
        fc.constantFrom('forward' as const, 'backward' as const),
        async (lengths, prefetch, direction) => {
          const cursor = direction === 'forward' ? 'after' : 'before'
          const { pages, ids: expected } = pagesOf(lengths, cursor)
          const { list, fetch } = setUp(pages, cursor)
          const read = list.list({}, { prefetch, direction })
          expect(await ids(read)).toEqual(expected)
          expect(fetch.requests).toHaveLength(lengths.length)
          expect((await all(read.pages())).map(({ data }) => data.length)).toEqual(lengths)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a cursor', () => {
  test('is sent back unchanged, with any characters', async () => {
    const cursors = fc.uniqueArray(
      fc.oneof(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.constantFrom('+', '%2B', '==', '&x=1', '#', ' ', '\n', '0'),
      ),
      { minLength: 1, maxLength: 5 },
    )
    await fc.assert(
      fc.asyncProperty(cursors, fc.constantFrom('after', 'before'), async (names, cursor) => {
        const pagesByCursor: PagesByCursor = Object.create(null)
        for (const [index, name] of ['', ...names].entries()) {
          pagesByCursor[name] = { data: items(index), [cursor]: names[index] ?? null }
        }
        const { list, queries } = setUp(pagesByCursor, cursor as 'after')
        const direction = cursor === 'after' ? 'forward' : 'backward'
        expect(await ids(list.list({}, { direction }))).toEqual(Object.keys(['', ...names]))
        expect(queries.slice(1).map((query) => query[cursor])).toEqual(names)
      }),
      { numRuns: 200 },
    )
  })

  test.each([
    ['at once', [1, 1]],
    ['in a loop of two', [1, 1, 1]],
    ['in a loop of three with empty pages', [1, 0, 1, 0]],
  ])('that repeats %s makes the loop reject with a PaginationError, after the items so far', async (_, lengths) => {
    const { pages, ids: expected } = pagesOf(lengths, 'after')
    Object.assign(pages[`p${lengths.length - 1}`] ?? {}, { after: 'p1' })
    for (const prefetch of [true, false]) {
      const { list, fetch } = setUp(pages)
      const { seen, error } = await readUntilError(list.list({}, { prefetch }))
      expect(error).toBeInstanceOf(PaginationError)
      expect(error).toMatchObject({ operation: 'conversations.list', outcome: 'no-effect', remedy: 'fix' })
      expect(seen).toEqual(expected)
      expect(fetch.requests).toHaveLength(lengths.length)
    }
  })

  test("that repeats the caller's start makes the loop reject with a PaginationError, after one request", async () => {
    for (const cursor of ['after', 'before'] as const) {
      const { list, fetch } = setUp({ a: { data: items(1), [cursor]: 'a' } }, cursor)
      expect(await rejection(all(list.list({ [cursor]: 'a' })))).toBeInstanceOf(PaginationError)
      expect(fetch.requests).toHaveLength(1)
    }
  })

  test('in `extraQuery` is where the list begins, and not where its next page does', async () => {
    const { list, queries } = setUp({ b: { data: items(2), after: 'c' }, c: { data: items(3) } })
    expect(await all(list.list({}, { extraQuery: { after: 'b' } }))).toEqual(items(2, 3))
    expect(queries.map(({ after }) => after)).toEqual(['b', 'c'])
    const endless = setUp({ b: { data: items(2), after: 'b' } })
    expect(await rejection(all(endless.list.list({}, { extraQuery: { after: 'b' } })))).toBeInstanceOf(PaginationError)
    expect(endless.queries).toHaveLength(2)
  })

  test('that repeats in a list made with POST does not say that the requests had no effect', async () => {
    const search = defineOperation({ id: 'search', method: 'POST', path: '/search', envelope: 'list' })
    const list = makeClient({ fetch: scripted(json(page(items(1), 'a'))) }).call(search, { query: { after: 'a' } })
    expect(await rejection(all(list))).toMatchObject({ name: 'PaginationError', outcome: 'unknown' })
  })

  test('that repeats is harmless when it is not followed', async () => {
    const { list } = setUp({ '': { data: items(1), after: 'a' }, a: { data: items(2), after: 'a' } })
    expect(await ids(list.list({}, { maxItems: 2 }))).toEqual(['1', '2'])
  })

  test.each([
    ['a number', { after: 7 }],
    ['an object', { after: {} }],
    ['a boolean', { before: true }],
    ['no Unicode text', { after: 'half\ud83d' }],
    ['longer than a URL', { after: 'x'.repeat(16_385) }],
  ])('that is %s makes the loop reject instead of end', async (_, metadata) => {
    const fetch = scripted(json({ data: items(1), page_metadata: metadata }))
    const error = await rejection(all(makeClient({ fetch }).conversations.list()))
    expect(error).toBeInstanceOf(UnexpectedResponseError)
    expect(error).toMatchObject({ reason: 'envelope' })
  })
})

describe('maxItems', () => {
  const pagesByCursor: PagesByCursor = {
    '': { data: items(1, 2), after: 'a' },
    a: { data: items(3, 4), after: 'b' },
    b: { data: items(5, 6), after: 'c' },
    c: { data: items(7), after: null },
  }

  test.each([
    [0, [], 0],
    [1, ['1'], 1],
    [2, ['1', '2'], 1],
    [3, ['1', '2', '3'], 2],
    [4, ['1', '2', '3', '4'], 2],
    [5, ['1', '2', '3', '4', '5'], 3],
    [100, ['1', '2', '3', '4', '5', '6', '7'], 4],
  ])('of %i returns at most that many items and requests no further page', async (maxItems, expected, requests) => {
    for (const prefetch of [true, false]) {
      const iterated = setUp(pagesByCursor)
      expect(await ids(iterated.list.list({}, { maxItems, prefetch }))).toEqual(expected)
      expect(iterated.fetch.requests).toHaveLength(requests)
      const collected = setUp(pagesByCursor)
      const array = await collected.list.list({}, { prefetch }).toArray({ maxItems })
      expect(array.map(({ id }) => id)).toEqual(expected)
      expect(collected.fetch.requests).toHaveLength(requests)
      const paged = setUp(pagesByCursor)
      expect(await all(paged.list.list({}, { maxItems, prefetch }).pages())).toHaveLength(requests)
      expect(paged.fetch.requests).toHaveLength(requests)
    }
  })

  test('does not cut a page, so that its cursor stays valid', async () => {
    const { list } = setUp(pagesByCursor)
    const pages = await all(list.list({}, { maxItems: 3 }).pages())
    const last: Page<Item> = { data: items(3, 4), after: 'b', before: null, checkpoint: at('b') }
    expect(pages.at(-1)).toEqual(last)
  })

  test('of toArray() overrides that of the list', async () => {
    const { list } = setUp(pagesByCursor)
    expect(await list.list({}, { maxItems: 5 }).toArray({ maxItems: 1 })).toHaveLength(1)
    expect(await list.list({}, { maxItems: 5 }).toArray()).toHaveLength(5)
    expect(await list.list().toArray()).toHaveLength(7)
  })

  test.each([-1, 1.5, Number.NaN, '5', null])('of %o is rejected', async (maxItems) => {
    await invalidArgument(({ contacts }) => contacts.list({}, { maxItems: maxItems as number }))
  })

  test.each([0, -1, 1.5, Number.NaN, '5'])('does not replace a limit of %o, which is rejected', async (limit) => {
    await invalidArgument(({ contacts }) => contacts.list({ limit: limit as number }))
  })
})

test('a checkpoint that is stored as JSON after each page resumes the list with every item once and in order', async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(
      sizes,
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom('forward' as const, 'backward' as const),
      async (lengths, pagesPerRun, direction) => {
        const cursor = direction === 'forward' ? 'after' : 'before'
        const { pages, ids: expected } = pagesOf(lengths, cursor)
        const { list, fetch } = setUp(pages, cursor)
        const seen: string[] = []
        let stored = 'null'
        for (let run = 0; run <= lengths.length; run += 1) {
          let left = pagesPerRun
          const options = { resumeFrom: JSON.parse(stored), direction, prefetch: false }
          for await (const { data, checkpoint } of list.list({}, options).pages()) {
            seen.push(...data.map(({ id }) => id))
            stored = JSON.stringify(checkpoint)
            left -= 1
            if (left === 0) break
          }
        }
        expect(seen).toEqual(expected)
        expect(JSON.parse(stored)).toEqual(finished)
        expect(fetch.requests).toHaveLength(lengths.length)
      },
    ),
    { numRuns: 100 },
  )
})

describe('resumeFrom', () => {
  test('continues after its cursor, whether the list is awaited or iterated', async () => {
    const { list, queries } = setUp(threePages)
    const conversations = list.list({ limit: 2, after: null, before: undefined }, { resumeFrom: at('a') })
    expect((await conversations).data).toEqual(items(3, 4))
    expect(await ids(conversations)).toEqual(['3', '4', '5'])
    expect(await conversations.toArray({ maxItems: 1 })).toEqual(items(3))
    expect(await all(conversations.pages())).toHaveLength(2)
    expect(queries[0]).toEqual({ limit: '2', after: 'a' })
  })

  test('of a finished list returns no items and sends nothing', async () => {
    const { list, fetch } = setUp(threePages)
    const conversations = list.list({ limit: 2 }, { resumeFrom: finished })
    expect(await ids(conversations)).toEqual([])
    expect(await all(conversations.pages())).toEqual([])
    expect(await conversations.toArray()).toEqual([])
    expect(await conversations.toArray({ maxItems: 5 })).toEqual([])
    expect(fetch.requests).toHaveLength(0)
  })

  test('of a finished list has no first page: awaiting it rejects and says how to start a new round', async () => {
    const { list, fetch } = setUp(threePages)
    const conversations = list.list({}, { resumeFrom: finished })
    for (const use of [conversations, conversations.withResponse()]) {
      const error = await rejection(use)
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error).toMatchObject({ argument: 'resumeFrom', hint: expect.stringMatching(/Leave out .+ new round/) })
    }
    expect(fetch.requests).toHaveLength(0)
  })

  test.each([null, start, at('b'), finished])('of %o excludes a cursor in the query', async (resumeFrom) => {
    for (const cursor of ['after', 'before']) {
      const { list, fetch } = setUp(threePages)
      const conversations = list.list({ [cursor]: 'a' }, { resumeFrom })
      for (const use of [conversations, all(conversations), conversations.toArray()]) {
        const error = await rejection(use)
        expect(error).toBeInstanceOf(InvalidArgumentError)
        expect(error).toMatchObject({ argument: 'resumeFrom', message: expect.stringContaining(`\`${cursor}\``) })
      }
      expect(fetch.requests).toHaveLength(0)
    }
  })

  test.each<[string, unknown]>([
    ['JSON text', JSON.stringify(at('private'))],
    ['a cursor', 'private'],
    ['a number', 7],
    ['no done', { cursor: 'private' }],
    ['a done that is text', { cursor: 'private', done: 'false' }],
    ['no cursor', { done: false }],
    ['an empty cursor', { cursor: '', done: false }],
    ['a cursor although it is done', { cursor: 'private', done: true }],
    ['another field', { ...start, page: 2 }],
    ['__proto__ from JSON', JSON.parse('{"cursor":null,"done":false,"__proto__":{}}')],
  ])('of %s is rejected without being quoted', async (_, value) => {
    const error = await invalidArgument(({ contacts }) => contacts.list({}, { resumeFrom: value as Checkpoint }))
    expect(error).toMatchObject({ argument: 'resumeFrom', message: expect.stringContaining('{ cursor, done: false }') })
    expect(error.stack).not.toContain('private')
  })
})

/** Every way to request a page with a cursor as the first page of a list. */
const waysToStart: [string, { after?: string; before?: string }, ListOptions][] = [
  ['after', { after: 'gone' }, {}],
  ['before', { before: 'gone' }, {}],
  ['resumeFrom', {}, { resumeFrom: at('gone') }],
  ['resumeFrom of a backward list', {}, { resumeFrom: at('gone'), direction: 'backward' }],
]

describe('a cursor that the service rejects', () => {
  test.each(waysToStart)('from %s makes every use of the list reject with its refusal', async (_, query, options) => {
    for (const status of [400, 410, 414, 422, 431]) {
      const fetch = scripted(refusal(status, 'some_code', { 'x-request-id': 'r1' }))
      const list = makeClient({ fetch }).conversations.list({ limit: 2, ...query }, options)
      for (const use of [list, list.withResponse(), list.toArray(), all(list), all(list.pages())]) {
        const error = await rejection(use)
        expect((error as Error).constructor).toBe(CursorRejectedError)
        expect(error).toBeInstanceOf(BadRequestError)
        expect(error).toMatchObject({
          status,
          code: 'some_code',
          description: 'It was some_code.',
          requestId: 'r1',
          response: { status },
          operation: 'conversations.list',
          outcome: 'refused',
          remedy: 'fix',
          attempts: [{ status, error: 'CursorRejectedError' }],
        })
      }
      // An awaited list sends one request, however often it is awaited.
      expect(fetch.requests).toHaveLength(4)
    }
  })

  test('has a message with the next steps', async () => {
    const { list } = setUp(threePages)
    expect(String(await rejection(list.list({ after: 'gone' })))).toBe(
      'CursorRejectedError: conversations.list failed with 400 invalid_request: It was invalid_request. ' +
        'The service no longer accepts the cursor: it may have expired, or belong to another list or query. ' +
        'How long a cursor is valid is not documented. ' +
        'Read the list from its start: leave out `resumeFrom`, `after` and `before`.',
    )
  })

  test('makes the loop reject in the middle of the list, after the items so far', async () => {
    for (const prefetch of [true, false]) {
      const { list, fetch } = setUp({ '': { data: items(1), after: 'a' }, a: { data: items(2), after: 'gone' } })
      const { seen, error } = await readUntilError(list.list({}, { prefetch }))
      expect(error).toBeInstanceOf(CursorRejectedError)
      expect(seen).toEqual(['1', '2'])
      expect(fetch.requests).toHaveLength(3)
    }
  })

  test.each([
    [401, 'invalid_token', AuthenticationError],
    [403, 'forbidden', PermissionDeniedError],
    [404, 'not_found', NotFoundError],
    [409, 'conflict', ApiError],
    [500, 'oops', ServerError],
    [422, 'actor_self_required', ActorSelfRequiredError],
    [400, 'insufficient_scope', InsufficientScopeError],
  ])('is not blamed for a %i %s', async (status, code, ErrorClass) => {
    const fetch = scripted(refusal(status, code))
    const { conversations } = makeClient({ fetch, maxRetries: 0 })
    const error = await rejection(conversations.list({ after: 'gone' }))
    expect((error as Error).constructor).toBe(ErrorClass)
    expect(fetch.requests).toHaveLength(1)
  })

  test('is not blamed if the request had none, or was not for a list', async () => {
    const fetch = scripted(refusal(400, 'invalid_request'))
    const client = makeClient({ fetch })
    for (const call of [
      client.conversations.list({ limit: 2, after: null }),
      client.conversations.list({ before: null }, { direction: 'backward' }),
      client.conversations.list({}, { resumeFrom: start }),
      client.request('GET', '/api/oauth/v1/conversations', { query: { after: 'gone' } }),
    ]) {
      expect(((await rejection(call)) as Error).constructor).toBe(BadRequestError)
    }
    expect(fetch.requests).toHaveLength(4)
  })
})

describe('an abort', () => {
  test('ends a loop over items at the next item, even within a page', async () => {
    const { list } = setUp({ '': { data: items(1, 2, 3) } })
    const controller = new AbortController()
    const loop = list.list({}, { signal: controller.signal })[Symbol.asyncIterator]()
    expect(await loop.next()).toEqual({ done: false, value: { id: '1' } })
    controller.abort('enough')
    expect(await rejection(loop.next())).toBe('enough')
  })

  test('ends a loop over pages at the next page, even if it was prefetched', async () => {
    const { list, fetch } = setUp(threePages)
    const controller = new AbortController()
    const pages = list.list({}, { signal: controller.signal }).pages()
    await pages.next()
    await pages.next()
    // More turns than a scripted response takes, so that the next page has arrived.
    await turns(20)
    expect(fetch.requests).toHaveLength(3)
    controller.abort('enough')
    expect(await rejection(pages.next())).toBe('enough')
  })
})
