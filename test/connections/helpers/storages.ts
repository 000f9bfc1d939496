import type { KeyValueStorage } from '../../../src/oauth/index.ts'

/** A storage whose texts a test can read and change. */
export function mapStorage(items = new Map<string, string>()) {
  return {
    items,
    get: (key: string): string | undefined => items.get(key),
    compareAndSet(key: string, expected: string | null, value: string | null): boolean {
      if ((items.get(key) ?? null) !== expected) return false
      if (value === null) items.delete(key)
      else items.set(key, value)
      return true
    },
    async *list(): AsyncGenerator<[string, string][]> {
      yield [...items]
    },
  }
}

export type Method = keyof KeyValueStorage

/** A storage that records each call, and first awaits `before`, which may throw or wait. */
export function watched(storage = mapStorage()) {
  const calls: { method: Method; key: string }[] = []
  const watch = {
    items: storage.items,
    calls,
    /** Called with the number of the call, starting at 1. */
    before: (_call: { method: Method; key: string; number: number }): unknown => undefined,
    count: (method: Method) => calls.filter((call) => call.method === method).length,
    reset: () => void calls.splice(0),
    storage: {
      get: (key) => pass('get', key, () => storage.get(key)),
      compareAndSet: (key, expected, value) =>
        pass('compareAndSet', key, () => storage.compareAndSet(key, expected, value)),
      async *list(prefix) {
        await pass('list', prefix, () => undefined)
        yield* storage.list()
      },
    } satisfies KeyValueStorage as KeyValueStorage,
  }
  async function pass<Value>(method: Method, key: string, proceed: () => Value): Promise<Awaited<Value>> {
    calls.push({ method, key })
    await watch.before({ method, key, number: calls.length })
    return await proceed()
  }
  return watch
}
