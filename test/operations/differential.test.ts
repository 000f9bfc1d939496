import fc from 'fast-check'
import { expect, test } from 'vitest'
import { json, makeClient, page, scripted } from '../helpers/client.ts'

/** Changes every mutable part of a value. */
function scramble(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value)) scramble(inner)
  if (Array.isArray(value)) value.push('scrambled')
  else {
    for (const name of Object.keys(value)) Reflect.set(value, name, 'scrambled')
    Reflect.set(value, 'scrambled', true)
  }
}

test('the service receives the body as it was when the call was made, even if it changes later', async () => {
  const fetch = scripted(json({ data: { id: '1' } }))
  const workspace = makeClient({ fetch })
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), async (body, isCustom) => {
      const original = JSON.stringify(body)
      const call = isCustom ? workspace.request('POST', '/api/tags', { body }) : workspace.tasks.create(body)
      scramble(body)
      await call
      expect(await fetch.requests.at(-1)?.text()).toBe(original)
    }),
    { numRuns: 300 },
  )
})

test('each page is requested with the original query and options, even if they change between pages', async () => {
  const words = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(
      fc.record({ limit: fc.integer({ min: 1, max: 99 }) }),
      fc.dictionary(
        fc.string({ minLength: 1 }).filter((name) => !['limit', 'after', 'before', 'scrambled'].includes(name)),
        words,
      ),
      fc.boolean(),
      fc.integer({ min: 1, max: 5 }),
      async (query, extraQuery, prefetch, pages) => {
        let served = 0
        const fetch = scripted(() => {
          served += 1
          return json(page([{ id: String(served) }], served < pages ? `p${served + 1}` : null))
        })
        const headers = { 'x-probe': 'original' }
        const options = { extraQuery, headers, prefetch, maxItems: 99 }
        const expected = Object.entries(extraQuery).flatMap(([name, values]) => values.map((value) => [name, value]))
        const original = [['limit', String(query.limit)], ...expected]
        const list = makeClient({ fetch }).conversations.list(query, options)
        const change = () => {
          scramble(query)
          scramble(options)
        }
        change()
        let items = 0
        for await (const _item of list) {
          items += 1
          change()
        }
        expect(items).toBe(pages)
        for (const [index, { url, headers: sent }] of fetch.requests.entries()) {
          const after = index === 0 ? [] : [['after', `p${index + 1}`]]
          const sorted = (pairs: string[][]) => pairs.map((pair) => JSON.stringify(pair)).sort()
          expect(sorted([...new URL(url).searchParams])).toEqual(sorted([...original, ...after]))
          expect(sent.get('x-probe')).toBe('original')
        }
        expect(fetch.requests).toHaveLength(pages)
      },
    ),
    { numRuns: 200 },
  )
})
