/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object, and not null or an array. */
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

/**
 * Whether a value is an object without a class. The prototype of a class has its own `constructor`. Objects made with
 * `Object.create(other)` inherit only the one of `Object.prototype`, possibly of another realm.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && classNameOf(value) === undefined
}

/** Returns the name of the class of an object, with an article. Undefined for plain objects. */
export function classNameOf(value: object): string | undefined {
  for (let prototype = Object.getPrototypeOf(value); prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    if (!Object.hasOwn(prototype, 'constructor') || Object.hasOwn(prototype, 'isPrototypeOf')) continue
    const made: unknown = prototype.constructor
    const name = (typeof made === 'function' && made.name) || Object.prototype.toString.call(value).slice(8, -1)
    return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
  }
  return undefined
}
