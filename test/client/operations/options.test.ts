import { expect, test } from 'vitest'
import { operations } from '../../../src/client/resources/built-in-operations.ts'
import { json, makeClient, page, scripted } from '../../helpers/client.ts'
import { run } from './calls.ts'

const ids = { conversation: 'c', message: 'm', contact: 'k', member: 'u', task: 't', segment: 's' }
const rows = operations.map((operation) => [operation.id, operation] as const)
const bodies = { list: page([]), item: { data: { id: '1' } }, bare: {}, none: {}, any: {} }

test.each(rows)('%s passes on its options and, for a list, its query', async (id, { envelope = 'item', body }) => {
  const fetch = scripted(json(bodies[envelope]))
  const extraBody = { probe: { deep: [1] } }
  const options = { headers: { 'x-probe': id }, extraQuery: { probe: ['a', 'b'] }, ...(body && { extraBody }) }
  await run(id, makeClient({ fetch }), ids, options)
  expect(fetch.requests).toHaveLength(1)
  const [request] = fetch.requests
  expect(request?.headers.get('x-probe')).toBe(id)
  const expected = envelope === 'list' ? '?limit=2&probe=a&probe=b' : '?probe=a&probe=b'
  expect(new URL(request?.url ?? '').search).toBe(expected)
  if (body !== undefined) expect(await request?.json()).toMatchObject(extraBody)
})

test.each(rows.filter(([, { envelope }]) => envelope === 'list'))('%s accepts list options', async (id) => {
  const fetch = scripted(json(page([{ id: '1' }, { id: '2' }], null, 'b')))
  const resumeFrom = { cursor: 'cursor', done: false }
  const call = run(id, makeClient({ fetch }), ids, { direction: 'backward', maxItems: 3, prefetch: false, resumeFrom })
  const seen: unknown[] = []
  for await (const item of call as unknown as AsyncIterable<unknown>) seen.push(item)
  expect(seen).toHaveLength(3)
  expect(fetch.queries()).toEqual(['?limit=2&before=cursor', '?limit=2&before=b'])
})
