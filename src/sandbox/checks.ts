import { type Check, checkFunction, mustBe } from '../shared/check-options.ts'

/** Returns the check of a value that must be `expected`, the end of a sentence. */
export function valid<Value>(expected: string, isValid: (value: unknown) => boolean): Check<Value> {
  return (name, value) => {
    if (isValid(value)) return value as Value
    throw mustBe(expected, name, value, `Correct \`${name}\`.`)
  }
}

/** Returns the check of a text that a test accepts. */
export function textThat<Text extends string = string>(expected: string, isValid: (text: string) => boolean) {
  return valid<Text>(expected, (value) => typeof value === 'string' && isValid(value))
}

/** Returns the check of a list, each item of which a check accepts. */
export function listOf<Item>(expected: string, check: Check<Item>): Check<readonly Item[]> {
  // A copy has no holes, which `every` would skip.
  return valid(expected, (value) => Array.isArray(value) && [...value].every((item) => accepts(check, item)))
}

/** Whether a check accepts a value. */
export function accepts(check: Check<unknown>, value: unknown): boolean {
  try {
    check('', value)
    return true
  } catch {
    return false
  }
}

export const flag = valid<boolean>('true or false', (value) => typeof value === 'boolean')
export const text = textThat('a string', () => true)
export const nonEmptyText = textThat('a non-empty string', (text) => /\S/.test(text))
export const email = textThat('an email address', (text) => /^[^\s@]+@[^\s@]+$/.test(text))

export function oneOf<const Choice extends string>(...choices: readonly Choice[]): Check<Choice> {
  const names = choices.map((choice) => JSON.stringify(choice))
  const expected = [names.slice(0, -1).join(', '), ...names.slice(-1)].join(' or ')
  return textThat(expected, (text) => choices.includes(text as Choice))
}

export const role = oneOf('admin', 'moderator', 'agent')

export function integer(least: number, most = Number.MAX_SAFE_INTEGER): Check<number> {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return valid(
    `an integer ${range}`,
    (value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
  )
}

export function number(least: number, most: number, unit = ''): Check<number> {
  const isInRange = (value: unknown) => typeof value === 'number' && value >= least && value <= most
  return valid(`a number ${unit}from ${least} to ${most}`, isInRange)
}

/** Returns the check of a function that takes and returns these. */
export function callback<Callback>(): Check<Callback> {
  return (name, value) => checkFunction<Callback>(name, value)
}
