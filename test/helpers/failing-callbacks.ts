/** Returns callbacks that fail with an error, once synchronously and once asynchronously, as rows for `test.each`. */
export function failingCallbacks(error: unknown): [title: string, callback: () => Promise<never>][] {
  return [
    ['throws', () => thrower(error)()],
    ['rejects', () => Promise.reject(error)],
  ]
}

/** Returns a function that throws an error. */
export function thrower(error: unknown): () => never {
  return () => {
    throw error
  }
}

/** Makes a property throw when it is read. Returns the object. */
export function unreadable<Value extends object>(object: Value, property: string): Value {
  return Object.defineProperty(object, property, { get: thrower(new Error('unreadable')), enumerable: true })
}
