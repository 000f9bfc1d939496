import { format, inspect } from 'node:util'

/**
 * Returns every form in which a value can reach a log, a store or another thread, together with the forms of everything
 * reachable from it: properties (also non-enumerable ones and symbols), accessors, prototypes, causes, headers and maps.
 *
 * @param hidden names of accessors that return a secret to those who ask for it
 */
export function printedForms(value: unknown, hidden: readonly string[] = []): string[] {
  const forms: string[] = []
  walk(value, forms, new Set(), ['constructor', 'prototype', 'caller', 'arguments', 'callee', ...hidden])
  return forms
}

function walk(value: unknown, forms: string[], seen: Set<unknown>, skipped: readonly string[]): void {
  if (typeof value === 'string') return void forms.push(value)
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return
  // Objects of the platform hold no secrets.
  if (value === globalThis || Object.values(platform).includes(value)) return
  seen.add(value)
  forms.push(...formsOf(value))
  for (
    let object = value;
    object !== null && !Object.values(platform).includes(object);
    object = Object.getPrototypeOf(object)
  ) {
    for (const key of Reflect.ownKeys(object)) {
      if (skipped.includes(String(key))) continue
      forms.push(String(key))
      walk(
        tryTo(() => Reflect.get(object, key, value)),
        forms,
        seen,
        skipped,
      )
    }
  }
  if (value instanceof Headers || value instanceof Map || value instanceof Set) walk([...value], forms, seen, skipped)
}

const platform = {
  object: Object.prototype,
  function: Function.prototype,
  array: Array.prototype,
  error: Error.prototype,
  promise: Promise.prototype,
  headers: Headers.prototype,
}

function formsOf(value: object): string[] {
  const forms = [
    () => String(value),
    () => `${(value as Error).stack}`,
    () => JSON.stringify(value),
    () => JSON.stringify(Object.getOwnPropertyDescriptors(value)),
    () => inspect(value, { depth: null, showHidden: true, getters: true, maxArrayLength: null, maxStringLength: null }),
    () => inspect(value, { depth: null, showHidden: true, showProxy: true, customInspect: false }),
    () => format('%s %o %O %j', value, value, value, value),
    () => inspect(structuredClone(value), { depth: null, showHidden: true }),
    () => inspect(Object.assign({}, value), { depth: null }),
  ]
  return forms.map((form) => String(tryTo(form)))
}

function tryTo(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return error instanceof Error ? error.message : undefined
  }
}
