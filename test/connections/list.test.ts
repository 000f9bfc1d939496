import { setImmediate } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { ConnectionStore, type ConnectionStoreError } from '../../src/oauth.ts'
import { failingCallbacks } from '../helpers/failing-callbacks.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'
import { itemsOfMany } from './helpers/many-connections.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { storeError } from './helpers/store.ts'

const baseUrl = 'https://service.example'

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

async function storeOf(count: number) {
  const watch = watched(mapStorage(new Map(await itemsOfMany(count))))
  return { watch, store: new ConnectionStore({ baseUrl, storage: watch.storage }) }
}

describe('list', () => {
  test('returns the connections oldest first, in any order of the storage', async () => {
    const { store } = await storeOf(50)
    const times = (await store.list()).connections.map(({ connectedAt }) => connectedAt)
    expect(times).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  })

  test('iterates the same connections as awaiting, with and without a filter', async () => {
    const { store } = await storeOf(50)
    const keys = (connections: readonly { key: string }[]) => connections.map(({ key }) => key).sort()
    expect(keys(await collect(store.list()))).toEqual(keys((await store.list()).connections))
    expect(keys(await collect(store.list({ organization: 'o7' })))).toEqual(['app.a.o7'])
    expect(keys(await collect(store.list({ organization: 'o7', actor: 'app' })))).toEqual(['app.a.o7'])
    expect(await collect(store.list({ organization: 'o7', actor: 'self' }))).toEqual([])
  })

  test('reads nothing until it is awaited or iterated, and stops when the loop ends', async () => {
    const { store, watch } = await storeOf(200)
    const listing = store.list()
    expect(watch.calls).toEqual([])
    for await (const _ of listing) break
    expect(watch.count('getItem')).toBeLessThanOrEqual(2 * 17)
    await Promise.all([listing, listing.then(), listing.catch(() => {}), listing.finally(() => {})])
    expect(watch.count('getKeys')).toBe(2)
  })

  test('can be awaited with the methods of a promise', async () => {
    const { store, watch } = await storeOf(1)
    const ended = vi.fn()
    const listing = store.list()
    expect(await listing.then(({ connections }) => connections.length)).toBe(1)
    expect(await listing.finally(ended)).toBe(await listing)
    expect(ended).toHaveBeenCalledOnce()
    watch.before = () => Promise.reject(new Error('EMFILE'))
    expect(await store.list().catch((error: unknown) => (error as ConnectionStoreError).reason)).toBe('storage_failed')
  })

  test('leaves no unhandled rejection if many reads fail at the same time', async () => {
    const { store, watch } = await storeOf(50)
    watch.before = ({ method }) => (method === 'getItem' ? Promise.reject(new Error('EMFILE')) : undefined)
    const unhandled = await unhandledDuring(async () => {
      expect(await storeError(store.list())).toMatchObject({ reason: 'storage_failed' })
    })
    expect(unhandled).toEqual([])
  })

  test('reads at most 16 connections at a time, and does not collect the keys', async () => {
    const items = mapStorage(new Map(await itemsOfMany(300)))
    let [reading, most, named, mostAhead, read] = [0, 0, 0, 0, 0]
    const store = new ConnectionStore({
      baseUrl,
      storage: {
        ...items,
        getItem: async (key) => {
          most = Math.max(most, ++reading)
          await setImmediate()
          reading -= 1
          return items.getItem(key)
        },
        async *getKeys() {
          for (const key of items.getKeys()) {
            named += 1
            mostAhead = Math.max(mostAhead, named - 2 * read)
            yield key
          }
        },
      },
    })
    for await (const _ of store.list()) read += 1
    expect(read).toBe(300)
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(16)
    expect(mostAhead).toBeLessThanOrEqual(2 * 17)
  })

  test('reports unreadable entries to onUnreadable, and iterates the rest', async () => {
    const { store, watch } = await storeOf(3)
    await watch.storage.setItem('connections:https.service.example:app.a.o1:current', 'spoiled')
    const reported: ConnectionStoreError[] = []
    const onUnreadable = (error: ConnectionStoreError) => void reported.push(error)
    expect(await collect(store.list({}, { onUnreadable }))).toHaveLength(2)
    expect(reported).toEqual([expect.objectContaining({ reason: 'entry_damaged', key: 'app.a.o1' })])
    expect((await store.list()).unreadable).toHaveLength(1)
  })

  test.each(failingCallbacks(new Error('no log')))('continues if onUnreadable %s', async (_title, onUnreadable) => {
    const { store, watch } = await storeOf(3)
    await watch.storage.setItem('connections:https.service.example:app.a.o1:current', 'spoiled')
    const unhandled = await unhandledDuring(async () => {
      expect(await collect(store.list({}, { onUnreadable }))).toHaveLength(2)
      const { connections, unreadable } = await store.list({}, { onUnreadable })
      expect([connections.length, unreadable.length]).toEqual([2, 1])
    })
    expect(unhandled).toEqual([])
  })

  test('returns a connection or an error once if the storage lists its key twice', async () => {
    const { store, watch } = await storeOf(3)
    await watch.storage.setItem('connections:https.service.example:app.a.o1:current', 'spoiled')
    const { getKeys } = watch.storage
    watch.storage.getKeys = async (base) => {
      const keys = (await getKeys(base)) as string[]
      return [...keys, ...keys]
    }
    const onUnreadable = vi.fn()
    const { connections, unreadable } = await store.list({}, { onUnreadable })
    expect([connections.length, unreadable.length]).toEqual([2, 1])
    expect(onUnreadable).toHaveBeenCalledOnce()
    // An iteration would have to remember every key.
    expect(await collect(store.list())).toHaveLength(4)
  })

  test.each<[string, () => unknown]>([
    ['throws', () => Promise.reject(new Error('EMFILE'))],
    ['returns an error', () => new Error('EMFILE')],
    ['returns a value that is not iterable', () => 7],
    [
      'fails midway',
      async function* () {
        yield 'other'
        throw new Error('EMFILE')
      },
    ],
  ])('fails with storage_failed when getKeys %s', async (_title, getKeys) => {
    const storage = { ...mapStorage(), getKeys: getKeys as () => string[] }
    const store = new ConnectionStore({ baseUrl, storage })
    expect(await storeError(store.list())).toMatchObject({ reason: 'storage_failed' })
    expect(await storeError(collect(store.list()))).toMatchObject({ reason: 'storage_failed' })
  })
})
