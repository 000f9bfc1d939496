import { InvalidArgumentError } from './errors/index.ts'

/** The longest wait that a timer holds, in ms; a longer one would fire at once. */
const longestTimer = 2_147_483_647

/**
 * Checks that the options are an object with known names only. `names` lists them; spell it
 * `satisfies Record<keyof Options, true>`, so that the compiler keeps it complete.
 */
export function checkOptions(name: string, options: unknown, names: Readonly<Record<string, true>>): void {
  checkObject(name, options, `Pass an object with ${listOf(names)}.`)
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(names, key))
  if (unknown === undefined) return
  throw new InvalidArgumentError(unknown, `There is no option \`${unknown}\`.`, `The options are ${listOf(names)}.`)
}

/** Checks that the options are an object. */
export function checkObject(name: string, options: unknown, hint: string): asserts options is object {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return
  throw new InvalidArgumentError(name, `\`${name}\` must be an object.`, hint)
}

function listOf(names: Readonly<Record<string, true>>): string {
  return Object.keys(names)
    .map((key) => `\`${key}\``)
    .join(', ')
}

/**
 * A non-empty string. Whitespace around it and control characters are refused: a line break at the end of a secret file
 * or an environment variable is easily overlooked, and the service would only say that the app is unknown.
 */
export function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') {
    throw new InvalidArgumentError(name, `\`${name}\` must be a non-empty string.`, `Pass \`${name}\` as a string.`)
  }
  if (hasStrayCharacters(value)) throw strayCharacters(name)
  return value
}

export function hasStrayCharacters(text: string): boolean {
  return text !== text.trim() || /\p{Cc}/u.test(text)
}

export function strayCharacters(name: string): InvalidArgumentError {
  return new InvalidArgumentError(
    name,
    `\`${name}\` contains a line break or other control character, or whitespace around it.`,
    `Remove it, for example with \`.trim()\` where \`${name}\` is read.`,
  )
}

/** A number of ms that a timer can wait. */
export function checkMilliseconds(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= longestTimer) return value
  throw new InvalidArgumentError(
    name,
    `\`${name}\` must be a number of milliseconds above 0 and up to ${longestTimer}.`,
    'Pass milliseconds: 30_000 is half a minute.',
  )
}

/** A boolean, or undefined for false. */
export function checkFlag(name: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw new InvalidArgumentError(name, `\`${name}\` must be a boolean.`, 'Pass true or false, or leave it out.')
}

/** Throws when a value is not a function. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new InvalidArgumentError(name, `\`${name}\` must be a function.`, `Pass \`${name}\` as a function.`)
}
