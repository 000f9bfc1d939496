import * as z from 'zod/mini'

// What a value must be, as the end of a sentence. The value of a secret is left out of error messages.
const expectations = z.registry<{ expected: string; secret: boolean }>()

/** Returns the schema, whose error message becomes "must be `expected`, not …". */
export function mustBe<Schema extends z.ZodMiniType>(expected: string, schema: Schema, secret = false): Schema {
  expectations.add(schema, { expected, secret })
  return schema
}

/** Returns the schema of a secret, whose error message does not contain the value. */
export function mustBeSecret<Schema extends z.ZodMiniType>(expected: string, schema: Schema): Schema {
  return mustBe(expected, schema, true)
}

/** Returns what is wrong with a value, as the end of a sentence that begins with its name, or `undefined`. */
export function problemOf(schema: z.ZodMiniType, value: unknown): string | undefined {
  if (schema.safeParse(value).success) return undefined
  const { expected, secret } = expectationOf(schema)
  return secret ? `must be ${expected}.` : `must be ${expected}, not ${describe(value)}.`
}

/** Throws a `TypeError` unless the value matches the schema. */
export function checkValue(subject: string, value: unknown, schema: z.ZodMiniType): void {
  const problem = problemOf(schema, value)
  if (problem !== undefined) throw new TypeError(`${subject} ${problem}`)
}

type Shape = Readonly<Record<string, z.ZodMiniType>>

/**
 * Returns the options with their defaults. Throws a `TypeError` unless they are a plain object whose keys are all in
 * the shape and whose values match it. `what` names one of the options in the error message.
 */
export function readOptions<S extends Shape>(what: string, shape: S, options: unknown): z.output<z.ZodMiniObject<S>> {
  checkValue(`The ${what}s`, options, plainObject)
  for (const [name, value] of Object.entries(options as object)) {
    const schema = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (schema === undefined) {
      throw new TypeError(`Unknown ${what} \`${name}\`. Use one of: ${quoted(Object.keys(shape)).join(', ')}.`)
    }
    checkValue(`The ${what} \`${name}\``, value, schema)
  }
  return z.parse(z.object(shape), options) as z.output<z.ZodMiniObject<S>>
}

export function quoted(names: readonly string[]): string[] {
  return names.map((name) => `\`${name}\``)
}

/** Returns what a value must be, without the value. */
export function expectationOf(schema: z.core.$ZodType): { expected: string; secret: boolean } {
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType }
  return expectations.get(schema) ?? (innerType ? expectationOf(innerType) : { expected: 'valid', secret: true })
}

const guesses = new WeakSet<z.core.$ZodType>()

/**
 * Returns the schema of a field of a body that no page of the documents prints. Only the MCP tools name it, so it can
 * be left out.
 */
export function guessed<Schema extends z.ZodMiniType>(schema: Schema): z.ZodMiniOptional<Schema> {
  const optional = z.optional(schema)
  guesses.add(optional)
  return optional
}

export function isGuessed(schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && guesses.has(schema)
}

/** Returns the schemas of the fields of an object. */
export function shapeOf(schema: z.ZodMiniType): Readonly<Record<string, z.ZodMiniType>> {
  return (schema.def as unknown as { shape: Record<string, z.ZodMiniType> }).shape
}

/** Returns whether a schema accepts any object, whatever its fields. */
export function isOpen(schema: z.ZodMiniType | undefined): boolean {
  return schema !== undefined && 'catchall' in schema.def && schema.def.catchall !== undefined
}

/** A plain object. The options of another object, such as a `Map`, would be ignored. */
export const plainObject = mustBe('an object', z.custom<object>(isPlainObject))
export const flag = mustBe('true or false', z.boolean())
export const text = mustBe('a string', z.string())
export const nonEmptyText = mustBe('a non-empty string', z.string().check(z.minLength(1)))

export function callback<Callback>(expected = 'a function') {
  return mustBe(
    expected,
    z.custom<Callback>((value) => typeof value === 'function'),
  )
}

export function oneOf<const Choices extends readonly string[]>(...choices: Choices) {
  const names = choices.map((choice) => JSON.stringify(choice))
  return mustBe([names.slice(0, -1).join(', '), ...names.slice(-1)].join(' or '), z.enum(choices))
}

export function integer(lowest: number, highest = Number.MAX_SAFE_INTEGER) {
  const range = highest === Number.MAX_SAFE_INTEGER ? `of at least ${lowest}` : `from ${lowest} to ${highest}`
  return mustBe(`an integer ${range}`, z.int().check(z.gte(lowest), z.lte(highest)))
}

// A timer with a longer delay fires at once.
const longestTimer = 2_147_483_647
export const milliseconds = mustBe(
  `a number of milliseconds from 0 to ${longestTimer}`,
  z.number().check(z.gte(0), z.lte(longestTimer)),
)

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  // An object of another realm, such as a test environment, has another `Object.prototype`.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value))
    return value.length === 1 && !Array.isArray(value[0]) ? `[${describe(value[0])}]` : 'an array'
  if (typeof value !== 'object' || value === null) return String(value)
  return isPlainObject(value) ? 'an object' : `an object of the class ${value.constructor?.name}`
}
