import { beforeEach, describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox.ts'
import { json, rejection } from '../helpers/client.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { makeStore, storeError, useSandbox } from './helpers/store.ts'

const newSandbox = useSandbox()
let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await newSandbox()
})

describe('a storage', () => {
  test('that returns null for a missing text has no connection', async () => {
    const items = mapStorage()
    const storage = { ...items, get: (key: string) => items.items.get(key) ?? null }
    const store = makeStore(sandbox, { storage })
    expect(await store.get('app.a.o')).toBeUndefined()
    const { key } = await store.save(sandbox.issueToken())
    expect(await store.get(key)).toMatchObject({ key })
  })

  test.each([
    [{ get: () => null }, '`storage` lacks `compareAndSet`, `list`.'],
    [{ getItem: () => null, setItem: () => {} }, '`storage` lacks `get`, `compareAndSet`, `list`.'],
  ])('that lacks methods is refused with their names, and with the adapter for unstorage (%#)', (storage, message) => {
    const create = () => makeStore(sandbox, { storage: storage as never })
    expect(create).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument: 'storage' }))
    expect(create).toThrow(message)
    expect(create).toThrow('wrap it in `singleProcessStorage`')
  })

  test('that refuses every write is reported after 100 attempts', async () => {
    const watch = watched()
    const storage = { ...watch.storage, compareAndSet: () => false }
    const error = await rejection(makeStore(sandbox, { storage }).save(sandbox.issueToken()))
    expect(error).toMatchObject({ name: 'ConnectionNotSavedError', reason: 'storage_failed' })
    expect(String(error)).toContain('refused 100 changes of the connection')
    expect(watch.count('get')).toBe(100)
  })
})

describe('what `/me` names', () => {
  const storeWith = (me: object, options = {}) =>
    makeStore(sandbox, { client: { fetch: async () => json(me) }, ...options })

  test('is refused without the application of the store', async () => {
    const store = storeWith({ actor: 'app', organization: { id: 'o' } }, { clientId: 'app' })
    expect(await rejection(store.save('swot_token_of_nobody'))).toMatchObject({ reason: 'identity_mismatch' })
  })

  test('is refused by verify for another application', async () => {
    const storage = mapStorage()
    const { key } = await makeStore(sandbox, { storage }).save(sandbox.issueToken())
    const error = await storeError(makeStore(sandbox, { storage, clientId: 'another' }).verify(key))
    expect(error).toMatchObject({ reason: 'identity_mismatch' })
  })
})
