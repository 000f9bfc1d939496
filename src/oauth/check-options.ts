import { InvalidArgumentError } from '../errors/index.ts'

/** The longest wait that a timer holds, in ms; a longer one would fire at once. */
const longestTimer = 2_147_483_647

/** A string that is not empty. */
export function checkText(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw new InvalidArgumentError(name, `\`${name}\` is not a non-empty string.`, `Pass \`${name}\` as text.`)
}

/** A number of ms that a timer can wait. */
export function checkMilliseconds(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= longestTimer) return value
  throw new InvalidArgumentError(
    name,
    `\`${name}\` is not a number of milliseconds above 0 and up to ${longestTimer}.`,
    'Pass milliseconds: 30_000 is half a minute.',
  )
}
