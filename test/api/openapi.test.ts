import { describe, expect, test } from 'vitest'
import { openApiDocument } from '../../scripts/openapi.ts'
import { models, operations } from '../../src/api/index.ts'

// The tools of other houses check the document in test/openapi.

// biome-ignore lint/suspicious/noExplicitAny: a document of this project, whose parts the tests name
const document = openApiDocument() as any
const inDocument = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods as object).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

test('the document has at most 150 kB', () => {
  expect(JSON.stringify(document, null, 1).length).toBeLessThanOrEqual(150_000)
})

describe('an operation of the document', () => {
  test('is there for each operation of src/api, with its name and the call of this package', () => {
    const found = inDocument.map(({ path, method, operation }) => {
      return [operation['x-sdk-call'], method, path, operation.operationId, operation.security[0].oauth]
    })
    const expected = Object.values(operations).map(({ id, method, path, operationId, scope }) => {
      return [id, method, path, operationId, scope === undefined ? [] : [scope]]
    })
    expect(found.sort()).toEqual(expected.sort())
  })

  test('says how it is known, who may call it and whether it can be repeated', () => {
    for (const { operation } of inDocument) {
      const { evidence, sources, actor, repeat } = operations[operation['x-sdk-call'] as keyof typeof operations]
      expect(operation['x-evidence']).toEqual({ level: evidence, sources })
      expect([operation['x-actor'], operation['x-repeat']]).toEqual([actor, repeat])
    }
  })

  test.each([
    ['GET', { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
    ['POST', { readOnlyHint: false, destructiveHint: false, idempotentHint: false }],
    ['PATCH', { readOnlyHint: false, destructiveHint: true, idempotentHint: false }],
    ['DELETE', { readOnlyHint: false, destructiveHint: true, idempotentHint: true }],
  ])('with %s has the hints of an MCP tool', (method, hints) => {
    for (const each of inDocument.filter((candidate) => candidate.method === method)) {
      expect(each.operation['x-mcp']).toEqual({ ...hints, openWorldHint: true })
    }
  })

  test('wraps its response as documented: /me has no `data`, and lists may lack `page_metadata`', () => {
    const schemaOf = (path: string) =>
      document.paths[`/api/oauth/v1${path}`].get.responses[200].content['application/json'].schema
    expect(schemaOf('/me')).toMatchObject({ $ref: '#/components/schemas/Me', not: { required: ['data'] } })
    expect(schemaOf('/organization').required).toEqual(['data'])
    expect(schemaOf('/contacts')).toMatchObject({ required: ['data'], properties: { page_metadata: {} } })
  })
})

describe('a schema of the document', () => {
  const schemas = Object.entries(models).filter(([, { title }]) => Object.hasOwn(document.components.schemas, title))

  test('is there for each model that an operation sends or returns', () => {
    const used = Object.values(operations).flatMap(({ body, response }) => [body ?? [], response ?? []].flat())
    const names = schemas.map(([name]) => name)
    expect(used.filter((name) => !names.includes(name))).toEqual([])
    expect(names).toHaveLength(33)
  })

  test.each(schemas)('%s has the fields, types and required fields of src/api', (_, { title, fields }) => {
    const { properties, required = [] } = document.components.schemas[title]
    expect(Object.keys(properties)).toEqual(Object.keys(fields))
    expect(required).toEqual(Object.keys(fields).filter((name) => fields[name]?.required))
    for (const [name, field] of Object.entries(fields)) {
      expect(typesOf(properties[name]).sort(), name).toEqual([field.type, ...(field.nullable ? ['null'] : [])].sort())
    }
  })

  test.each(schemas)('%s says how name, meaning and null of each field are known', (_, { title, fields }) => {
    for (const [name, { evidence, meaning, nullable, sources }] of Object.entries(fields)) {
      const expected = {
        level: evidence,
        meaning: meaning.evidence,
        ...(nullable && { nullable: nullable.evidence }),
        sources,
      }
      expect(document.components.schemas[title].properties[name]['x-evidence'], name).toEqual(expected)
    }
  })

  test('allows unknown fields', () => {
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false')
  })
})

interface Schema {
  readonly type?: string | string[]
  readonly anyOf?: Schema[]
  readonly $ref?: string
}

function typesOf({ type, anyOf, $ref }: Schema): string[] {
  if ($ref !== undefined) return ['object']
  return anyOf === undefined ? [type ?? 'none'].flat() : anyOf.flatMap(typesOf)
}
