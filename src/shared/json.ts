import { InvalidArgumentError } from '../errors/index.ts'

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object other than null and an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Parses a JSON object. Returns an object unchanged, since some storages parse JSON themselves, and undefined for
 * anything else.
 */
export function parseObject(value: unknown): JsonObject | undefined {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Whether a value has more levels of objects and arrays. With some thousands, `JSON.stringify` exceeds the stack. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner))
}

/**
 * Returns a JSON value as text in which the keys of each object are sorted, so that equal values have equal texts.
 *
 * @param ignored names of fields, at any depth, to leave out
 */
export function sortedJson(value: unknown, ignored?: ReadonlySet<string>): string {
  const isCounted = ([name]: readonly [string, unknown]) => ignored?.has(name) !== true
  return JSON.stringify(value, (_, found: unknown) =>
    isObject(found)
      ? Object.fromEntries(
          Object.entries(found)
            .filter(isCounted)
            .sort(([one], [other]) => (one < other ? -1 : 1)),
        )
      : found,
  )
}

/**
 * Whether a value is an object without a class. The prototype of a class has its own `constructor`. Objects made with
 * `Object.create(other)` inherit only the one of `Object.prototype`, possibly of another realm.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && classNameOf(value) === undefined
}

/** Describes a value by its kind, without quoting it: "a string", "null", "a Date". */
export function kindOf(value: unknown): string {
  if (value === '') return 'an empty string'
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? 'an array' : (classNameOf(value) ?? 'an object')
  }
  return value === null || value === undefined ? String(value) : `a ${typeof value}`
}

/** Returns the name of the class of an object, with an article. Undefined for plain objects. */
function classNameOf(value: object): string | undefined {
  for (let prototype = Object.getPrototypeOf(value); prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    if (!Object.hasOwn(prototype, 'constructor') || Object.hasOwn(prototype, 'isPrototypeOf')) continue
    const made: unknown = prototype.constructor
    const name = (typeof made === 'function' && made.name) || Object.prototype.toString.call(value).slice(8, -1)
    return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
  }
  return undefined
}

/**
 * Returns a value as JSON text, or undefined for undefined. The text is a snapshot that the caller cannot change.
 *
 * @param name the name of the argument
 * @throws InvalidArgumentError if the value contains something that JSON cannot represent. It never quotes the value.
 */
export function toJson(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  const paths = new Map<object, string>()
  let text: string | undefined
  try {
    text = JSON.stringify(value, function (this: object, key: string, found: unknown) {
      // The object that a `toJSON` returned might have a `toJSON` too.
      if (key === 'toJSON' && typeof found === 'function') return undefined
      const kind = isInvalidDate(found, key, this) ? 'an invalid Date' : unfitKind(found)
      const isContainer = typeof found === 'object' && found !== null
      if (kind === undefined && !isContainer) return found
      const holder = paths.get(this)
      const path = holder === undefined ? name : `${holder}.${key}`
      if (kind !== undefined) throw noJson(path, `is ${kind}, which cannot be sent as JSON`)
      paths.set(found as object, path)
      return found
    })
  } catch (thrown) {
    throw thrown instanceof InvalidArgumentError ? thrown : noJson(name, problemOf(thrown))
  }
  if (text === undefined)
    throw noJson(name, 'is a value whose `toJSON` returns undefined, which cannot be sent as JSON')
  return text
}

/** Returns the kind of a value that JSON cannot represent. */
function unfitKind(value: unknown): string | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : 'not a finite number'
    case 'bigint':
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
    case 'object':
      return value === null || Array.isArray(value) ? undefined : classNameOf(value)
  }
  return undefined
}

/** The `toJSON` of an invalid Date returns null. */
function isInvalidDate(found: unknown, key: string, holder: object): boolean {
  return found === null && Reflect.get(holder, key) instanceof Date
}

/**
 * Returns what is wrong with a value that `JSON.stringify` cannot read, whose getters or `toJSON` may quote a value.
 */
function problemOf(thrown: unknown): string {
  if (thrown instanceof RangeError) return 'is nested too deeply'
  return thrown instanceof TypeError && /circular|cyclic/i.test(thrown.message)
    ? 'contains a reference to itself'
    : 'cannot be read'
}

/** @param problem what is wrong with the argument */
export function noJson(name: string, problem: string): InvalidArgumentError {
  return new InvalidArgumentError(
    name,
    `\`${name}\` ${problem}.`,
    'Convert it to plain objects and arrays of strings, finite numbers, booleans and null.',
  )
}
