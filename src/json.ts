/** What a JSON object is in TypeScript. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether it is an object, and not null or an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object that a JSON text holds, or that is given as it is (some storages parse by themselves); else undefined. */
export function parseObject(value: unknown): JsonObject | undefined {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
