import fc from 'fast-check'
import { type Drift, type SupportWorkspace, UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { samples } from '../client/models/samples.ts'
import { json, makeClient, page, rejection, scripted } from '../helpers/client.ts'

/** Gets one member from a response with the given data, and records the reported drift. */
async function read(data: unknown, validation?: 'observe' | 'strict' | 'off') {
  const drifts: Drift[] = []
  const client = makeClient({ fetch: scripted(json({ data })), validation, onDrift: (drift) => drifts.push(drift) })
  return { drifts, member: await client.members.get('1') }
}

type List = (workspace: SupportWorkspace) => PromiseLike<{ data: unknown[] }>

/** Gets a list from a page with the given items, and records the reported drift. */
async function readList(items: unknown[], list: List = ({ conversations }) => conversations.list()) {
  const drifts: Drift[] = []
  const client = makeClient({ fetch: scripted(json(page(items))), onDrift: (drift) => drifts.push(drift) })
  return { drifts, data: (await list(client)).data }
}

const fields = [...Object.keys(samples.conversation), 'new_field']

/** A value of any type and depth, with recognizable strings and numbers. */
const marked = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant('MARKED-text'),
    fc.constant(987_654_321),
    fc.constant(null),
    fc.boolean(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...fields, 'name', 'email'), tie('value'), { maxKeys: 4 }),
  ),
})).value

const conversations = fc.array(fc.dictionary(fc.constantFrom(...fields), marked, { maxKeys: 8 }), { maxLength: 4 })

describe('observe mode (the default)', () => {
  test('returns any data as sent, and reports types and paths, but never a value', async () => {
    let reports = 0
    const types = ['string', 'number', 'boolean', 'object', 'array', 'null', 'missing']
    await fc.assert(
      fc.asyncProperty(conversations, async (items) => {
        const { data, drifts } = await readList(items)
        expect(data).toEqual(JSON.parse(JSON.stringify(items)))
        reports += drifts.length
        expect(JSON.stringify(drifts)).not.toMatch(/MARKED|987654321/)
        for (const drift of drifts) {
          expect(Object.keys(drift).sort()).toEqual(['count', 'expected', 'operation', 'path', 'received'])
          expect(drift.operation).toBe('conversations.list')
          expect(types).toContain(drift.received)
          expect([...types, 'int', 'record', 'unknown']).toContain(drift.expected)
          expect(drift.count).toBeGreaterThan(0)
        }
      }),
      { numRuns: 300 },
    )
    expect(reports).toBeGreaterThan(300)
  })

  test.each([
    ['a field of another type', { id: '1', archived: 'yes' }, ['archived: boolean, not string']],
    ['a nested field', { id: '1', user: { id: 7 } }, ['user.id: string, not number']],
    ['a missing id', {}, ['id: string, not missing']],
    ['a null id', { id: null }, ['id: string, not null']],
    ['several mismatches', { id: 1, role: [] }, ['id: string, not number', 'role: string, not array']],
  ])('reports %s', async (_, data, expected) => {
    const { drifts, member } = await read(data)
    const reported = drifts.map(({ path, expected, received }) => `${path.join('.')}: ${expected}, not ${received}`)
    expect(reported).toEqual(expected)
    expect(member).toEqual(data)
  })

  const attachments = [
    { id: 'a', file_size: '1' },
    { id: 'b', file_size: '2' },
  ]
  test.each<[string, List, unknown[], object[]]>([
    [
      'a field of a list once with a count, not once per item',
      ({ members }) => members.list(),
      Array.from({ length: 50 }, (_, index) => ({ id: index, archived: index < 3 ? 'no' : false })),
      [
        { operation: 'members.list', path: ['id'], expected: 'string', received: 'number', count: 50 },
        { operation: 'members.list', path: ['archived'], expected: 'boolean', received: 'string', count: 3 },
      ],
    ],
    [
      'a field of array elements once',
      ({ messages }) => messages.list('c1'),
      ['1', '2'].map((id) => ({ id, attachments })),
      [{ path: ['attachments', '*', 'file_size'], count: 4 }],
    ],
    [
      'no more than 1,000 invalid items of a page, because more say nothing new',
      ({ contacts }) => contacts.list(),
      Array.from({ length: 3_000 }, () => ({ id: 7 })),
      [{ path: ['id'], count: 1_000 }],
    ],
  ])('reports %s', async (_, list, items, expected) => {
    expect((await readList(items, list)).drifts).toMatchObject(expected)
  })

  test.each([
    ['null fields', { id: '1', role: null, archived: null, user: null }],
    ['missing fields', { id: '1' }],
    ['unknown fields', { id: '1', shoe_size: 43, nested: { deep: [1] } }],
    ['a new enum value', { id: '1', role: 'emperor' }],
  ])('returns %s unchanged without a report, and so do strict mode and off mode', async (_, data) => {
    for (const mode of ['observe', 'strict', 'off'] as const) {
      const { drifts, member } = await read(data, mode)
      expect(member).toEqual(data)
      expect(drifts).toEqual([])
    }
  })
})

describe('strict mode', () => {
  test('rejects a mismatch with its path and types, without the value', async () => {
    const error = await rejection(read({ id: '1', user: { id: 'u1', email: 987_654_321 } }, 'strict'))
    expect(error).toBeInstanceOf(UnexpectedResponseError)
    expect(error).toMatchObject({ reason: 'schema', outcome: 'no-effect', status: 200 })
    expect(String(error)).toContain('expected string in `user.email`, received number')
    expect(String(error)).not.toContain('987')
  })

  test('rejects a page with one invalid item', async () => {
    const client = makeClient({ fetch: scripted(json(page([{ id: '1' }, { id: 2 }]))), validation: 'strict' })
    expect(await rejection(client.members.list())).toMatchObject({ reason: 'schema' })
  })
})

describe('off mode', () => {
  test('reports nothing', async () => {
    const { drifts, member } = await read({ id: 7, user: 'x' }, 'off')
    expect([drifts, member]).toEqual([[], { id: 7, user: 'x' }])
  })

  test('still checks the envelope', async () => {
    const client = makeClient({ fetch: scripted(json({ data: {} })), validation: 'off' })
    expect(await rejection(client.conversations.list())).toMatchObject({ reason: 'envelope' })
  })
})
