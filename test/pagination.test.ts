import fc from 'fast-check'
import { InvalidArgumentError, type Page, PaginationError, UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, page, refusal, rejection, scripted } from './helpers/client.ts'
import { turns } from './helpers/turns.ts'

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

const ids = async (values: AsyncIterable<{ id: string }>) => (await all(values)).map(({ id }) => id)

const threePages: PagesByCursor = {
  '': { data: items(1, 2), after: 'a' },
  a: { data: items(3, 4), after: 'b', before: 'z' },
  b: { data: items(5), after: null, before: 'a' },
}

describe('a list', () => {
  test('resolves to its first page, with the cursors to continue from', async () => {
    const { list, queries } = setUp(threePages)
    const first = await list.list({ limit: 2 })
    expect(first).toEqual({ data: items(1, 2), after: 'a', before: null })
    expect(queries).toEqual([{ limit: '2' }])
  })

  test('iterates over every item, page after page', async () => {
    const { list, queries } = setUp(threePages)
    expect(await ids(list.list({ limit: 2 }))).toEqual(['1', '2', '3', '4', '5'])
    expect(queries).toEqual([{ limit: '2' }, { limit: '2', after: 'a' }, { limit: '2', after: 'b' }])
  })

  test('iterates over its pages with pages(), each with a cursor to resume from', async () => {
    const { list } = setUp(threePages)
    const pages = await all(list.list().pages())
    expect(pages.map(({ after, before }) => [after, before])).toEqual([
      ['a', null],
      ['b', 'z'],
      [null, 'a'],
    ])
  })

  test('sends nothing until it is used', async () => {
    const { list, fetch } = setUp(threePages)
    const conversations = list.list()
    conversations.pages()
    conversations[Symbol.asyncIterator]()
    await Promise.resolve()
    expect(fetch.requests).toHaveLength(0)
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

  test('sends one request when the caller leaves on the first page', async () => {
    const { list, fetch } = setUp(threePages)
    for await (const { id } of list.list()) if (id === '2') break
    expect(fetch.requests).toHaveLength(1)
  })

  test('continues from a saved cursor', async () => {
    const { list, queries } = setUp(threePages)
    expect(await ids(list.list({ after: 'a' }))).toEqual(['3', '4', '5'])
    expect(queries[0]).toEqual({ after: 'a' })
  })

  test.each([null, undefined])('starts at the beginning with a cursor of %s', async (after) => {
    const { list } = setUp(threePages)
    expect(await ids(list.list({ after }))).toEqual(['1', '2', '3', '4', '5'])
  })

  test('keeps its other parameters on each page', async () => {
    const { list, queries } = setUp(threePages)
    await all(list.list({}, { extraQuery: { status: 'open' } }))
    expect(queries.map(({ status }) => status)).toEqual(['open', 'open', 'open'])
  })

  test('follows `before` with direction backward', async () => {
    const { list, queries } = setUp(
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

  test('rejects `after` and `before` together, in either direction', async () => {
    for (const direction of ['forward', 'backward', undefined] as const) {
      const { list, fetch } = setUp(threePages)
      const error = await rejection(all(list.list({ after: 'a', before: 'b' }, { direction })))
      expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'before' })
      expect(fetch.requests).toHaveLength(0)
    }
  })

  test('does not change its query and options', async () => {
    const { list } = setUp(threePages)
    const query = Object.freeze({ limit: 2 })
    const options = Object.freeze({ maxItems: 4 })
    await all(list.list(query, options))
    expect([query, options]).toEqual([{ limit: 2 }, { maxItems: 4 }])
  })

  test('handles a page of 100,000 items', async () => {
    const data = Array.from({ length: 100_000 }, (_, index) => ({ id: String(index) }))
    const { list } = setUp({ '': { data } })
    expect(await ids(list.list())).toEqual(data.map(({ id }) => id))
  })
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
    expect(await list).toEqual({ data: items(1), after: null, before: null })
  })

  test('is not an empty page that has a cursor', async () => {
    const { list } = setUp({
      '': { data: [], after: 'a' },
      a: { data: [], after: 'b' },
      b: { data: items(1), after: 'c' },
      c: { data: [], after: 'd' },
      d: { data: [] },
    })
    expect(await ids(list.list())).toEqual(['1'])
    expect((await all(list.list().pages())).map(({ data }) => data.length)).toEqual([0, 0, 1, 0, 0])
  })

  test('comes after every item was returned once and in order, for pages of any size', async () => {
    const sizes = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 7 })), { minLength: 1, maxLength: 25 })
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.boolean(),
        fc.constantFrom('forward', 'backward'),
        async (lengths, prefetch, direction) => {
          let next = 0
          const cursor = direction === 'forward' ? 'after' : 'before'
          const pagesByCursor: PagesByCursor = {}
          for (const [index, length] of lengths.entries()) {
            const data = items(...Array.from({ length }, () => next++))
            pagesByCursor[index === 0 ? '' : `p${index}`] = {
              data,
              [cursor]: index + 1 < lengths.length ? `p${index + 1}` : null,
            }
          }
          const { list, fetch } = setUp(pagesByCursor, cursor as 'after')
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
  ] as [string, PagesByCursor, string[]][])(
    'that repeats %s makes the loop reject with a PaginationError, after the items so far',
    async (_, pagesByCursor, expected) => {
      for (const prefetch of [true, false]) {
        const { list, fetch } = setUp(pagesByCursor)
        const seen: string[] = []
        const error = await rejection(
          (async () => {
            for await (const { id } of list.list({}, { prefetch })) seen.push(id)
          })(),
        )
        expect(error).toBeInstanceOf(PaginationError)
        expect(error).toMatchObject({ operation: 'conversations.list', outcome: 'refused' })
        expect(seen).toEqual(expected)
        expect(fetch.requests).toHaveLength(Object.keys(pagesByCursor).length)
      }
    },
  )

  test("that repeats the caller's start makes the loop reject with a PaginationError, after one request", async () => {
    for (const cursor of ['after', 'before'] as const) {
      const { list, fetch } = setUp({ a: { data: items(1), [cursor]: 'a' } }, cursor)
      expect(await rejection(all(list.list({ [cursor]: 'a' })))).toBeInstanceOf(PaginationError)
      expect(fetch.requests).toHaveLength(1)
    }
  })

  test('that repeats is harmless when it is not followed', async () => {
    const { list } = setUp({ '': { data: items(1), after: 'a' }, a: { data: items(2), after: 'a' } })
    expect(await ids(list.list({}, { maxItems: 2 }))).toEqual(['1', '2'])
  })

  test.each([
    ['a number', { after: 7 }],
    ['an object', { after: {} }],
    ['a boolean', { before: true }],
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
    expect(pages.at(-1)).toEqual({ data: items(3, 4), after: 'b', before: null } satisfies Page<Item>)
  })

  test('is independent of the page size', async () => {
    const { list, queries } = setUp(pagesByCursor)
    await all(list.list({ limit: 2 }, { maxItems: 3 }))
    expect(queries).toEqual([{ limit: '2' }, { limit: '2', after: 'a' }])
  })

  test('of toArray() overrides that of the list', async () => {
    const { list } = setUp(pagesByCursor)
    expect(await list.list({}, { maxItems: 5 }).toArray({ maxItems: 1 })).toHaveLength(1)
    expect(await list.list({}, { maxItems: 5 }).toArray()).toHaveLength(5)
    expect(await list.list().toArray()).toHaveLength(7)
  })

  test.each([-1, 1.5, Number.NaN, '5', null])('of %o is rejected', async (maxItems) => {
    const list = setUp(pagesByCursor).list.list({}, { maxItems: maxItems as number })
    expect(await rejection(list)).toBeInstanceOf(InvalidArgumentError)
  })

  test.each([0, -1, 1.5, Number.NaN, '5'])('does not replace a limit of %o, which is rejected', async (limit) => {
    expect(await rejection(setUp(pagesByCursor).list.list({ limit: limit as number }))).toBeInstanceOf(
      InvalidArgumentError,
    )
  })
})

describe('an abort', () => {
  test('before the loop sends nothing', async () => {
    const { list, fetch } = setUp(threePages)
    const reason = new Error('no')
    expect(await rejection(all(list.list({}, { signal: AbortSignal.abort(reason) })))).toBe(reason)
    expect(await rejection(list.list({}, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(fetch.requests).toHaveLength(0)
  })

  test('ends a loop over items at the next item, even within a page', async () => {
    const { list } = setUp({ '': { data: items(1, 2, 3) } })
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

  test('ends a loop over pages at the next page, even if it was prefetched', async () => {
    const { list, fetch } = setUp(threePages)
    const controller = new AbortController()
    const seen: unknown[] = []
    const loop = async () => {
      for await (const { data } of list.list({}, { signal: controller.signal }).pages()) {
        seen.push(data)
        if (seen.length < 2) continue
        // More turns than a scripted response takes, so that the next page has arrived.
        await turns(20)
        expect(fetch.requests).toHaveLength(3)
        controller.abort('enough')
      }
    }
    expect(await rejection(loop())).toBe('enough')
    expect(seen).toHaveLength(2)
  })
})

describe('a page that fails', () => {
  test('makes the loop reject, after the items before it', async () => {
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
