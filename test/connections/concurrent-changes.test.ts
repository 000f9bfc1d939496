import { beforeEach, expect, test } from 'vitest'
import type { AccessToken } from '../../src/oauth/access-token.ts'
import { type Connection, InvalidArgumentError } from '../../src/oauth.ts'
import type { Sandbox } from '../../src/sandbox.ts'
import { rejection } from '../helpers/client.ts'
import { mapStorage } from './helpers/storages.ts'
import { makeStore, storeError, useSandbox } from './helpers/store.ts'

const newSandbox = useSandbox()
let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await newSandbox()
})

/** Runs an action when the client asks for `/me` the next time, before the request is sent. */
function beforeNextMe() {
  let action: (() => Promise<unknown>) | undefined
  return {
    does: (next: () => Promise<unknown>) => {
      action = next
    },
    fetch: async (url: string, init: object) => {
      const next = action
      if (url.endsWith('/me') && next !== undefined) {
        action = undefined
        await next()
      }
      return fetch(url, init)
    },
  }
}

test('verify reports a connection that was removed while it asked for `/me`', async () => {
  const me = beforeNextMe()
  const store = makeStore(sandbox, { client: { fetch: me.fetch } })
  const { key } = await store.save(sandbox.issueToken())
  me.does(() => store.remove(key))
  expect(await storeError(store.verify(key))).toMatchObject({ reason: 'not_connected', key })
})

test('a revocation that a new login has overtaken is not told', async () => {
  const told: Connection[] = []
  const me = beforeNextMe()
  const storage = mapStorage()
  const onRevoked = (connection: Connection) => void told.push(connection)
  const store = makeStore(sandbox, { storage, keepRevoked: true, client: { fetch: me.fetch }, onRevoked })
  const token = sandbox.issueToken()
  const { key } = await store.save(token)
  const workspace = await store.workspace(key)
  sandbox.revoke(token)
  // The store asks `/me` whether the token was revoked.
  me.does(() => makeStore(sandbox, { storage }).save(sandbox.issueToken()))
  await rejection(workspace.conversations.list())
  expect(told).toEqual([])
  expect((await store.get(key))?.revokedAt).toBeUndefined()
})

test('every method with a key refuses what is no key', async () => {
  const store = makeStore(sandbox)
  for (const call of [
    () => store.get('x'),
    () => store.remove('x'),
    () => store.verify('x'),
    () => store.workspace('x'),
    () => store.setMetadata('x', {}),
  ]) {
    const error = await rejection((async () => call())())
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error).toMatchObject({ argument: 'key' })
  }
})

test.each([[[]], ['messages:read'], [undefined]])(
  'a token whose scopes are %j is saved with the scopes that `/me` names, and without metadata',
  async (scopes) => {
    const store = makeStore(sandbox)
    const issued = sandbox.issueToken({ scopes: ['contacts:read'] })
    const token = { accessToken: issued, scopes, baseUrl: sandbox.url } as unknown as AccessToken
    const connection = await store.save(token)
    expect(connection.scopes).toEqual(['contacts:read'])
    expect(connection).not.toHaveProperty('metadata')
  },
)
