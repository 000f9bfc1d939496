/** Returns what is wrong with a value, as the end of a sentence that begins with its name, or `undefined`. */
export type Check = (value: unknown) => string | undefined

/** A check for each option, so that the compiler reports an option without one. */
export type Checks<Options> = Readonly<Record<keyof Options, Check>>

/**
 * Throws a `TypeError` unless the value is an object whose keys all have a check and whose values pass it. `undefined`
 * counts as left out. `what` names one of the options in the error message.
 */
export function checkOptions<Options extends object>(what: string, value: unknown, checks: Checks<Options>): void {
  checkValue(`The ${what}s`, value, object)
  for (const [name, option] of Object.entries(value as object)) {
    if (!Object.hasOwn(checks, name)) {
      const names = Object.keys(checks).map((each) => `\`${each}\``)
      throw new TypeError(`Unknown ${what} \`${name}\`. Use one of: ${names.join(', ')}.`)
    }
    if (option !== undefined) checkValue(`The ${what} \`${name}\``, option, checks[name as keyof Options])
  }
}

/** Throws a `TypeError` unless the value passes the check. */
export function checkValue(subject: string, value: unknown, check: Check): void {
  const problem = check(value)
  if (problem !== undefined) throw new TypeError(`${subject} ${problem}`)
}

/** Returns a check whose message is "must be `expected`". */
export function mustBe(expected: string, accepts: (value: unknown) => boolean): Check {
  return (value) => (accepts(value) ? undefined : `must be ${expected}, not ${describe(value)}.`)
}

/** Returns a check for a secret, whose message does not contain the value. */
export function mustBeSecret(expected: string, accepts: (value: unknown) => boolean): Check {
  return (value) => (accepts(value) ? undefined : `must be ${expected}.`)
}

export function oneOf(...choices: readonly string[]): Check {
  const quoted = choices.map((choice) => JSON.stringify(choice))
  const expected = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].join(' or ')
  return mustBe(expected, (value) => choices.includes(value as string))
}

export function integer(lowest: number, highest = Number.MAX_SAFE_INTEGER): Check {
  const range = highest === Number.MAX_SAFE_INTEGER ? `of at least ${lowest}` : `from ${lowest} to ${highest}`
  return mustBe(`an integer ${range}`, (value) => Number.isSafeInteger(value) && isBetween(value, lowest, highest))
}

/** Checks an array with a check for its items. `items` describes them in the error message. */
export function arrayOf(items: string, check: Check): Check {
  const array = mustBe(`an array of ${items}`, Array.isArray)
  return (value) => {
    const problem = array(value)
    if (problem !== undefined) return problem
    // Unlike `find`, a loop sees an item that is `undefined`.
    for (const item of value as unknown[]) {
      const problemOfItem = check(item)
      if (problemOfItem !== undefined) return `must be an array of ${items}. Each item ${problemOfItem}`
    }
    return undefined
  }
}

/** A plain object. The options of another object, such as a `Map`, would be ignored. */
export const object: Check = mustBe('an object', isPlainObject)
export const boolean: Check = mustBe('true or false', (value) => typeof value === 'boolean')
export const text: Check = mustBe('a string', (value) => typeof value === 'string')
export const nonEmptyText: Check = mustBe('a non-empty string', (value) => typeof value === 'string' && value !== '')

// A timer with a longer delay fires at once.
const longestTimer = 2_147_483_647
export const milliseconds: Check = mustBe(`a number of milliseconds from 0 to ${longestTimer}`, (value) =>
  isBetween(value, 0, longestTimer),
)

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  // An object of another realm, such as a test environment, has another `Object.prototype`.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function isBetween(value: unknown, lowest: number, highest: number): boolean {
  return typeof value === 'number' && value >= lowest && value <= highest
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  return isPlainObject(value) ? 'an object' : `an object of the class ${value.constructor?.name}`
}
