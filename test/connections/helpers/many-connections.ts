import { readStoreSettings } from '../../../src/connections/store-options.ts'
import { mapStorage } from './storages.ts'

/** Returns the keys and values that a store for `https://service.example` writes for a number of connections. */
export async function itemsOfMany(count: number): Promise<[string, string][]> {
  const storage = mapStorage()
  const { entries, format } = readStoreSettings({ baseUrl: 'https://service.example', storage })
  for (let index = 0; index < count; index += 1) {
    const key = `app.a.o${index}`
    const facts = { key, actor: 'app', application: { id: 'a' }, organization: { id: `o${index}` } } as const
    const connection = { ...facts, connectedAt: count - index }
    const value = await format.write({ connection, accessToken: `token-${index}` })
    await entries.write(key, value, { startedAt: index, tried: [], isRetry: false })
  }
  return [...storage.items]
}
