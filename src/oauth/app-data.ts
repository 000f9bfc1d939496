import { InvalidArgumentError } from '../errors/index.ts'

/** The maximum size of an app's data as JSON, in bytes. The login's cookie has to hold it. */
const longest = 1_024

/**
 * Checks that an app's data can travel in the login's cookie and comes back as it was given. Throws
 * `InvalidArgumentError`, which does not quote the data.
 */
export function checkAppData(data: unknown): void {
  if (data === undefined) return
  const json = toJson(data)
  if (json === undefined || !isPlain(data)) {
    throw new InvalidArgumentError(
      'data',
      '`data` must be a JSON value.',
      'Pass strings, numbers, booleans, null, arrays and plain objects of these.',
    )
  }
  const { length } = new TextEncoder().encode(json)
  if (length <= longest) return
  throw new InvalidArgumentError(
    'data',
    `\`data\` is ${length} bytes of JSON, and a login's cookie holds ${longest}.`,
    'Keep the data in your session or database, and pass its id.',
  )
}

function toJson(data: unknown): string | undefined {
  try {
    return JSON.stringify(data)
  } catch {
    // A cycle or a bigint. The platform's error can quote the data.
    return undefined
  }
}

/** Whether a value without cycles is the same after a round trip through JSON. An absent property may be `undefined`. */
function isPlain(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (Array.isArray(value)) return Array.from(value).every(isPlain)
  if (typeof value !== 'object') return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false
  return Object.values(value).every((item) => item === undefined || isPlain(item))
}
