import { beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import type { Hooks, SupportWorkspace } from '../../src/index.ts'
import { type Connection, ConnectionStore } from '../../src/oauth/index.ts'
import type { AccessToken } from '../../src/shared/access-token.ts'
import { rejection } from '../helpers/client.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { makeStore, secret, storeError, unreadableIn, useSandbox } from './helpers/store.ts'

const sandbox = await useSandbox()
const startSandbox = useSandboxes()

describe.each([
  ['plain', undefined],
  ['sealed', secret],
])('%s', (_form, key) => {
  let storage: ReturnType<typeof mapStorage>
  beforeEach(() => {
    storage = mapStorage()
  })
  const store = () => makeStore(sandbox, { storage, secret: key })

  test('reads a saved connection in another store, as after a restart', async () => {
    const saved = await store().save(sandbox.issueToken({ actor: 'self' }))
    expect(await store().get(saved.key)).toEqual(saved)
    const workspace = await store().workspace(saved.key, { actor: 'self' })
    expectTypeOf(workspace).toEqualTypeOf<SupportWorkspace<'self'>>()
    expect((await workspace.me()).user?.id).toBe(saved.user?.id)
  })

  test('gives the command its own token without a request, and only while there is one', async () => {
    const token = sandbox.issueToken()
    const { key } = await store().save(token)
    const { length } = sandbox.requests
    expect(await store().token(key)).toBe(token)
    await store().remove(key)
    expect(await storeError(store().token(key))).toMatchObject({ reason: 'not_connected', key })
    expect(sandbox.requests).toHaveLength(length)
  })

  test('keeps a separate connection for each actor, organization and user', async () => {
    const [first, second] = sandbox.state.organizations
    const member = sandbox.state.members.find((one) => one.role === 'agent')
    const tokens = [
      sandbox.issueToken({ actor: 'app' }),
      sandbox.issueToken({ actor: 'self' }),
      sandbox.issueToken({ actor: 'self', member: member?.id ?? '' }),
      sandbox.issueToken({ actor: 'app', organization: second?.id ?? '' }),
    ]
    const saved: Connection[] = []
    for (const token of tokens) saved.push(await store().save(token))
    expect(new Set(saved.map((connection) => connection.key)).size).toBe(4)

    const byKey = (one: Connection, other: Connection) => (one.key < other.key ? -1 : 1)
    const connections = await store().list().toArray()
    expect(await unreadableIn(store())).toEqual([])
    expect(connections.toSorted(byKey)).toEqual(saved.toSorted(byKey))
    const keys = async (filter: object) => (await store().list(filter).toArray()).map(({ key }) => key).sort()
    expect(await keys({ organization: first?.id })).toHaveLength(3)
    expect(await keys({ organization: second?.id })).toEqual([saved[3]?.key])
    expect(await keys({ actor: 'self', user: saved[2]?.user?.id })).toEqual([saved[2]?.key])
    expect(await keys({ application: 'another' })).toEqual([])
  })

  test('replaces the old login by a new one, also in existing clients', async () => {
    const old = sandbox.issueToken()
    const { key } = await store().save(old)
    const workspace = await store().workspace(key)
    await workspace.me()
    expect((await store().save(sandbox.issueToken())).key).toBe(key)
    sandbox.revoke(old)
    await workspace.me()
    expect(await store().list().toArray()).toHaveLength(1)
    expect(storage.items.size).toBe(1)
  })

  test('removes every key of a connection and keeps the others', async () => {
    const { key: removed } = await store().save(sandbox.issueToken())
    const other = await store().save(sandbox.issueToken({ actor: 'self' }))
    await store().remove(removed)
    expect(await store().get(removed)).toBeUndefined()
    expect(await store().list().toArray()).toEqual([other])
    await store().remove(other.key)
    expect(storage.items.size).toBe(0)
    // Nothing is left to write.
    const { get, list } = storage
    const readOnly = { get, list, compareAndSet: () => Promise.reject(new Error('It cannot be written.')) }
    await makeStore(sandbox, { storage: readOnly, secret: key }).remove(removed)
  })
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

describe('a connection', () => {
  test('contains what the token is bound to, and when it was saved', async () => {
    const before = Date.now()
    const connection = await makeStore(sandbox).save(sandbox.issueToken({ actor: 'self', scopes: ['users:read'] }))
    const me = sandbox.state.members[0]
    expect(connection).toEqual({
      key: expect.stringMatching(/^self\.[a-z0-9=.-]+$/),
      application: { id: 'application_app_sandbox', name: 'Sandbox app' },
      organization: { id: sandbox.state.organization.id, name: expect.any(String) },
      actor: 'self',
      user: { id: me?.user.id, name: me?.user.name },
      scopes: ['users:read'],
      connectedAt: expect.any(Number),
    })
    expect(connection.connectedAt).toBeGreaterThanOrEqual(before)
    expect(connection.connectedAt).toBeLessThanOrEqual(Date.now())
    expect(structuredClone(connection)).toEqual(connection)
  })

  test('has a user only if its actor is self', () => {
    const userOf = (connection: Connection) => (connection.actor === 'self' ? connection.user.id : connection.user)
    expectTypeOf(userOf).returns.toEqualTypeOf<string | undefined>()
  })
})

test('drops earlier scopes with a new login that has fewer', async () => {
  const store = makeStore(sandbox)
  const { key } = await store.save(sandbox.issueToken({ scopes: ['conversations:read', 'contacts:read'] }))
  const again = await store.save(sandbox.issueToken({ scopes: ['contacts:read'] }))
  expect(again).toMatchObject({ key, scopes: ['contacts:read'] })
  const error = await rejection((await store.workspace(key)).conversations.list())
  expect(error).toMatchObject({ granted: ['contacts:read'], missing: ['conversations:read'] })
})

describe('a missing connection', () => {
  test('is undefined for get, and an error for what needs one', async () => {
    const { key } = await makeStore(sandbox).save(sandbox.issueToken())
    const store = makeStore(sandbox)
    expect(await store.get(key)).toBeUndefined()
    for (const method of ['workspace', 'verify', 'setMetadata'] as const) {
      const error = await storeError(store[method](key, {}))
      expect(error).toMatchObject({ reason: 'not_connected', key, outcome: 'not-sent' })
      expect(error.message).toContain(key)
      expect(error.message).toContain('Log in again')
    }
  })

  test.each([
    undefined,
    null,
    7,
    '',
    'app',
    'app.a',
    'app.a.b.c',
    'self.a.b',
    'self.a.b.c.d',
    'other.a.b',
    'xapp.a.b',
    ['app.a.b'],
    `app.${'a'.repeat(81)}.b`,
    'app..b',
    'app.A.b',
    'app.a.b:current',
    'app.a.../../etc',
    'app.=41.=4A',
    'app.a.b\n',
  ])('rejects the key %j before reading the storage', async (key) => {
    const watch = watched()
    const store = makeStore(sandbox, { storage: watch.storage })
    for (const method of ['get', 'remove', 'workspace', 'verify', 'setMetadata'] as const) {
      const error = await rejection(store[method](key as string, {}))
      expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'key' })
    }
    expect(watch.calls).toEqual([])
  })
})

describe('a storage shared by several stores', () => {
  test('hides and never sends tokens of a store with another base URL', async () => {
    const storage = mapStorage()
    const saved = await makeStore(sandbox, { storage }).save(sandbox.issueToken())
    const { key } = saved
    const elsewhere = await startSandbox()
    const other = makeStore(elsewhere, { storage })
    expect(await other.get(key)).toBeUndefined()
    expect(await other.list().toArray()).toEqual([])
    await storeError(other.workspace(key))
    expect(elsewhere.requests).toEqual([])
    // Another spelling of the same URL.
    expect(await makeStore({ url: `${sandbox.url}/` }, { storage }).get(key)).toEqual(saved)
  })

  test.each([
    ['connections:https.service.example', { baseUrl: 'https://service.example/' }],
    ['connections:https.service.example=3a8443=2fsupport', { baseUrl: 'https://service.example:8443/support' }],
    ['a-b:c_d:http.localhost', { baseUrl: 'http://localhost', prefix: 'a-b:c_d' }],
    [`${'p'.repeat(200)}:http.localhost`, { baseUrl: 'http://localhost', prefix: 'p'.repeat(200) }],
  ])('has keys that start with %s', async (start, options) => {
    const storage = mapStorage()
    const me = { application: { id: 'a' }, organization: { id: 'o' }, actor: 'app' }
    const client = { fetch: async () => Response.json(me) }
    await new ConnectionStore({ storage, client, ...options }).save('token')
    expect([...storage.items.keys()]).toEqual([`${start}:app.a.o`])
  })

  test('separates stores by prefix, even if one prefix starts with the other', async () => {
    const storage = mapStorage()
    const one = makeStore(sandbox, { storage, prefix: 'ours' })
    const two = makeStore(sandbox, { storage, prefix: 'ours:more' })
    const { key } = await one.save(sandbox.issueToken())
    await two.save(sandbox.issueToken({ actor: 'self' }))
    expect(await one.list().toArray()).toHaveLength(1)
    expect(await two.list().toArray()).toHaveLength(1)
    await one.remove(key)
    expect(await two.list().toArray()).toHaveLength(1)
    expect([...storage.items.keys()].every((item) => item.startsWith('ours:more:'))).toBe(true)
  })

  test('ignores and keeps foreign data', async () => {
    const storage = mapStorage()
    const store = makeStore(sandbox, { storage })
    const { key } = await store.save(sandbox.issueToken())
    const [place = ''] = storage.items.keys()
    const strangers = ['other', `X${place.slice(1)}`, place.replace(key, 'not-a-key'), `${place}:more`]
    for (const item of strangers) storage.items.set(item, 'theirs')
    expect(await store.list().toArray()).toHaveLength(1)
    await store.remove(key)
    expect([...storage.items.keys()]).toEqual(strangers)
  })
})

test('the hooks of a client are called after those of the store, with the key as context', async () => {
  const calls: unknown[] = []
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const hooks = (name: string): Hooks => ({ onOperationEnd: ({ context }) => calls.push([name, context]) })
  const logger = { debug: log, info: log, warn: log, error: log }
  const store = makeStore(sandbox, { client: { hooks: hooks('store'), logger, logLevel: 'debug' } })
  const { key } = await store.save(sandbox.issueToken({ actor: 'self' }))
  calls.length = 0
  await (await store.workspace(key)).me()
  await (await store.workspace(key, { hooks: hooks('client') })).me()
  await (await store.workspace(key, { context: { job: 7 } })).me()
  expect(calls).toEqual([
    ['store', key],
    ['store', key],
    ['client', key],
    ['store', { job: 7 }],
  ])
  expect(lines.length).toBeGreaterThan(3)
  expect(lines.join()).not.toContain(key)
})
