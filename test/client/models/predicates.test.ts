import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { all } from '../../../src/client/generated/schemas.ts'
import { predicateOf } from '../../../src/client/schemas/validate.ts'

const anything = fc.anything({ withNullPrototype: true, withSparseArray: true, withDate: true })

/** Mostly valid values of a schema, with fields missing, inherited, unknown, undefined, null or of another type. */
function valuesOf(schema: z.core.SomeType): fc.Arbitrary<unknown> {
  const valid = validValuesOf((schema as z.core.$ZodTypes)._zod.def)
  return fc.oneof({ weight: 20, arbitrary: valid }, { weight: 1, arbitrary: anything })
}

function validValuesOf(def: z.core.$ZodTypes['_zod']['def']): fc.Arbitrary<unknown> {
  switch (def.type) {
    case 'string':
      return fc.string()
    case 'boolean':
      return fc.boolean()
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true })
    case 'nullable':
      return fc.option(valuesOf(def.innerType))
    case 'optional':
      return valuesOf(def.innerType)
    case 'array':
      return fc.array(valuesOf(def.element), { maxLength: 3 })
    case 'object':
      return objectsOf(def.shape)
    default:
      throw new Error(`Add a generator for "${def.type}".`)
  }
}

function objectsOf(shape: z.core.$ZodShape): fc.Arbitrary<object> {
  const names = Object.keys(shape)
  const fields = Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, valuesOf(field)]))
  const required = names.filter((name) => shape[name]?._zod.optin === undefined)
  const own = fc.oneof(
    { weight: 20, arbitrary: fc.record(fields, { requiredKeys: required }) },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) },
  )
  const inherited = fc.option(fc.record(fields, { requiredKeys: [] }), { freq: 9 })
  return fc
    .tuple(own, inherited, fc.dictionary(fc.string(), anything, { maxKeys: 2 }))
    .map(([known, prototype, unknown]) => Object.assign(Object.create(prototype), unknown, known))
}

const schemas = Object.entries(all).map(([name, schema]) => [name, schema as unknown as z.ZodMiniType] as const)

test.each(schemas)('the predicate of %s accepts exactly what the schema accepts', (_, schema) => {
  const matches = predicateOf(schema)
  const seen = new Set<boolean>()
  fc.assert(
    fc.property(valuesOf(schema), (value) => {
      const { success } = z.safeParse(schema, value)
      seen.add(success)
      expect(matches(value)).toBe(success)
    }),
    { numRuns: 300 },
  )
  expect(seen.size).toBe(2)
})
