import { beforeEach, describe, expect, test } from 'vitest'
import type { ConnectionStorage } from '../../src/oauth.ts'
import type { Sandbox } from '../../src/sandbox.ts'
import { json, rejection } from '../helpers/client.ts'
import { mapStorage } from './helpers/storages.ts'
import { makeStore, storeError, useSandbox } from './helpers/store.ts'

const newSandbox = useSandbox()
let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await newSandbox()
})

describe('a storage', () => {
  test('that returns undefined for a missing item has no connection', async () => {
    const items = mapStorage()
    const storage = { ...items, getItem: (key: string) => items.items.get(key) }
    const store = makeStore(sandbox, { storage })
    expect(await store.get('app.a.o')).toBeUndefined()
    const { key } = await store.save(sandbox.issueToken())
    expect(await store.get(key)).toMatchObject({ key })
  })

  test('that returns an error for its keys is named by that error', async () => {
    const storage = { ...mapStorage(), getKeys: () => new Error('no keys today') } as never
    const error = await storeError(makeStore(sandbox, { storage }).list())
    expect(error).toMatchObject({ reason: 'storage_failed', message: expect.stringContaining('no keys today') })
    expect(error.cause).not.toHaveProperty('code')
  })

  test('whose keys include those of others, of the same length, yields each connection once', async () => {
    const items = mapStorage()
    const storage: ConnectionStorage = {
      ...items,
      getKeys: () => items.getKeys().flatMap((key) => [key, `X${key.slice(1)}`]),
    }
    const store = makeStore(sandbox, { storage })
    await store.save(sandbox.issueToken())
    const connections = []
    for await (const connection of store.list()) connections.push(connection)
    expect(connections).toHaveLength(1)
  })

  test('that lists a connection which is gone when it is read yields nothing for it', async () => {
    const items = mapStorage()
    const { key } = await makeStore(sandbox, { storage: items }).save(sandbox.issueToken())
    const storage = { ...items, getItem: () => null }
    const store = makeStore(sandbox, { storage })
    expect(await store.list()).toEqual({ connections: [], unreadable: [] })
    expect(await store.get(key)).toBeUndefined()
  })

  test('that lacks methods is refused with their names', () => {
    const storage = { getItem: () => null, setItem: () => {} } as never
    expect(() => makeStore(sandbox, { storage })).toThrow('`storage` lacks `removeItem`, `getKeys`.')
  })
})

describe('what `/me` names', () => {
  const storeWith = (me: object, options = {}) =>
    makeStore(sandbox, { client: { fetch: async () => json(me) }, ...options })
  const application = { id: 'a', client_id: 'app' }

  test('is listed by what is missing', async () => {
    const error = await rejection(storeWith({ actor: 'app', application }).save('swot_token_of_nobody'))
    expect(error).toMatchObject({
      reason: 'identity_incomplete',
      message: expect.stringContaining("`/me` does not name the token's organization."),
    })
  })

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
