import { describe, expect, test, vi } from 'vitest'
import { AuthenticationError, type Remedy } from '../../src/index.ts'
import type { ConnectionStoreOptions } from '../../src/oauth/index.ts'
import type { Fault } from '../../src/sandbox/index.ts'
import { AccessToken } from '../../src/shared/access-token.ts'
import { rejection } from '../helpers/client.ts'
import { type Method, mapStorage, watched } from './helpers/storages.ts'
import { connectedStore, makeStore, secret, storeError, unreadableIn, useSandbox } from './helpers/store.ts'

const sandbox = await useSandbox()

const connected = (options?: Partial<ConnectionStoreOptions>) => connectedStore(sandbox, options)

const tokenOf = (origin: { baseUrl?: string; clientId?: string }) => {
  const issued = { accessToken: sandbox.issueToken(), tokenType: 'Bearer', scope: '' }
  return new AccessToken({ ...issued, baseUrl: sandbox.url, clientId: 'app_sandbox', ...origin })
}

test('a token for another service or app is rejected before sending anything', async () => {
  const store = makeStore(sandbox, { clientId: 'app_sandbox' })
  const accessToken = sandbox.issueToken()
  for (const token of [
    tokenOf({ baseUrl: 'https://other.example' }),
    tokenOf({ baseUrl: `${sandbox.url}/below` }),
    tokenOf({ clientId: 'another' }),
    { accessToken },
    { accessToken, baseUrl: 7 },
    { accessToken, baseUrl: '' },
  ]) {
    const expected = { name: 'InvalidArgumentError', argument: 'token' }
    expect(await rejection(store.save(token as AccessToken))).toMatchObject(expected)
  }
  expect(sandbox.requests).toEqual([])
})

test.each<[string, Fault | undefined]>([
  ['succeeds', undefined],
  ['fails with a server error', { status: 503 }],
  ['fails with a rate limit', { status: 429 }],
  ['fails with a 401 and another code', { status: 401, body: { error: 'invalid_client' } }],
  ['fails with the code of a revoked token, but with 403', { status: 403, body: { error: 'invalid_token' } }],
])('a 401 invalid_token keeps the connection if /me %s', async (_title, fault) => {
  const { store, workspace, revoked, key } = await connected()
  sandbox.failNext({ status: 401, body: { error: 'invalid_token' } })
  if (fault !== undefined) sandbox.failNext(fault)
  const error = await rejection(workspace.conversations.list())
  expect(error).toBeInstanceOf(AuthenticationError)
  expect((error as Error).cause).toBeUndefined()
  expect(sandbox.requests.map(({ path }) => path)).toEqual(['/api/oauth/v1/conversations', '/api/oauth/v1/me'])
  expect(revoked).toEqual([])
  expect(await store.get(key)).toBeDefined()
  await workspace.conversations.list()
})

test('handling of revoked tokens runs again for the same token, saved and revoked again', async () => {
  const me = { application: { id: 'a' }, organization: { id: 'o' }, actor: 'app' }
  let respond = () => Response.json(me)
  const { store, workspace, token, revoked } = await connected({
    client: { maxRetries: 0, fetch: async () => respond() },
  })
  for (const times of [1, 2]) {
    respond = () => Response.json(me)
    await store.save(token)
    respond = () => Response.json({ error: 'invalid_token' }, { status: 401 })
    await rejection(workspace.me())
    expect(revoked).toHaveLength(times)
  }
})

test('keepRevoked keeps a revoked connection without its token, until a new login replaces it', async () => {
  const before = Date.now()
  const { store, storage, token, key, connection, workspace, revoked } = await connected({
    keepRevoked: true,
    secret: undefined,
  })
  sandbox.revoke(token)
  expect(await rejection(store.verify(key))).toBeInstanceOf(AuthenticationError)
  const kept = await store.get(key)
  expect(kept).toEqual({ ...connection, revokedAt: expect.any(Number) })
  expect(kept?.revokedAt).toBeGreaterThanOrEqual(before)
  expect(await store.list().toArray()).toEqual([kept])
  expect(revoked).toEqual([kept])
  expect([...storage.items.values()].join()).not.toContain(token)

  sandbox.clearRequests()
  for (const attempt of [workspace.me(), store.workspace(key), store.verify(key)]) {
    const error = await storeError(attempt)
    expect(error.reason).toBe('not_connected')
    expect(error.message).toContain(new Date(kept?.revokedAt ?? 0).toISOString())
  }
  expect(sandbox.requests).toEqual([])

  const again = await store.save(sandbox.issueToken({ actor: 'self' }))
  expect(again).not.toHaveProperty('revokedAt')
  expect(await store.get(key)).toEqual(again)
  await workspace.me()
  await store.remove(key)
  expect(storage.items.size).toBe(0)
})

test('metadata is kept by a new login, and can be replaced and removed', async () => {
  const { store, key, storage, token } = await connected()
  const withMetadata = await store.save(token, { metadata: { owner: 7, tags: ['a'] } })
  expect(withMetadata.metadata).toEqual({ owner: 7, tags: ['a'] })
  expect(await store.get(key)).toEqual(withMetadata)
  expect((await store.save(sandbox.issueToken({ actor: 'self' }))).metadata).toEqual({ owner: 7, tags: ['a'] })
  const changed = await store.setMetadata(key, { owner: 8 })
  expect(changed.metadata).toEqual({ owner: 8 })
  expect(await store.get(key)).toEqual(changed)
  await (await store.workspace(key)).me()
  expect(await store.setMetadata(key, undefined)).not.toHaveProperty('metadata')
  expect(await store.get(key)).not.toHaveProperty('metadata')
  expect([...storage.items.values()].join()).not.toContain('owner')
  expect(storage.items.size).toBe(1)
})

describe('verify', () => {
  const me = {
    application: { id: 'a', name: 'App' },
    organization: { id: 'o', display_name: 'Before' },
    actor: 'app',
    scopes: ['users:read'],
  }
  async function verified(change: object) {
    let body: object = me
    const store = makeStore(sandbox, { client: { fetch: async () => Response.json(body) } })
    const connection = await store.save('the-token', { metadata: { owner: 7 } })
    body = { ...me, ...change }
    return { store, connection }
  }

  test('saves the current names and scopes of /me, and keeps the rest', async () => {
    const organization = { id: 'o', display_name: 'After' }
    const { store, connection } = await verified({ scopes: ['contacts:read'], organization })
    const expected = { ...connection, scopes: ['contacts:read'], organization: { id: 'o', name: 'After' } }
    expect(await store.verify(connection.key)).toEqual(expected)
    expect(await store.get(connection.key)).toEqual(expected)
  })

  test('rejects a /me response for another connection or application', async () => {
    const { store, connection } = await verified({ organization: { id: 'another' } })
    const { key } = connection
    expect(await storeError(store.verify(key))).toMatchObject({ reason: 'identity_mismatch', key })
    expect(await store.get(key)).toEqual(connection)
    const { key: other, storage } = await connected()
    const foreign = makeStore(sandbox, { storage, secret, clientId: 'another' })
    expect(await storeError(foreign.verify(other))).toMatchObject({ reason: 'identity_mismatch' })
  })
})

describe('a retired secret', () => {
  const newest = 'the newest secret of this app, 32 characters or more'

  async function sealedWithTheOld(count: number) {
    const storage = mapStorage()
    const watch = watched(storage)
    const old = makeStore(sandbox, { storage, secret })
    const me = (id: string) => ({ application: { id: 'a' }, organization: { id }, actor: 'app' })
    const keys: string[] = []
    for (let index = 0; index < count; index += 1) {
      const client = { fetch: async () => Response.json(me(`o${index}`)) }
      keys.push((await makeStore(sandbox, { storage, secret, client }).save(`token-${index}`)).key)
    }
    return {
      storage,
      watch,
      old,
      keys,
      rotating: makeStore(sandbox, { storage: watch.storage, secret: [newest, secret] }),
      later: makeStore(sandbox, { storage, secret: newest }),
    }
  }

  test('is replaced in all processes by a rolling deployment', async () => {
    const { old, storage, keys } = await sealedWithTheOld(1)
    const [key = ''] = keys
    const prepared = makeStore(sandbox, { storage, secret: [secret, newest] })
    const switched = makeStore(sandbox, { storage, secret: [newest, secret] })
    // While the first deployment runs, processes with the old secret read what the others write.
    await prepared.setMetadata(key, { step: 1 })
    expect((await old.get(key))?.metadata).toEqual({ step: 1 })
    // While the second one runs, those of the first read what the others write.
    await switched.setMetadata(key, { step: 2 })
    expect((await prepared.get(key))?.metadata).toEqual({ step: 2 })
    await switched.reseal()
    expect((await makeStore(sandbox, { storage, secret: newest }).get(key))?.metadata).toEqual({ step: 2 })
  })

  test('is needed until reseal, which reports its progress', async () => {
    const { rotating, later, watch, keys } = await sealedWithTheOld(40)
    // A read never reseals.
    expect(await rotating.list().toArray()).toHaveLength(40)
    expect(await rotating.get(keys[0] ?? '')).toBeDefined()
    expect(watch.count('compareAndSet')).toBe(0)
    expect(await unreadableIn(later)).toHaveLength(40)
    await rotating.setMetadata(keys[0] ?? '', {})
    const progress: unknown[] = []
    const result = await rotating.reseal({ onProgress: (step) => void progress.push(step) })
    expect(result).toEqual({ checked: 40, resealed: 39, unreadable: [] })
    expect(progress).toHaveLength(40)
    expect(progress.at(-1)).toEqual({ checked: 40, resealed: 39 })
    expect(await later.list().toArray()).toHaveLength(40)
    expect(await rotating.reseal()).toEqual({ checked: 40, resealed: 0, unreadable: [] })
  })

  test('does not stop reseal at a connection that was removed, replaced or damaged since it was listed', async () => {
    const { rotating, old, watch, storage, keys } = await sealedWithTheOld(4)
    const [removed = '', replaced = '', damaged = ''] = keys
    const listed = [...storage.items].map(([item, text]) => [item, item.endsWith(damaged) ? 'spoiled' : text] as const)
    watch.storage.list = async function* () {
      yield listed
    }
    await old.remove(removed)
    await old.setMetadata(replaced, { owner: 7 })
    expect(await rotating.reseal()).toEqual({
      checked: 4,
      resealed: 2,
      unreadable: [expect.objectContaining({ reason: 'entry_damaged', key: damaged })],
    })
    expect(storage.items.size).toBe(3)
    expect((await rotating.get(replaced))?.metadata).toEqual({ owner: 7 })
  })

  test('stays in use where reseal was aborted', async () => {
    const { rotating, later } = await sealedWithTheOld(40)
    const controller = new AbortController()
    const onProgress = () => controller.abort(new Error('enough'))
    const error = await rejection(rotating.reseal({ signal: controller.signal, onProgress }))
    expect(error).toMatchObject({ message: 'enough' })
    expect((await unreadableIn(later)).length).toBeGreaterThan(10)
  })
})

describe('a write whose response is lost', () => {
  /** The storage as another process sees it, whose first write is lost on the way back, after `change`. */
  function losing(storage: ReturnType<typeof mapStorage>, change = async (): Promise<unknown> => undefined) {
    let isLost = false
    return {
      ...storage,
      async compareAndSet(...args: Parameters<typeof storage.compareAndSet>) {
        const result = storage.compareAndSet(...args)
        if (isLost) return result
        isLost = true
        await change()
        throw new Error('ECONNRESET')
      },
    }
  }

  test('of a change or a removal succeeds', async () => {
    const { storage, key } = await connected()
    const losingStore = () => makeStore(sandbox, { storage: losing(storage), secret })
    expect((await losingStore().setMetadata(key, { owner: 8 })).metadata).toEqual({ owner: 8 })
    await losingStore().remove(key)
    expect(storage.items.size).toBe(0)
  })

  test('of a login succeeds, even if the connection was changed since', async () => {
    const { store, storage, key } = await connected()
    const other = makeStore(sandbox, { storage: losing(storage, () => store.setMetadata(key, { owner: 8 })), secret })
    const saved = await other.save(sandbox.issueToken({ actor: 'self' }))
    expect(saved.metadata).toEqual({ owner: 8 })
    expect(await store.get(key)).toEqual(saved)
  })

  test('of a revocation calls onRevoked, even if there was a new login since', async () => {
    const { store, storage, token, connection, key } = await connected()
    const successor = sandbox.issueToken({ actor: 'self' })
    const onRevoked = vi.fn()
    const other = makeStore(sandbox, { storage: losing(storage, () => store.save(successor)), secret, onRevoked })
    const workspace = await other.workspace(key)
    sandbox.revoke(token)
    expect(((await rejection(workspace.me())) as Error).cause).toBeUndefined()
    expect(onRevoked).toHaveBeenCalledExactlyOnceWith(connection)
    await workspace.me()
  })
})

test.each<[Method, unknown, Remedy]>([
  ['get', new Error('EMFILE: too many open files'), 'retry'],
  ['get', 7, 'fix'],
  ['get', true, 'fix'],
  ['get', {}, 'fix'],
  ['compareAndSet', new Error('EMFILE'), 'retry'],
  ['compareAndSet', 1, 'fix'],
  ['compareAndSet', undefined, 'fix'],
  ['compareAndSet', null, 'fix'],
])('a storage whose %s returns %j is reported as storage_failed, with the remedy %s', async (method, value, remedy) => {
  const { storage, key } = await connected()
  const store = makeStore(sandbox, { storage: { ...storage, [method]: () => value }, secret })
  const saving = () => store.save(sandbox.issueToken({ actor: 'self' }))
  const calls = method === 'get' ? [() => store.get(key)] : [saving, () => store.remove(key)]
  for (const call of calls) expect(await storeError(call())).toMatchObject({ reason: 'storage_failed', key, remedy })
})
