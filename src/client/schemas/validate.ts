import type { StandardSchemaV1 } from '@standard-schema/spec'
import * as z from 'zod/mini'
import { all } from '../generated/schemas.ts'

type Name = keyof typeof all
type Predicate = (value: unknown) => boolean

/**
 * Validates a value with a schema of this package. Returns a valid value itself instead of a copy.
 *
 * Most values are valid. A predicate confirms this in a quarter of the time, because it creates no objects. Only
 * invalid values need the schema itself, for their issues.
 */
export function validate(name: Name, value: unknown): StandardSchemaV1.Result<unknown> {
  if (predicates[name](value)) return { value }
  // A built-in schema is synchronous.
  const { issues } = all[name]['~standard'].validate(value) as StandardSchemaV1.Result<unknown>
  return issues === undefined ? { value } : { issues }
}

const predicates = Object.fromEntries(
  Object.entries(all).map(([name, schema]) => [name, predicateOf(schema)]),
) as Record<Name, Predicate>

/**
 * Returns a function that tells whether a schema accepts a value. The function consists of closures, because generated
 * code needs `new Function`, which strict content security policies forbid.
 */
export function predicateOf(schema: z.core.SomeType): Predicate {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'string':
      return (value) => typeof value === 'string'
    case 'boolean':
      return (value) => typeof value === 'boolean'
    case 'number':
      return Number.isFinite
    case 'nullable': {
      const matches = predicateOf(def.innerType)
      return (value) => value === null || matches(value)
    }
    case 'optional': {
      const matches = predicateOf(def.innerType)
      return schema instanceof z.ZodMiniExactOptional ? matches : (value) => value === undefined || matches(value)
    }
    case 'array': {
      const matches = predicateOf(def.element)
      // Copied, because `every` skips the holes of a sparse array.
      return (value) => Array.isArray(value) && [...value].every(matches)
    }
    case 'object':
      return objectPredicateOf(def)
    default:
      return (value) => z.safeParse(schema as z.core.$ZodType, value).success
  }
}

function objectPredicateOf({ shape }: z.core.$ZodObjectDef): Predicate {
  const fields = Object.entries(shape).map(([name, schema]) => ({
    name,
    isOptional: schema._zod.optin === 'optional',
    matches: predicateOf(schema),
  }))
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    const values = value as Readonly<Record<string, unknown>>
    return fields.every(({ name, isOptional, matches }) => matches(values[name]) || (isOptional && !(name in values)))
  }
}
