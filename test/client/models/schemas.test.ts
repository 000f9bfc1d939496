import { type StandardSchemaV1, schemas } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { samples } from './samples.ts'

const names = Object.keys(schemas) as (keyof typeof schemas)[]

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

  test('reports a wrong type in any field at its path', async () => {
    for (const field of Object.keys(sample)) {
      const { issues } = await validate(name, { ...sample, [field]: Symbol('no JSON') })
      expect(
        issues?.map(({ path }) => path),
        field,
      ).toEqual([[field]])
    }
  })

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
