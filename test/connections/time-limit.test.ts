import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionStore, ConnectionStoreError } from '../../src/oauth/index.ts'
import { neverSettles, rejection } from '../helpers/client.ts'
import { type Method, mapStorage, watched } from './helpers/storages.ts'
import { secret } from './helpers/store.ts'

const older = 'the secret of last year, 32 characters or more'
const baseUrl = 'https://service.example'
const me = { actor: 'app', application: { id: 'a' }, organization: { id: 'o' } }
const client = { fetch: async () => Response.json(me), validation: 'off' } as const

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A store with one connection on a storage whose next call of a method never settles, once `hang` was called. */
async function hangingStore() {
  const items = mapStorage()
  const { key } = await new ConnectionStore({ baseUrl, client, storage: items, secret: older }).save('token-0123456789')
  const watch = watched(items)
  let hanging: Method | undefined
  watch.before = ({ method }) => {
    if (method !== hanging) return undefined
    hanging = undefined
    return neverSettles()
  }
  const store = new ConnectionStore({ baseUrl, client, storage: watch.storage, secret: [secret, older] })
  const hang = (method: Method) => {
    hanging = method
  }
  /** Resolves once that call was made. Encryption takes real time. */
  const hung = async () => {
    while (hanging !== undefined) await setImmediate()
  }
  return { key, store, hang, hung }
}

/** Expects that no time limit is left. Sockets that the tests of other files have used keep a timer for some seconds. */
async function expectNoTimer() {
  await vi.advanceTimersByTimeAsync(10_000)
  expect(vi.getTimerCount()).toBe(0)
}

test.each<[Method, (store: ConnectionStore, key: string) => PromiseLike<unknown>]>([
  ['get', (store, key) => store.get(key)],
  ['compareAndSet', (store, key) => store.setMetadata(key, {})],
  ['list', (store) => store.list().toArray()],
])('a call fails when %s of the storage does not settle within 30 seconds', async (method, call) => {
  const { key, store, hang, hung } = await hangingStore()
  hang(method)
  const failing = rejection(Promise.resolve(call(store, key)))
  await hung()
  await vi.advanceTimersByTimeAsync(29_999)
  await expect(Promise.race([failing, 'pending'])).resolves.toBe('pending')
  await vi.advanceTimersByTimeAsync(1)
  const error = await failing
  expect(error).toBeInstanceOf(ConnectionStoreError)
  expect(error).toMatchObject({ reason: 'storage_failed' })
  expect((error as Error).message).toContain('did not respond within 30 seconds')
  await expectNoTimer()
})

test('closes the listing of the storage when an iteration ends early, and leaves no timer', async () => {
  const items = mapStorage()
  const { key } = await new ConnectionStore({ baseUrl, client, storage: items }).save('token-0123456789')
  const closed = vi.fn()
  const storage = {
    ...items,
    async *list() {
      try {
        for (let count = 0; count < 100; count += 1) yield* items.list()
      } finally {
        closed()
      }
    },
  }
  for await (const connection of new ConnectionStore({ baseUrl, storage }).list()) {
    expect(connection.key).toBe(key)
    break
  }
  expect(closed).toHaveBeenCalledOnce()
  await expectNoTimer()
})

test('a write that never settles blocks other changes of its connection for 30 seconds, and reads not at all', async () => {
  const { key, store, hang, hung } = await hangingStore()
  hang('compareAndSet')
  const first = rejection(store.setMetadata(key, { plan: 0 }))
  await hung()
  expect((await store.get(key))?.key).toBe(key)
  expect((await store.workspace(key)).actor).toBe('app')
  const change = store.setMetadata(key, { plan: 1 })
  await vi.advanceTimersByTimeAsync(30_000)
  expect(await first).toMatchObject({ reason: 'storage_failed' })
  expect((await change).metadata).toEqual({ plan: 1 })
  expect((await store.get(key))?.metadata).toEqual({ plan: 1 })
  await expectNoTimer()
})
