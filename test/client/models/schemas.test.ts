import { type StandardSchemaV1, schemas } from 'support-workspace-sdk'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { json, page, rejection } from '../../helpers/client.ts'
import { samples } from './samples.ts'

const names = Object.keys(schemas) as (keyof typeof schemas)[]

/** Returns the paths of the documented fields of a sample. */
function fieldsOf(sample: object): string[][] {
  return Object.entries(sample).flatMap(([key, value]) => {
    const isOpen = ['meta_info', 'source_info', 'attributes', 'bot_configuration'].includes(key)
    const inner = typeof value === 'object' && value !== null && !isOpen ? fieldsOf(value) : []
    return [[key], ...inner.map((path) => [key, ...path])]
  })
}

async function validate(name: keyof typeof schemas, value: unknown): Promise<StandardSchemaV1.Result<unknown>> {
  return schemas[name]['~standard'].validate(value)
}

describe.each(names)('the schema of %s', (name) => {
  const sample = samples[name]

  test('is a Standard Schema, version 1', () => {
    expect(schemas[name]['~standard']).toMatchObject({ version: 1, vendor: expect.any(String) })
  })

  test('accepts the sample of the reference unchanged', async () => {
    expect(await validate(name, structuredClone(sample))).toEqual({ value: sample })
  })

  test.each(fieldsOf(sample).map((path) => [path.join('.'), path]))(
    'reports a wrong type of %s at its path',
    async (_, path) => {
      const value = JSON.parse(JSON.stringify(sample))
      const owner = path.slice(0, -1).reduce<object>((inner, key) => Reflect.get(inner, key), value)
      Reflect.set(owner, path.at(-1) ?? '', Symbol('no JSON'))
      const { issues } = await validate(name, value)
      expect(issues?.map((issue) => issue.path)).toEqual([path.map((key) => (/^\d+$/.test(key) ? Number(key) : key))])
    },
  )

  test('accepts null and absence in every field except the id', async () => {
    const fields = Object.keys(sample).filter((field) => field !== 'id')
    const nulls = { ...sample, ...Object.fromEntries(fields.map((field) => [field, null])) }
    expect(await validate(name, nulls)).toEqual({ value: nulls })
    const bare = 'id' in sample ? { id: sample.id } : {}
    expect(await validate(name, bare)).toEqual({ value: bare })
  })

  test('keeps unknown fields', async () => {
    const more = { ...sample, brand_new: { deep: [1, null] } }
    expect(await validate(name, more)).toEqual({ value: more })
  })

  test.each([[null], ['text'], [[]], [7]])('rejects %j', async (value) => {
    const { issues } = await validate(name, value)
    expect(issues).toEqual([expect.objectContaining({ expected: 'object', path: [] })])
  })
})

test('the schemas accept unknown enum values', async () => {
  for (const [name, value] of [
    ['member', { id: 'm', role: 'a role of the future' }],
    ['me', { actor: 'an actor of the future', scopes: ['tags:read', 'odd'] }],
    ['conversation', { id: 'c', status: 'a status of the future' }],
  ] as const) {
    expect(await validate(name, value)).toEqual({ value })
  }
})

test('the schemas reject an object without its id', async () => {
  for (const name of names.filter((candidate) => 'id' in samples[candidate])) {
    const { id, ...rest } = samples[name] as { id: string }
    expect((await validate(name, rest)).issues?.[0]?.path, id).toEqual(['id'])
  }
})

test('if the schemas cannot be loaded, a write is not sent, and a read returns its data unless the client is strict', async () => {
  vi.resetModules()
  vi.doMock('../../../src/client/schemas/validate.ts', () => {
    throw new Error('404')
  })
  onTestFinished(() => void vi.doUnmock('../../../src/client/schemas/validate.ts'))
  const { SupportWorkspace } = await import('../../../src/index.ts')
  const fetch = vi.fn(async () => json(page([{ id: 7 }])))
  const options = { baseUrl: 'https://api.test', accessToken: 'swot_token', actor: 'self', fetch } as const
  const workspace = new SupportWorkspace(options)
  expect(await rejection(workspace.contacts.create({ email: 'ada@example.com' }))).toMatchObject({
    message: expect.stringContaining('schemas of this package could not be loaded'),
    outcome: 'not-sent',
    remedy: 'retry',
  })
  expect(fetch).not.toHaveBeenCalled()
  expect((await workspace.contacts.list()).data).toEqual([{ id: 7 }])
  const strict = new SupportWorkspace({ ...options, validation: 'strict' }).contacts.list()
  expect(await rejection(strict)).toMatchObject({ name: 'UnexpectedResponseError', reason: 'schema' })
})
