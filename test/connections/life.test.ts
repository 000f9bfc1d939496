import { beforeEach, describe, expect, test, vi } from 'vitest'
import { AuthenticationError, ServerError } from '../../src/index.ts'
import { AccessToken } from '../../src/oauth/access-token.ts'
import { type Connection, ConnectionNotSavedError, type ConnectionStoreOptions } from '../../src/oauth.ts'
import type { Sandbox } from '../../src/sandbox.ts'
import { heldFetch } from './helpers/held-fetch.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { makeStore, rejection, secret, storeError, useSandbox } from './helpers/store.ts'
import { unhandledDuring, watchersThatFail } from './helpers/unhandled.ts'

const newSandbox = useSandbox()
let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await newSandbox()
})

async function connected(options: Partial<ConnectionStoreOptions> = {}) {
  const gate = heldFetch()
  const storage = mapStorage()
  const revoked: Connection[] = []
  const store = makeStore(sandbox, {
    storage,
    secret,
    client: { fetch: gate.fetch, maxRetries: 0 },
    onRevoked: (connection) => void revoked.push(connection),
    ...options,
  })
  const token = sandbox.issueToken({ actor: 'self' })
  const connection = await store.save(token)
  const workspace = await store.workspace(connection.key)
  sandbox.clearRequests()
  return { gate, storage, revoked, store, token, connection, workspace, key: connection.key }
}

const refuseOnce = () => sandbox.failNext({ status: 401, body: { error: 'invalid_token' } })

describe('a token for another service or app', () => {
  const tokenOf = (origin: { baseUrl?: string; clientId?: string }) => {
    const issued = { accessToken: sandbox.issueToken(), tokenType: 'Bearer', scope: '' }
    return new AccessToken({ ...issued, baseUrl: sandbox.url, clientId: 'app_sandbox', ...origin })
  }

  test('is refused before anything is sent', async () => {
    const store = makeStore(sandbox, { clientId: 'app_sandbox' })
    for (const origin of [
      { baseUrl: 'https://other.example' },
      { baseUrl: `${sandbox.url}/below` },
      { baseUrl: sandbox.url, clientId: 'another' },
    ]) {
      expect(await rejection(store.save(tokenOf(origin)))).toMatchObject({
        name: 'InvalidArgumentError',
        argument: 'token',
      })
    }
    expect(sandbox.requests).toEqual([])
  })

  test.each([
    ['no address', {}],
    ['an address that is no text', { baseUrl: 7 }],
    ['an empty address', { baseUrl: '' }],
  ])('is refused before anything is sent when it is a plain object with %s', async (_title, origin) => {
    const token = { accessToken: sandbox.issueToken(), ...origin } as unknown as AccessToken
    expect(await rejection(makeStore(sandbox).save(token))).toMatchObject({
      name: 'InvalidArgumentError',
      argument: 'token',
    })
    expect(sandbox.requests).toEqual([])
  })

  test('is not what a token of this service is, with or without a slash at the end of its address', async () => {
    const store = makeStore(sandbox, { clientId: 'app_sandbox' })
    for (const origin of [{}, { baseUrl: sandbox.url }, { baseUrl: `${sandbox.url}/`, clientId: 'app_sandbox' }]) {
      expect((await store.save(tokenOf(origin))).actor).toBe('app')
    }
  })

  test('is refused when /me names another client id than the one of the store, and nothing is saved', async () => {
    const storage = mapStorage()
    const store = makeStore(sandbox, { storage, clientId: 'another' })
    const error = await rejection(store.save(sandbox.issueToken()))
    expect(error).toBeInstanceOf(ConnectionNotSavedError)
    expect(error).toMatchObject({ reason: 'identity_mismatch' })
    expect(storage.items.size).toBe(0)
  })

  test.each(['', 7, null])('cannot be told by a clientId that is %j', (clientId) => {
    expect(() => makeStore(sandbox, { clientId: clientId as string })).toThrow(
      expect.objectContaining({ name: 'InvalidArgumentError', argument: 'clientId' }),
    )
  })
})

describe('one 401 invalid_token that /me does not confirm', () => {
  test('leaves the connection, and the error of the call is what it was', async () => {
    const { store, workspace, revoked, key } = await connected()
    refuseOnce()
    const error = await rejection(workspace.conversations.list())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect((error as Error).cause).toBeUndefined()
    expect(sandbox.requests.map(({ path }) => path)).toEqual(['/api/oauth/v1/conversations', '/api/oauth/v1/me'])
    expect(revoked).toEqual([])
    expect(await store.get(key)).toBeDefined()
    await workspace.conversations.list()
  })

  test.each([
    ['a server error', { status: 503 }],
    ['a rate limit', { status: 429 }],
    ['a 401 about something else', { status: 401, body: { error: 'invalid_client' } }],
  ] as const)('because that fails with %s leaves the connection too', async (_title, fault) => {
    const { store, workspace, revoked, key } = await connected()
    refuseOnce()
    sandbox.failNext(fault)
    expect(await rejection(workspace.conversations.list())).toBeInstanceOf(AuthenticationError)
    expect(revoked).toEqual([])
    expect(await store.get(key)).toBeDefined()
  })

  test('asks /me once, with the refused token, for many calls that fail together', async () => {
    const { gate, token, workspace, revoked, storage } = await connected()
    gate.hold('requests')
    const calls = Promise.all(Array.from({ length: 20 }, () => rejection(workspace.conversations.list())))
    await gate.held(20)
    sandbox.revoke(token)
    gate.release()
    // Every call has been refused before `/me` is sent, so that each would ask if they did not share.
    gate.hold('requests')
    await gate.held(1)
    await vi.waitFor(() => expect(sandbox.requests).toHaveLength(20))
    gate.release()
    await calls
    const asked = sandbox.requests.filter(({ path }) => path === '/api/oauth/v1/me')
    expect(asked.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${token}`])
    expect(revoked).toHaveLength(1)
    expect(storage.items.size).toBe(0)
  })
})

describe('reactions to refused tokens', () => {
  test('are one for each token: a successor that is refused meanwhile is heard of too', async () => {
    const storage = mapStorage()
    const { promise: first, resolve: letFirstEnd } = Promise.withResolvers<void>()
    const { promise: heard, resolve: isHeard } = Promise.withResolvers<void>()
    const revoked: Connection[] = []
    const store = makeStore(sandbox, {
      storage,
      client: { maxRetries: 0 },
      onRevoked: async (connection) => {
        revoked.push(connection)
        if (revoked.length > 1) return
        isHeard()
        await first
      },
    })
    const token = sandbox.issueToken()
    const { key } = await store.save(token)
    const workspace = await store.workspace(key)
    sandbox.revoke(token)
    const call = rejection(workspace.me())
    await heard
    const successor = sandbox.issueToken()
    await store.save(successor)
    sandbox.revoke(successor)
    await rejection(workspace.me())
    expect(revoked).toHaveLength(2)
    expect(await store.get(key)).toBeUndefined()
    letFirstEnd()
    await call
  })

  test('end: the same token, saved and refused again, is heard of again', async () => {
    const tokens = new Set(['the-token'])
    const revoked: Connection[] = []
    const store = makeStore(sandbox, {
      onRevoked: (connection) => void revoked.push(connection),
      client: {
        maxRetries: 0,
        fetch: async () =>
          tokens.has('the-token')
            ? Response.json({ application: { id: 'a' }, organization: { id: 'o' }, actor: 'app' })
            : Response.json({ error: 'invalid_token' }, { status: 401 }),
      },
    })
    for (const times of [1, 2]) {
      tokens.add('the-token')
      const { key } = await store.save('the-token')
      const workspace = await store.workspace(key)
      tokens.clear()
      await rejection(workspace.me())
      expect(revoked).toHaveLength(times)
    }
  })
})

describe('keepRevoked', () => {
  test('keeps a revoked connection without its token, until a new login replaces it', async () => {
    const before = Date.now()
    const { store, storage, token, key, connection, workspace, revoked } = await connected({
      keepRevoked: true,
      secret: undefined,
    })
    sandbox.revoke(token)
    await rejection(workspace.me())
    const kept = await store.get(key)
    expect(kept).toEqual({ ...connection, revokedAt: expect.any(Number) })
    expect(kept?.revokedAt).toBeGreaterThanOrEqual(before)
    expect((await store.list()).connections).toEqual([kept])
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

  test('leaves a login alone that came before the refusal of the token before it', async () => {
    const { gate, store, storage, token, key, workspace, revoked } = await connected({ keepRevoked: true })
    sandbox.revoke(token)
    gate.hold('answers')
    const call = rejection(workspace.me())
    await gate.held(1)
    const saved = await makeStore(sandbox, { storage, secret }).save(sandbox.issueToken({ actor: 'self' }))
    gate.release()
    await call
    expect(revoked).toEqual([])
    expect(await store.get(key)).toEqual(saved)
    expect(saved).not.toHaveProperty('revokedAt')
  })
})

describe('metadata', () => {
  test('is kept with a connection, survives a new login, and can be replaced and removed', async () => {
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
    expect(storage.items.size).toBe(2)
  })

  test('changed many times at once in a process ends with the last change', async () => {
    const { store, key } = await connected()
    await Promise.all(Array.from({ length: 20 }, (_, index) => store.setMetadata(key, { index })))
    expect((await store.get(key))?.metadata).toEqual({ index: 19 })
  })

  test('ends with the last change, though the storage responds to the first one late', async () => {
    const watch = watched()
    const store = makeStore(sandbox, { storage: watch.storage, secret })
    const { key } = await store.save(sandbox.issueToken())
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    watch.reset()
    watch.before = ({ number }) => (number === 1 ? released : undefined)
    const first = store.setMetadata(key, { index: 1 })
    const second = store.setMetadata(key, { index: 2 })
    // The second one has the time that it needs, if it does not wait.
    for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setTimeout(resolve, 1))
    release()
    expect([(await first).metadata, (await second).metadata]).toEqual([{ index: 1 }, { index: 2 }])
    expect((await store.get(key))?.metadata).toEqual({ index: 2 })
  })

  test.each([null, 'text', 7, [], { toJSON: () => 'text' }, { size: 1n }])(
    'that is no JSON object (%#) is refused before anything is sent or changed',
    async (metadata) => {
      const { store, key, token } = await connected()
      const bad = metadata as unknown as Record<string, unknown>
      for (const attempt of [store.save(token, { metadata: bad }), store.setMetadata(key, bad)]) {
        expect(await rejection(attempt)).toMatchObject({ name: 'InvalidArgumentError', argument: 'metadata' })
      }
      expect(sandbox.requests).toEqual([])
    },
  )

  test('of what is not connected cannot be set', async () => {
    const { store, key } = await connected()
    await store.remove(key)
    expect(await storeError(store.setMetadata(key, {}))).toMatchObject({ reason: 'not_connected', key })
  })
})

describe('verify', () => {
  const me = {
    application: { id: 'a', name: 'App' },
    organization: { id: 'o', display_name: 'Before' },
    actor: 'app',
    scopes: ['users:read'],
  }
  async function verified(change: object) {
    let answer: object = me
    const store = makeStore(sandbox, { client: { fetch: async () => Response.json(answer) } })
    const connection = await store.save('the-token', { metadata: { owner: 7 } })
    answer = { ...me, ...change }
    return { store, connection }
  }

  test('saves the names and scopes that /me gives now, and leaves the rest', async () => {
    const organization = { id: 'o', display_name: 'After' }
    const { store, connection } = await verified({ scopes: ['contacts:read'], organization })
    const expected = { ...connection, scopes: ['contacts:read'], organization: { id: 'o', name: 'After' } }
    expect(await store.verify(connection.key)).toEqual(expected)
    expect(await store.get(connection.key)).toEqual(expected)
  })

  test('refuses an answer about another connection', async () => {
    const { store, connection } = await verified({ organization: { id: 'another' } })
    expect(await storeError(store.verify(connection.key))).toMatchObject({
      reason: 'identity_mismatch',
      key: connection.key,
    })
    expect(await store.get(connection.key)).toEqual(connection)
  })

  test('leaves a login alone that came while it asked', async () => {
    const { gate, store, storage, key } = await connected()
    gate.hold('answers')
    const verifying = store.verify(key)
    await gate.held(1)
    const token = sandbox.issueToken({ actor: 'self', scopes: ['users:read'] })
    const saved = await makeStore(sandbox, { storage, secret }).save(token)
    gate.release()
    expect(await verifying).toEqual(saved)
    expect(await store.get(key)).toEqual(saved)
  })

  test('hears of a revocation as any call does', async () => {
    const { store, token, key, revoked, storage } = await connected()
    sandbox.revoke(token)
    expect(await rejection(store.verify(key))).toBeInstanceOf(AuthenticationError)
    expect(revoked).toHaveLength(1)
    expect(storage.items.size).toBe(0)
  })

  test('rejects with what failed, and leaves the connection', async () => {
    const { store, key } = await connected()
    sandbox.failNext({ status: 503 })
    expect(await rejection(store.verify(key))).toBeInstanceOf(ServerError)
    expect(await store.get(key)).toBeDefined()
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

  test('is not needed any more for a connection that was read', async () => {
    const { rotating, later, watch, keys } = await sealedWithTheOld(1)
    const [key = ''] = keys
    expect(await storeError(later.get(key))).toMatchObject({ reason: 'secret_unknown' })
    const read = await rotating.get(key)
    expect(await later.get(key)).toEqual(read)
    watch.reset()
    await rotating.get(key)
    expect(watch.count('setItem')).toBe(0)
  })

  test('still opens an entry in a storage that takes no writes', async () => {
    const { rotating, watch, keys } = await sealedWithTheOld(1)
    watch.before = ({ method }) => {
      if (method === 'setItem') throw new Error('read-only')
    }
    expect(await rotating.get(keys[0] ?? '')).toBeDefined()
    expect(await storeError(rotating.reseal())).toMatchObject({ reason: 'storage_failed' })
  })

  test('is not needed any more for anything after reseal, which tells how far it is', async () => {
    const { rotating, later, keys } = await sealedWithTheOld(40)
    await rotating.get(keys[0] ?? '')
    const progress: unknown[] = []
    const result = await rotating.reseal({ onProgress: (step) => void progress.push(step) })
    expect(result).toEqual({ checked: 40, resealed: 39, unreadable: [] })
    expect(progress).toHaveLength(40)
    expect(progress.at(-1)).toEqual({ checked: 40, resealed: 39 })
    expect((await later.list()).connections).toHaveLength(40)
    expect(await rotating.reseal()).toEqual({ checked: 40, resealed: 0, unreadable: [] })
  })

  test.each(watchersThatFail)(
    'is replaced everywhere by reseal, though its onProgress %s',
    async (_title, onProgress) => {
      const { rotating } = await sealedWithTheOld(3)
      const unhandled = await unhandledDuring(async () => {
        expect(await rotating.reseal({ onProgress })).toEqual({ checked: 3, resealed: 3, unreadable: [] })
      })
      expect(unhandled).toEqual([])
    },
  )

  test('leaves reseal going past what cannot be read', async () => {
    const { rotating, storage, keys } = await sealedWithTheOld(3)
    const place = [...storage.items.keys()].find((item) => item.endsWith(`${keys[1]}:current`)) ?? ''
    storage.items.set(place, 'spoiled')
    expect(await rotating.reseal()).toEqual({
      checked: 3,
      resealed: 2,
      unreadable: [expect.objectContaining({ reason: 'entry_damaged', key: keys[1] })],
    })
  })

  test('is left in use where reseal was aborted', async () => {
    const { rotating, later } = await sealedWithTheOld(40)
    const controller = new AbortController()
    const onProgress = () => controller.abort(new Error('enough'))
    const error = await rejection(rotating.reseal({ signal: controller.signal, onProgress }))
    expect(error).toMatchObject({ message: 'enough' })
    expect((await later.list()).unreadable.length).toBeGreaterThan(10)
  })

  test('of a revoked connection is replaced too', async () => {
    const storage = mapStorage()
    const options = { storage, keepRevoked: true, client: { maxRetries: 0 } }
    const old = makeStore(sandbox, { ...options, secret })
    const token = sandbox.issueToken()
    const { key } = await old.save(token)
    sandbox.revoke(token)
    await rejection((await old.workspace(key)).me())
    expect(await makeStore(sandbox, { ...options, secret: [newest, secret] }).reseal()).toMatchObject({ resealed: 1 })
    expect((await makeStore(sandbox, { ...options, secret: newest }).get(key))?.revokedAt).toBeDefined()
  })
})

describe('retry of a failed save', () => {
  async function failed(how: 'storage' | 'me' = 'storage') {
    const watch = watched()
    const store = makeStore(sandbox, { storage: watch.storage, client: { maxRetries: 0 } })
    const token = sandbox.issueToken()
    watch.before = ({ method }) => {
      if (method === 'setItem') throw new Error('The disk is full.')
    }
    if (how === 'me') sandbox.failNext({ status: 503 })
    const error = (await rejection(store.save(token))) as ConnectionNotSavedError
    expect(error).toBeInstanceOf(ConnectionNotSavedError)
    watch.before = () => undefined
    return { watch, store, error, token }
  }

  test.each(['storage', 'me'] as const)('keeps a newer login, and returns it (%s failed)', async (how) => {
    const { watch, store, error } = await failed(how)
    const newer = sandbox.issueToken()
    const saved = await store.save(newer)
    expect(await error.retry()).toEqual(saved)
    sandbox.clearRequests()
    await (await store.workspace(saved.key)).me()
    expect(sandbox.requests.at(-1)?.headers.authorization).toBe(`Bearer ${newer}`)
    expect(await watch.storage.getKeys()).toHaveLength(2)
  })

  test('replaces the login that was there before', async () => {
    const watch = watched()
    const store = makeStore(sandbox, { storage: watch.storage })
    await store.save(sandbox.issueToken())
    watch.before = ({ method, key }) => {
      if (method === 'setItem' && key.endsWith(':current')) throw new Error('no')
    }
    const token = sandbox.issueToken()
    const error = (await rejection(store.save(token))) as ConnectionNotSavedError
    watch.before = () => undefined
    const { key } = await error.retry()
    sandbox.clearRequests()
    await (await store.workspace(key)).me()
    expect(sandbox.requests.at(-1)?.headers.authorization).toBe(`Bearer ${token}`)
    expect(await watch.storage.getKeys()).toHaveLength(2)
  })
})

describe('a storage that returns instead of throwing', () => {
  test.each([new Error('EMFILE: too many open files'), 7, true])(
    '%j from getItem is storage_failed, not a damaged entry',
    async (value) => {
      const { storage, key } = await connected()
      const store = makeStore(sandbox, { storage: { ...storage, getItem: () => value }, secret })
      expect(await storeError(store.get(key))).toMatchObject({ reason: 'storage_failed', key })
      expect(await storeError(store.list())).toMatchObject({ reason: 'storage_failed' })
    },
  )

  test.each(['setItem', 'removeItem'] as const)('an error from %s is storage_failed', async (method) => {
    const { storage, key } = await connected()
    const failing = { ...storage, [method]: () => new Error('EMFILE') }
    const store = makeStore(sandbox, { storage: failing, secret })
    const attempt = method === 'setItem' ? store.save(sandbox.issueToken({ actor: 'self' })) : store.remove(key)
    expect(await storeError(attempt)).toMatchObject({ reason: 'storage_failed' })
  })
})

test('a pointer names the entry before it, so that the next login clears what a half-finished one left', async () => {
  const { storage, store } = await connected()
  const pointer = () => JSON.parse([...storage.items].find(([key]) => key.endsWith(':current'))?.[1] ?? '')
  const first = pointer().current
  await store.save(sandbox.issueToken({ actor: 'self' }))
  expect(pointer()).toEqual({ current: expect.any(String), previous: first })
  expect(pointer().current).not.toBe(first)
})

test('no storage key of a service with a long address, or of long ids, has a part that no file system takes', async () => {
  const storage = mapStorage()
  const me = { application: { id: 'Ä'.repeat(999) }, organization: { id: 'o'.repeat(999) }, actor: 'app' }
  const options = { storage, client: { fetch: async () => Response.json(me) } }
  const url = `https://service.example/${'path/'.repeat(200)}`
  const store = makeStore({ url }, options)
  const { key } = await store.save('token')
  expect(await store.get(key)).toBeDefined()
  expect((await store.list({ application: 'Ä'.repeat(999) })).connections).toHaveLength(1)
  for (const name of storage.items.keys()) {
    for (const part of name.split(':')) expect(part.length).toBeLessThanOrEqual(255)
  }
  const above = makeStore({ url: url.slice(0, 203) }, options)
  expect((await above.list()).connections).toEqual([])
  await store.remove(key)
  expect(storage.items.size).toBe(0)
})
