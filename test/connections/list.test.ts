import { describe, expect, test, vi } from 'vitest'
import { RecordFormat } from '../../src/connections/connection-record.ts'
import { ConnectionStore, type StoragePage } from '../../src/oauth/index.ts'
import { failingCallbacks, thrower } from '../helpers/failing-callbacks.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { storeError } from './helpers/store.ts'

const baseUrl = 'https://service.example'

/** A store with connections on a storage that lists pages of ten. */
async function storeOf(count: number) {
  const items = new Map<string, string>()
  const format = new RecordFormat({ prefix: 'connections', service: 'https.service.example' }, undefined, false)
  for (let index = 0; index < count; index += 1) {
    const key = `app.a.o${index}`
    const facts = { key, actor: 'app', application: { id: 'a' }, organization: { id: `o${index}` } } as const
    const record = { connection: { ...facts, connectedAt: count - index }, accessToken: `token-${index}`, login: '0' }
    items.set(placeOf(index), await format.write(record))
  }
  const watch = watched(mapStorage(items))
  const storage = {
    ...watch.storage,
    async *list(prefix: string) {
      for await (const page of watch.storage.list(prefix)) {
        for (let start = 0; start < page.length; start += 10) yield page.slice(start, start + 10)
      }
    },
  }
  return { watch, items, storage, store: new ConnectionStore({ baseUrl, storage }) }
}
const placeOf = (index: number) => `connections:https.service.example:app.a.o${index}`

describe('list', () => {
  test('returns the connections oldest first, in any order of the storage', async () => {
    const { store } = await storeOf(50)
    const times = (await store.list().toArray()).map(({ connectedAt }) => connectedAt)
    expect(times).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  })

  test('iterates the same connections as toArray, with and without a filter', async () => {
    const { store } = await storeOf(50)
    const keys = (connections: readonly { key: string }[]) => connections.map(({ key }) => key).sort()
    expect(keys(await Array.fromAsync(store.list()))).toEqual(keys(await store.list().toArray()))
    expect(keys(await Array.fromAsync(store.list({ organization: 'o7' })))).toEqual(['app.a.o7'])
    expect(keys(await Array.fromAsync(store.list({ organization: 'o7', actor: 'app' })))).toEqual(['app.a.o7'])
    expect(await Array.fromAsync(store.list({ organization: 'o7', actor: 'self' }))).toEqual([])
  })

  test.each<[string, () => unknown]>([['returns', () => {}], ...failingCallbacks(new Error('no log'))])(
    'reports unreadable entries to onUnreadable, and returns the rest, even if it %s',
    async (_title, callback) => {
      const { store, items } = await storeOf(3)
      items.set(placeOf(1), 'spoiled')
      const onUnreadable = vi.fn(callback as () => void)
      const unhandled = await unhandledDuring(async () => {
        expect(await Array.fromAsync(store.list({}, { onUnreadable }))).toHaveLength(2)
        expect(await store.list({}, { onUnreadable }).toArray()).toHaveLength(2)
      })
      const error = expect.objectContaining({ reason: 'entry_damaged', key: 'app.a.o1' })
      expect(onUnreadable.mock.calls).toEqual([[error], [error]])
      expect(unhandled).toEqual([])
    },
  )

  test('toArray returns a connection once if the storage lists its key twice', async () => {
    const { store, storage, items } = await storeOf(3)
    items.set(placeOf(1), 'spoiled')
    storage.list = async function* () {
      yield [...items]
      yield [...items]
    }
    expect(await store.list().toArray()).toHaveLength(2)
    // An iteration would have to remember every key.
    expect(await Array.fromAsync(store.list())).toHaveLength(4)
  })

  async function* pages(...values: unknown[]) {
    for (const value of values) {
      if (value instanceof Error) throw value
      yield value
    }
  }
  const failure = new Error('EMFILE')

  test.each<[string, () => unknown]>([
    ['throws', thrower(failure)],
    ['returns an error', () => failure],
    ['returns a value that is not iterable', () => 7],
    ['lists no pages', () => pages(7)],
    ['lists a text that it has parsed', () => pages([[placeOf(1), {}]])],
    ['fails midway', () => pages([['other', 'text']], failure)],
  ])('fails with storage_failed when the storage %s', async (_title, list) => {
    const storage = { ...mapStorage(), list: list as () => AsyncIterable<StoragePage> }
    const store = new ConnectionStore({ baseUrl, storage })
    expect(await storeError(store.list().toArray())).toMatchObject({ reason: 'storage_failed', key: undefined })
    expect(await storeError(Array.fromAsync(store.list()))).toMatchObject({ reason: 'storage_failed' })
    expect(await storeError(store.reseal())).toMatchObject({ reason: 'storage_failed' })
  })
})
