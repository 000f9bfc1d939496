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
