import fc from 'fast-check'
import { InvalidArgumentError, type Page, PaginationError, UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, page, refusal, rejection, scripted } from './helpers/client.ts'

interface Item {
  readonly id: string
}

/** Pages by cursor; the first is at ''. Each gives its items, and the cursors to go on with. */
type Book = Record<string, { data: Item[]; after?: string | null; before?: string | null }>

/** A client of a list that is split into the given pages, and the queries that it was asked. */
function open(book: Book, cursor: 'after' | 'before' = 'after') {
  const queries: Record<string, string>[] = []
  const fetch = scripted((request) => {
    const query = Object.fromEntries(new URL(request.url).searchParams)
    queries.push(query)
    // A list that is followed without end fails instead of filling the memory.
    if (queries.length > 1_000) throw new Error('too many requests')
    const found = book[query[cursor] ?? '']
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

const ids = async (values: AsyncIterable<{ id: string }>) => (await all(values)).map(({ id }) => id)

const threePages: Book = {
  '': { data: items(1, 2), after: 'a' },
  a: { data: items(3, 4), after: 'b', before: 'z' },
  b: { data: items(5), after: null, before: 'a' },
}

describe('a list', () => {
  test('is its first page when it is awaited, with the cursors to go on from', async () => {
    const { list, queries } = open(threePages)
    const first = await list.list({ limit: 2 })
    expect(first).toEqual({ data: items(1, 2), after: 'a', before: null })
    expect(queries).toEqual([{ limit: '2' }])
  })

  test('is every item, page after page, when it is iterated', async () => {
    const { list, queries } = open(threePages)
    expect(await ids(list.list({ limit: 2 }))).toEqual(['1', '2', '3', '4', '5'])
    expect(queries).toEqual([{ limit: '2' }, { limit: '2', after: 'a' }, { limit: '2', after: 'b' }])
  })

  test('gives its pages with a resume point after each', async () => {
    const { list } = open(threePages)
    const pages = await all(list.list().pages())
    expect(pages.map(({ after, before }) => [after, before])).toEqual([
      ['a', null],
      ['b', 'z'],
      [null, 'a'],
    ])
  })

  test('sends nothing while nobody asks for anything', async () => {
    const { list, fetch } = open(threePages)
    const conversations = list.list()
    conversations.pages()
    conversations[Symbol.asyncIterator]()
    await Promise.resolve()
    expect(fetch.requests).toHaveLength(0)
  })

  test('sends one request when it is awaited twice', async () => {
    const { list, fetch } = open(threePages)
    const conversations = list.list()
    expect(await conversations).toBe(await conversations)
    expect((await conversations.withResponse()).response.status).toBe(200)
    expect(fetch.requests).toHaveLength(1)
  })

  test('starts anew each time it is iterated', async () => {
    const { list, fetch } = open(threePages)
    const conversations = list.list()
    const expected = ['1', '2', '3', '4', '5']
    expect(await Promise.all([ids(conversations), ids(conversations)])).toEqual([expected, expected])
    expect(await ids(conversations)).toEqual(expected)
    expect(fetch.requests).toHaveLength(9)
  })

  test('costs one request when the caller leaves on the first page', async () => {
    const { list, fetch } = open(threePages)
    for await (const { id } of list.list()) if (id === '2') break
    expect(fetch.requests).toHaveLength(1)
  })

  test('goes on from a saved cursor', async () => {
    const { list, queries } = open(threePages)
    expect(await ids(list.list({ after: 'a' }))).toEqual(['3', '4', '5'])
    expect(queries[0]).toEqual({ after: 'a' })
  })

  test.each([null, undefined])('starts at the beginning with a cursor of %s', async (after) => {
    const { list } = open(threePages)
    expect(await ids(list.list({ after }))).toEqual(['1', '2', '3', '4', '5'])
  })

  test('keeps its other parameters on each page', async () => {
    const { list, queries } = open(threePages)
    await all(list.list({}, { extraQuery: { status: 'open' } }))
    expect(queries.map(({ status }) => status)).toEqual(['open', 'open', 'open'])
  })

  test('follows `before` backwards when asked to', async () => {
    const { list, queries } = open(
      {
        z: { data: items(5, 6), after: 'ignored', before: 'y' },
        y: { data: [], after: 'z', before: 'x' },
        x: { data: items(1), after: 'y', before: null },
      },
      'before',
    )
    expect(await ids(list.list({ before: 'z', limit: 2 }, { direction: 'backward' }))).toEqual(['5', '6', '1'])
    expect(queries.map(({ before, after }) => [before, after])).toEqual([
      ['z', undefined],
      ['y', undefined],
      ['x', undefined],
    ])
  })

  test('follows `before` backwards when it starts there, unless told otherwise', async () => {
    const book: Book = {
      z: { data: items(5, 6), after: 'q', before: 'y' },
      y: { data: items(3), after: 'z', before: null },
      q: { data: items(9), after: null, before: 'z' },
    }
    const fetch = scripted(({ url }) => {
      const { after, before } = Object.fromEntries(new URL(url).searchParams)
      const { data, ...cursors } = book[after ?? before ?? ''] ?? { data: [] }
      return json(page(data, cursors.after, cursors.before))
    })
    const { conversations } = makeClient({ fetch })
    expect(await ids(conversations.list({ before: 'z' }))).toEqual(['5', '6', '3'])
    expect(await ids(conversations.list({ before: 'z', after: null }))).toEqual(['5', '6', '3'])
    expect(await ids(conversations.list({ before: 'z' }, { direction: 'forward' }))).toEqual(['5', '6', '9'])
    expect(await ids(conversations.list({ after: 'z' }, { direction: 'backward' }))).toEqual(['5', '6', '3'])
    expect(fetch.requests.map(({ url }) => new URL(url).search)).toEqual([
      '?before=z',
      '?before=y',
      '?before=z',
      '?before=y',
      '?before=z',
      '?after=q',
      '?after=z',
      '?before=y',
    ])
  })

  test('refuses `after` and `before` together, in either direction', async () => {
    for (const direction of ['forward', 'backward', undefined] as const) {
      const { list, fetch } = open(threePages)
      const error = await rejection(all(list.list({ after: 'a', before: 'b' }, { direction })))
      expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'before' })
      expect(fetch.requests).toHaveLength(0)
    }
  })

  test('never changes the query and options it was given', async () => {
    const { list } = open(threePages)
    const query = Object.freeze({ limit: 2 })
    const options = Object.freeze({ maxItems: 4 })
    await all(list.list(query, options))
    expect([query, options]).toEqual([{ limit: 2 }, { maxItems: 4 }])
  })

  test('takes a page of 100,000 items', async () => {
    const data = Array.from({ length: 100_000 }, (_, index) => ({ id: String(index) }))
    const { list } = open({ '': { data } })
    expect(await ids(list.list())).toEqual(data.map(({ id }) => id))
  })
})

describe('the end of a list', () => {
  test.each([
    ['null', { data: items(1), page_metadata: { after: null, before: null } }],
    ['absent', { data: items(1), page_metadata: {} }],
    ['empty', { data: items(1), page_metadata: { after: '', before: '' } }],
    ['without page_metadata', { data: items(1) }],
    ['with a page_metadata of null', { data: items(1), page_metadata: null }],
  ])('is a cursor that is %s', async (_, body) => {
    const fetch = scripted(json(body))
    const list = makeClient({ fetch }).conversations.list()
    expect(await ids(list)).toEqual(['1'])
    expect(fetch.requests).toHaveLength(1)
    expect(await list).toEqual({ data: items(1), after: null, before: null })
  })

  test('is not an empty page: while there is a cursor, it goes on', async () => {
    const { list } = open({
      '': { data: [], after: 'a' },
      a: { data: [], after: 'b' },
      b: { data: items(1), after: 'c' },
      c: { data: [], after: 'd' },
      d: { data: [] },
    })
    expect(await ids(list.list())).toEqual(['1'])
    expect((await all(list.list().pages())).map(({ data }) => data.length)).toEqual([0, 0, 1, 0, 0])
  })

  test('comes once each item was given once, in order, whatever the sizes of the pages', async () => {
    const sizes = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 7 })), { minLength: 1, maxLength: 25 })
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.boolean(),
        fc.constantFrom('forward', 'backward'),
        async (lengths, prefetch, direction) => {
          let next = 0
          const cursor = direction === 'forward' ? 'after' : 'before'
          const book: Book = {}
          for (const [index, length] of lengths.entries()) {
            const data = items(...Array.from({ length }, () => next++))
            book[index === 0 ? '' : `p${index}`] = {
              data,
              [cursor]: index + 1 < lengths.length ? `p${index + 1}` : null,
            }
          }
          const { list, fetch } = open(book, cursor as 'after')
          const expected = Array.from({ length: next }, (_, index) => String(index))
          expect(await ids(list.list({}, { prefetch, direction: direction as 'forward' }))).toEqual(expected)
          expect(fetch.requests).toHaveLength(lengths.length)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a cursor', () => {
  test('goes back exactly as it came, whatever characters it holds', async () => {
    const cursors = fc.uniqueArray(
      fc.oneof(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.constantFrom('+', '%2B', '==', '&x=1', '#', ' ', '\n', '0'),
      ),
      { minLength: 1, maxLength: 5 },
    )
    await fc.assert(
      fc.asyncProperty(cursors, fc.constantFrom('after', 'before'), async (names, cursor) => {
        const book: Book = Object.create(null)
        for (const [index, name] of ['', ...names].entries()) {
          book[name] = { data: items(index), [cursor]: names[index] ?? null }
        }
        const { list, queries } = open(book, cursor as 'after')
        const direction = cursor === 'after' ? 'forward' : 'backward'
        expect(await ids(list.list({}, { direction }))).toEqual(Object.keys(['', ...names]))
        expect(queries.slice(1).map((query) => query[cursor])).toEqual(names)
      }),
      { numRuns: 200 },
    )
  })

  test.each([
    ['at once', { '': { data: items(1), after: 'a' }, a: { data: items(2), after: 'a' } }, ['1', '2']],
    [
      'in a loop of two',
      { '': { data: items(1), after: 'a' }, a: { data: items(2), after: 'b' }, b: { data: items(3), after: 'a' } },
      ['1', '2', '3'],
    ],
    [
      'in a loop of three with empty pages',
      {
        '': { data: items(1), after: 'a' },
        a: { data: [], after: 'b' },
        b: { data: items(2), after: 'c' },
        c: { data: [], after: 'a' },
      },
      ['1', '2'],
    ],
  ] as [string, Book, string[]][])(
    'that comes again %s is a PaginationError, after the items so far',
    async (_, book, expected) => {
      for (const prefetch of [true, false]) {
        const { list, fetch } = open(book)
        const seen: string[] = []
        const error = await rejection(
          (async () => {
            for await (const { id } of list.list({}, { prefetch })) seen.push(id)
          })(),
        )
        expect(error).toBeInstanceOf(PaginationError)
        expect(error).toMatchObject({ operation: 'conversations.list', outcome: 'refused' })
        expect(seen).toEqual(expected)
        expect(fetch.requests).toHaveLength(Object.keys(book).length)
      }
    },
  )

  test('that is the one the caller started from is a PaginationError too, after one request', async () => {
    for (const cursor of ['after', 'before'] as const) {
      const { list, fetch } = open({ a: { data: items(1), [cursor]: 'a' } }, cursor)
      expect(await rejection(all(list.list({ [cursor]: 'a' })))).toBeInstanceOf(PaginationError)
      expect(fetch.requests).toHaveLength(1)
    }
  })

  test('that comes again does no harm where it is not followed', async () => {
    const { list } = open({ '': { data: items(1), after: 'a' }, a: { data: items(2), after: 'a' } })
    expect(await ids(list.list({}, { maxItems: 2 }))).toEqual(['1', '2'])
  })

  test.each([
    ['a number', { after: 7 }],
    ['an object', { after: {} }],
    ['a boolean', { before: true }],
  ])('that is %s is an error, not a silent end', async (_, metadata) => {
    const fetch = scripted(json({ data: items(1), page_metadata: metadata }))
    const error = await rejection(all(makeClient({ fetch }).conversations.list()))
    expect(error).toBeInstanceOf(UnexpectedResponseError)
    expect(error).toMatchObject({ reason: 'envelope' })
  })
})

describe('maxItems', () => {
  const book: Book = {
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
  ])('of %i gives as many items, and asks for no page beyond', async (maxItems, expected, requests) => {
    for (const prefetch of [true, false]) {
      const iterated = open(book)
      expect(await ids(iterated.list.list({}, { maxItems, prefetch }))).toEqual(expected)
      expect(iterated.fetch.requests).toHaveLength(requests)
      const collected = open(book)
      const array = await collected.list.list({}, { prefetch }).toArray({ maxItems })
      expect(array.map(({ id }) => id)).toEqual(expected)
      expect(collected.fetch.requests).toHaveLength(requests)
      const paged = open(book)
      expect(await all(paged.list.list({}, { maxItems, prefetch }).pages())).toHaveLength(requests)
      expect(paged.fetch.requests).toHaveLength(requests)
    }
  })

  test('cuts no page, so that its cursor stays true', async () => {
    const { list } = open(book)
    const pages = await all(list.list({}, { maxItems: 3 }).pages())
    expect(pages.at(-1)).toEqual({ data: items(3, 4), after: 'b', before: null } satisfies Page<Item>)
  })

  test('is another thing than the size of a page', async () => {
    const { list, queries } = open(book)
    await all(list.list({ limit: 2 }, { maxItems: 3 }))
    expect(queries).toEqual([{ limit: '2' }, { limit: '2', after: 'a' }])
  })

  test('of toArray goes before that of the list', async () => {
    const { list } = open(book)
    expect(await list.list({}, { maxItems: 5 }).toArray({ maxItems: 1 })).toHaveLength(1)
    expect(await list.list({}, { maxItems: 5 }).toArray()).toHaveLength(5)
    expect(await list.list().toArray()).toHaveLength(7)
  })

  test.each([-1, 1.5, Number.NaN, '5', null])('of %j is refused', async (maxItems) => {
    const list = open(book).list.list({}, { maxItems: maxItems as number })
    expect(await rejection(list)).toBeInstanceOf(InvalidArgumentError)
  })

  test.each([0, -1, 1.5, Number.NaN, '5'])('does not stand in for a limit of %j, which is refused', async (limit) => {
    expect(await rejection(open(book).list.list({ limit: limit as number }))).toBeInstanceOf(InvalidArgumentError)
  })
})

describe('an abort', () => {
  test('before the loop sends nothing', async () => {
    const { list, fetch } = open(threePages)
    const reason = new Error('no')
    expect(await rejection(all(list.list({}, { signal: AbortSignal.abort(reason) })))).toBe(reason)
    expect(await rejection(list.list({}, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(fetch.requests).toHaveLength(0)
  })

  test('ends the loop over items at the next one, in the middle of a page', async () => {
    const { list } = open({ '': { data: items(1, 2, 3) } })
    const controller = new AbortController()
    const seen: string[] = []
    const loop = async () => {
      for await (const { id } of list.list({}, { signal: controller.signal })) {
        seen.push(id)
        controller.abort('enough')
      }
    }
    expect(await rejection(loop())).toBe('enough')
    expect(seen).toEqual(['1'])
  })

  test('ends the loop over pages at the next one, also when that one was fetched ahead', async () => {
    const { list, fetch } = open(threePages)
    const controller = new AbortController()
    const seen: unknown[] = []
    const loop = async () => {
      for await (const { data } of list.list({}, { signal: controller.signal }).pages()) {
        seen.push(data)
        if (seen.length < 2) continue
        // More turns of the event loop than a scripted answer takes: the page ahead has come by now.
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
        expect(fetch.requests).toHaveLength(3)
        controller.abort('enough')
      }
    }
    expect(await rejection(loop())).toBe('enough')
    expect(seen).toHaveLength(2)
  })
})

describe('a page that fails', () => {
  test('fails the loop there, after the items before it', async () => {
    for (const prefetch of [true, false]) {
      const fetch = scripted(json(page(items(1), 'a')), json(page(items(2), 'b')), refusal(403, 'forbidden'))
      const seen: string[] = []
      const loop = async () => {
        for await (const { id } of makeClient({ fetch }).conversations.list({}, { prefetch })) seen.push(id)
      }
      expect(await rejection(loop())).toMatchObject({ status: 403 })
      expect(seen).toEqual(['1', '2'])
    }
  })
})
