import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, isPlainObject, kindOf } from './json.ts'

// Every check here throws an `InvalidArgumentError` that names the option.

/** The longest delay that a timer supports, in milliseconds. A timer with a longer one fires at once. */
export const longestTimer = 2_147_483_647

/** The names of the options of an interface. Declare it with `satisfies`, so that a missing name does not compile. */
export type OptionNames = Readonly<Record<string, unknown>>

/** Checks a value that can come from JavaScript. Returns it, or a copy that the caller cannot change. */
export type Check<Value> = (name: string, value: unknown) => Value

/** The options that a table of checks returns. An option that is undefined is not checked. */
export type Checked<Checks> = {
  [Name in keyof Checks]: (Checks[Name] extends Check<infer Value> ? Value : never) | undefined
}

/**
 * Reads and checks options, each with the check of its name.
 *
 * @param checks declare them with `satisfies`, so that a missing one does not compile. Functions without a call, so
 * that bundlers can leave them out.
 * @param owner what the options belong to, for the message: "a call", "the login handlers"
 */
export function readOptions<const Checks extends Readonly<Record<string, Check<unknown>>>>(
  options: object,
  checks: Checks,
  owner: string,
  name = 'options',
): Checked<Checks> {
  checkOptions(name, options, checks, owner)
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(checks)) {
    const value: unknown = Reflect.get(options, name)
    values[name] = value === undefined ? undefined : checks[name]?.(name, value)
  }
  return values as Checked<Checks>
}

/** Creates the error for a value that is not what it must be: "a positive number". */
export function mustBe(expected: string, name: string, value: unknown, hint: string): InvalidArgumentError {
  // A number where another kind belongs might be a secret.
  const isShown = typeof value === 'number' && /number|integer/.test(expected)
  return new InvalidArgumentError(
    name,
    `\`${name}\` must be ${expected}, not ${isShown ? value : kindOf(value)}.`,
    hint,
  )
}

/** Checks that a value is one of a few texts. */
export function checkOneOf<const Value extends string>(name: string, value: unknown, values: readonly Value[]): Value {
  if (values.includes(value as Value)) return value as Value
  const listed = values.map((each) => `"${each}"`).join(', ')
  throw new InvalidArgumentError(name, `\`${name}\` is not supported.`, `Pass one of: ${listed}.`)
}

/** Checks an integer. */
export function checkInteger(
  name: string,
  value: unknown,
  least: number,
  hint = 'Leave it out for the default.',
): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number
  throw mustBe(`an integer of at least ${least}`, name, value, hint)
}

/**
 * Checks that a value is an object whose keys are all known.
 *
 * @param owner what the options belong to, for the message: "a call", "the login handlers".
 */
export function checkOptions(name: string, options: unknown, names: OptionNames, owner: string): void {
  // A promise without `await`, a Map or a signal lacks all of these names, so it would be silently ignored.
  const hasName = isObject(options) && Object.keys(names).some((known) => known in options)
  if (!hasName && !isPlainObject(options)) {
    const expected = isObject(options) ? 'a plain object' : 'an object'
    throw mustBe(expected, name, options, `Pass an object with ${listOf(names)}.`)
  }
  checkNames(options, names, owner)
}

/** Checks that every key is the name of an option, because a misspelled option would be silently ignored. */
export function checkNames(options: object, names: OptionNames, owner: string): void {
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(names, key))
  if (unknown === undefined) return
  throw new InvalidArgumentError(
    unknown,
    `\`${unknown.slice(0, 50)}\` is not an option of ${owner}.`,
    `Use one of: ${listOf(names)}.`,
  )
}

/** Checks that a value is an object other than null and an array. */
export function checkObject(name: string, value: unknown, hint: string): asserts value is object {
  if (!isObject(value)) throw mustBe('an object', name, value, hint)
}

/** Checks that a value is an object without a class, whose properties are all that it holds. */
export function checkPlain(
  name: string,
  value: unknown,
  hint = 'Pass an object literal, or leave it out.',
): Readonly<Record<string, unknown>> {
  if (isPlainObject(value)) return value
  throw mustBe('a plain object', name, value, hint)
}

function listOf(names: OptionNames): string {
  return Object.keys(names)
    .map((key) => `\`${key}\``)
    .join(', ')
}

/**
 * Checks a non-empty string. Rejects control characters and surrounding whitespace, for example the line break at the
 * end of a secret file. With such a character, the service would only report an unknown app.
 */
export function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') {
    throw mustBe('a non-empty string', name, value, `Pass \`${name}\` as a string.`)
  }
  checkCharacters(name, value)
  return value
}

/** Rejects a string that has control characters, surrounding whitespace or half of an emoji. */
export function checkCharacters(name: string, text: string): void {
  if (text === text.trim() && text.isWellFormed() && !/\p{Cc}/u.test(text)) return
  throw new InvalidArgumentError(
    name,
    `\`${name}\` contains a control character (such as a line break), half of an emoji or surrounding whitespace.`,
    `Remove it, for example with \`.trim()\` where \`${name}\` is read.`,
  )
}

/** Checks a duration in milliseconds that a timer supports. */
export function checkMilliseconds(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= longestTimer) return value
  const expected = `a number of milliseconds greater than 0 and at most ${longestTimer}`
  throw mustBe(expected, name, value, 'Pass milliseconds, for example 30_000 for half a minute.')
}

/** Checks an optional boolean. Defaults to false. */
export function checkFlag(name: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw mustBe('a boolean', name, value, 'Pass true or false, or leave it out.')
}

/** Checks a function. */
export function checkFunction<Value>(name: string, value: unknown): Value {
  if (typeof value === 'function') return value as Value
  throw mustBe('a function', name, value, `Pass \`${name}\` as a function.`)
}

/** Checks a number of retries. */
export function checkRetries(name: string, value: unknown): number {
  return checkInteger(name, value, 0, 'Pass 0 for no retries.')
}

/** Checks a duration or a size, which can be `Infinity`. */
export function checkPositive(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw mustBe('a positive number', name, value, 'Pass `Infinity` for no limit.')
}
