import { InvalidArgumentError } from '../errors/index.ts'
import { isObject } from '../json.ts'

type Path = readonly (string | number)[]

/**
 * Returns a deep copy of a JSON value, as `JSON.stringify` would read it, so that later changes by the caller don't
 * affect the request. `toJSON` is honored, except that a `Date` stays a `Date` for schemas that expect one.
 *
 * @throws InvalidArgumentError if the value contains something that JSON cannot represent. It never quotes the value.
 */
export function copyJson(value: unknown, path: Path): unknown {
  let copied: unknown
  try {
    copied = copy(value, path, new Set())
  } catch (thrown) {
    if (thrown instanceof InvalidArgumentError) throw thrown
    // A stack overflow, or an error from a getter or `toJSON`, whose message may quote a value.
    const [name, problem] = [nameOf(path), thrown instanceof RangeError ? 'is nested too deeply' : 'cannot be read']
    throw new InvalidArgumentError(name, `\`${name}\` ${problem}.`, plainData)
  }
  if (copied === undefined && value !== undefined) throw refused(path, 'a value whose `toJSON` returns undefined')
  return copied
}

/**
 * Whether a value is an object without a class. The prototype of a class has its own `constructor`. Objects made with
 * `Object.create(other)` inherit only the one of `Object.prototype`, possibly of another realm.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && classOf(value) === undefined
}

/** Returns the nearest prototype that belongs to a class. */
function classOf(value: object): object | undefined {
  for (let prototype = Object.getPrototypeOf(value); prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    if (Object.hasOwn(prototype, 'constructor') && !Object.hasOwn(prototype, 'isPrototypeOf')) return prototype
  }
  return undefined
}

function copy(given: unknown, path: Path, ancestors: Set<unknown>): unknown {
  if (given instanceof Date && given.toJSON === Date.prototype.toJSON) return copyDate(given, path)
  const value = hasToJson(given) ? given.toJSON(path.length > 1 ? String(path.at(-1)) : '') : given
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value
    case 'number':
      if (Number.isFinite(value)) return value
      throw refused(path, 'not a finite number')
    case 'object':
      return value === null || isRawJson(value) ? value : copyObject(value, path, ancestors)
    default:
      throw refused(path, `a ${typeof value}`)
  }
}

function copyObject(value: object, path: Path, ancestors: Set<unknown>): unknown {
  if (ancestors.has(value)) throw refused(path, 'a reference to an object that contains it')
  ancestors.add(value)
  const copied = Array.isArray(value)
    ? Array.from(value, (item: unknown, index) => copy(item, [...path, index], ancestors) ?? null)
    : copyFields(value, path, ancestors)
  ancestors.delete(value)
  return copied
}

function copyFields(value: object, path: Path, ancestors: Set<unknown>): object {
  const prototype = classOf(value)
  if (prototype !== undefined) throw refused(path, kindOf(value, prototype))
  const fields: [string, unknown][] = []
  for (const name of Object.keys(value)) {
    // The result of `toJSON` may have a `toJSON` as well.
    const given: unknown = Reflect.get(value, name)
    if (name === 'toJSON' && typeof given === 'function') continue
    const field = copy(given, [...path, name], ancestors)
    if (field !== undefined) fields.push([name, field])
  }
  return Object.fromEntries(fields)
}

function copyDate(date: Date, path: Path): Date {
  if (Number.isNaN(date.getTime())) throw refused(path, 'an invalid Date')
  return new Date(date)
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return false
  return typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === 'function'
}

/** Whether a value is the immutable result of `JSON.rawJSON`, where the runtime supports it. */
function isRawJson(value: object): boolean {
  return (JSON as { isRawJSON?(value: unknown): boolean }).isRawJSON?.(value) === true
}

const plainData = 'Convert it to plain objects and arrays of strings, finite numbers, booleans and null.'

function refused(path: Path, kind: string): InvalidArgumentError {
  const name = nameOf(path)
  return new InvalidArgumentError(name, `\`${name}\` is ${kind}, which cannot be sent as JSON.`, plainData)
}

function nameOf(path: Path): string {
  return path.join('.')
}

function kindOf(value: object, prototype: object): string {
  const made: unknown = prototype.constructor
  const name = (typeof made === 'function' && made.name) || Object.prototype.toString.call(value).slice(8, -1)
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
}
