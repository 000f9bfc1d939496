import { inspect } from 'node:util'

/** A value in every form in which it can end up in a log, a page or another process. */
export function printed(value: unknown): string {
  const forms = [
    () => String(value),
    () => JSON.stringify(value),
    () => inspect(value, { depth: null, showHidden: true }),
    () => inspect(value, { depth: null, showHidden: true, customInspect: false, getters: true }),
    () => inspect(structuredClone(value), { depth: null, showHidden: true }),
    () => (value instanceof Error ? `${value.stack} ${printed(value.cause)}` : ''),
    () => inspect(Object.getOwnPropertyDescriptors(value as object), { depth: null, showHidden: true }),
  ]
  return forms
    .map((form) => {
      try {
        return form()
      } catch (error) {
        return String(error)
      }
    })
    .join('\n')
}
