import { inspect } from 'node:util'

/** Returns the name, the text and the remedy of a thrown value. The text has no full stop at the end. */
export function describeError(thrown: unknown): { name: string; text: string; remedy: string | undefined } {
  if (thrown instanceof Error) {
    const remedy: unknown = Reflect.get(thrown, 'remedy')
    const text = String(thrown).replace(/\.$/, '')
    return { name: String(thrown.name), text, remedy: typeof remedy === 'string' ? remedy : undefined }
  }
  const text = inspect(thrown, { customInspect: false })
  return { name: `a value of type ${typeof thrown}`, text, remedy: undefined }
}
