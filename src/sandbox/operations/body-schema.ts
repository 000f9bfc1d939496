import * as z from 'zod/mini'

// What a field must be, as the end of a sentence.
const expectations = z.registry<{ expected: string }>()

/** Returns the schema, whose error message becomes "must be `expected`". */
export function mustBe<Schema extends z.ZodMiniType>(expected: string, schema: Schema): Schema {
  expectations.add(schema, { expected })
  return schema
}

/** Returns what a field of an object must be. */
export function expectationOf(schema: z.ZodMiniType, field: string): string {
  const found = shapeOf(schema)[field]
  const { innerType = found } = (found?._zod.def ?? {}) as { innerType?: z.core.$ZodType }
  return (innerType && expectations.get(innerType)?.expected) ?? 'valid'
}

/** Returns the schemas of the fields of an object. */
export function shapeOf(schema: z.ZodMiniType): Readonly<Record<string, z.ZodMiniType>> {
  return (schema.def as unknown as { shape: Record<string, z.ZodMiniType> }).shape
}

/** Returns whether a schema accepts any object, whatever its fields. */
export function isOpen(schema: z.ZodMiniType | undefined): boolean {
  return schema !== undefined && 'catchall' in schema.def && schema.def.catchall !== undefined
}

export const flag = mustBe('true or false', z.boolean())
export const role = mustBe('"admin", "moderator" or "agent"', z.enum(['admin', 'moderator', 'agent']))
export const requiredText = mustBe('a non-empty string', z.string().check(z.regex(/\S/)))
export const requiredEmail = mustBe('an email address', z.string().check(z.regex(/^[^\s@]+@[^\s@]+$/)))
