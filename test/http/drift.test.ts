import fc from 'fast-check'
import { type Drift, defineOperation, UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { json, makeClient, page, rejection, scripted } from '../helpers/client.ts'
import { failingCallbacks } from '../helpers/failing-callbacks.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

/** Gets one member from a response with the given data, and records the reported drift. */
async function read(data: unknown, validation?: 'observe' | 'strict' | 'off') {
  const drifts: Drift[] = []
  const client = makeClient({ fetch: scripted(json({ data })), validation, onDrift: (drift) => drifts.push(drift) })
  return { drifts, member: await client.members.get('1') }
}

const fields = [
  'id',
  'inserted_at',
  'initial_message',
  'is_spam',
  'status',
  'user',
  'pinned',
  'unread_count',
  'group',
  'meta_info',
  'conversation_assignee',
  'new_field',
]

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
  test('returns any data as sent', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, async (data) => {
        const client = makeClient({ fetch: scripted(json(page(data))), onDrift: () => {} })
        expect((await client.conversations.list()).data).toEqual(JSON.parse(JSON.stringify(data)))
      }),
      { numRuns: 300 },
    )
  })

  test('reports types and paths, and never a value', async () => {
    let reports = 0
    const types = ['string', 'number', 'boolean', 'object', 'array', 'null', 'missing']
    await fc.assert(
      fc.asyncProperty(conversations, async (data) => {
        const drifts: Drift[] = []
        const client = makeClient({ fetch: scripted(json(page(data))), onDrift: (drift) => drifts.push(drift) })
        await client.conversations.list()
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
    [
      'a field of another type',
      { id: '1', archived: 'yes' },
      [{ path: ['archived'], expected: 'boolean', received: 'string' }],
    ],
    [
      'a nested field',
      { id: '1', user: { id: 7 } },
      [{ path: ['user', 'id'], expected: 'string', received: 'number' }],
    ],
    ['a missing id', {}, [{ path: ['id'], expected: 'string', received: 'missing' }]],
    ['a null id', { id: null }, [{ path: ['id'], expected: 'string', received: 'null' }]],
    ['several mismatches', { id: 1, role: [] }, [{ path: ['id'] }, { path: ['role'], received: 'array' }]],
  ])('reports %s', async (_, data, expected) => {
    const { drifts, member } = await read(data)
    expect(drifts).toMatchObject(expected)
    expect(drifts).toHaveLength(expected.length)
    expect(member).toEqual(data)
  })

  test('reports a field of a list once with a count, not once per item', async () => {
    const drifts: Drift[] = []
    const items = Array.from({ length: 50 }, (_, index) => ({ id: index, archived: index < 3 ? 'no' : false }))
    const fetch = scripted(json(page(items)))
    await makeClient({ fetch, onDrift: (drift) => drifts.push(drift) }).members.list()
    expect(drifts).toEqual([
      { operation: 'members.list', path: ['id'], expected: 'string', received: 'number', count: 50 },
      { operation: 'members.list', path: ['archived'], expected: 'boolean', received: 'string', count: 3 },
    ])
  })

  test('reports a field of array elements once', async () => {
    const drifts: Drift[] = []
    const attachments = [
      { id: 'a', file_size: '1' },
      { id: 'b', file_size: '2' },
    ]
    const fetch = scripted(
      json(
        page([
          { id: '1', attachments },
          { id: '2', attachments },
        ]),
      ),
    )
    await makeClient({ fetch, onDrift: (drift) => drifts.push(drift) }).messages.list('c1')
    expect(drifts).toMatchObject([{ path: ['attachments', '*', 'file_size'], count: 4 }])
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

  test.each(failingCallbacks(new Error('broken')))('ignores an onDrift that %s', async (_, onDrift) => {
    const unhandled = await unhandledDuring(async () => {
      const client = makeClient({ fetch: scripted(json({ data: { id: 7 } })), onDrift })
      expect(await client.members.get('1')).toEqual({ id: 7 })
    })
    expect(unhandled).toEqual([])
  })
})

test('counts at most 1,000 invalid items of a page, because more say nothing new', async () => {
  const drifts: Drift[] = []
  const items = Array.from({ length: 3_000 }, () => ({ id: 7 }))
  await makeClient({
    fetch: async () => json(page(items)),
    onDrift: (drift) => void drifts.push(drift),
  }).contacts.list()
  expect(drifts).toMatchObject([{ path: ['id'], count: 1_000 }])
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

describe('a custom response schema', () => {
  const upperCase = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'string'
          ? { value: value.toUpperCase() }
          : { issues: [{ message: `not a string: ${value}` }] },
    },
  } as const
  const upperCaseName = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: { name: string }) => upperCase['~standard'].validate(value.name) as { value: string },
    },
  } as const

  test('transforms the response data', async () => {
    const operation = defineOperation({ id: 'x', method: 'GET', path: '/x', response: upperCaseName as never })
    expect(await makeClient({ fetch: scripted(json({ data: { name: 'a' } })) }).call(operation)).toBe('A')
  })

  test.each(failingCallbacks(new Error('MARKED')))(
    'that %s makes the call reject in every mode',
    async (_, validate) => {
      const response = { '~standard': { version: 1, vendor: 'test', validate } } as const
      const operation = defineOperation({ id: 'x', method: 'POST', path: '/x', response })
      for (const validation of ['observe', 'strict', 'off'] as const) {
        const fetch = scripted(json({ data: { name: 'MARKED' } }))
        const error = await rejection(makeClient({ fetch, validation }).call(operation))
        expect(error).toMatchObject({ reason: 'schema', outcome: 'unknown' })
        expect(String(error)).toContain('expected unknown in the body, received object')
        expect(String(error)).not.toContain('MARKED')
      }
    },
  )

  test('is named in one short line, whatever the keys of the response are', async () => {
    const response = z.record(z.string(), z.string())
    const operation = defineOperation({ id: 'x', method: 'GET', path: '/x', response })
    for (const key of ['a\nERROR forged', 'a\u2028ERROR forged', 'k'.repeat(5_000)]) {
      const error = (await rejection(
        makeClient({ fetch: scripted(json({ data: { [key]: 1 } })) }).call(operation),
      )) as Error
      expect(error.message).toMatch(
        /^x received an unusable response \(200\): expected string in `(a ERROR forged`|k{400})/,
      )
      expect(error.message.length).toBeLessThan(1_000)
    }
  })

  test('does not leak a payload that its issues quote as the expected type', async () => {
    const validate = () => ({ issues: [{ message: 'x', expected: 'MARKED' }] })
    const response = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const operation = defineOperation({ id: 'x', method: 'GET', path: '/x', response })
    const error = await rejection(makeClient({ fetch: scripted(json({ data: { name: 'MARKED' } })) }).call(operation))
    expect(String(error)).toContain('expected unknown in')
    expect(String(error)).not.toContain('MARKED')
  })
})
