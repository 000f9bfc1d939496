import { describe, expect, test } from 'vitest'
import { AuthenticationError, ServerError, UnexpectedResponseError } from '../../src/index.ts'
import {
  type Connection,
  ConnectionNotSavedError,
  ConnectionStore,
  ConnectionStoreError,
  type ConnectionStoreOptions,
} from '../../src/oauth/index.ts'
import { AccessToken } from '../../src/shared/access-token.ts'
import { rejection } from '../helpers/client.ts'
import { printedForms } from '../helpers/printed-forms.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { makeStore, useSandbox } from './helpers/store.ts'

const sandbox = await useSandbox()

async function notSaved(promise: PromiseLike<unknown>): Promise<ConnectionNotSavedError> {
  const error = await rejection(promise)
  expect(error).toBeInstanceOf(ConnectionNotSavedError)
  expect(error).toBeInstanceOf(ConnectionStoreError)
  return error as ConnectionNotSavedError
}

const meRequests = () => sandbox.requests.filter(({ path }) => path === '/api/oauth/v1/me').length

describe('a storage that fails during a save', () => {
  test('keeps the old connection, and retry saves the token without calling /me again', async () => {
    const watch = watched()
    const store = makeStore(sandbox, { storage: watch.storage })
    const old = await store.save(sandbox.issueToken())
    const token = sandbox.issueToken()
    watch.before = ({ method }) => {
      if (method === 'compareAndSet') throw new Error('The disk is full.')
    }
    sandbox.clearRequests()
    const error = await notSaved(store.save(token))
    expect(error).toMatchObject({ reason: 'storage_failed', key: old.key, name: 'ConnectionNotSavedError' })
    expect(error.message).toContain('The disk is full.')
    expect(error.message).toContain('call `retry()`')
    expect(await store.get(old.key)).toEqual(old)

    const again = await notSaved(error.retry())
    expect(again).not.toBe(error)
    watch.before = () => undefined
    const saved = await again.retry()
    expect(saved.key).toBe(old.key)
    expect(await store.get(old.key)).toEqual(saved)
    expect(meRequests()).toBe(1)
    expect(watch.items.size).toBe(1)
    const workspace = await store.workspace(saved.key)
    await workspace.me()
    expect(sandbox.requests.at(-1)?.headers.authorization).toBe(`Bearer ${token}`)
  })

  test('lets retry replace the login that the first attempt found, even one that began later', async () => {
    const storage = mapStorage()
    const watch = watched(storage)
    let later: Connection | undefined
    watch.before = async ({ method }) => {
      if (method === 'compareAndSet') throw new Error('The disk is full.')
      later ??= await makeStore(sandbox, { storage }).save(sandbox.issueToken())
    }
    const store = makeStore(sandbox, { storage: watch.storage })
    const error = await notSaved(store.save(sandbox.issueToken()))
    watch.before = () => undefined
    const saved = await error.retry()
    expect(saved.connectedAt).toBe((later?.connectedAt ?? 0) + 1)
    expect(await store.get(saved.key)).toEqual(saved)
  })

  test('is reported after 100 attempts if it refuses every write', async () => {
    const watch = watched()
    const storage = { ...watch.storage, compareAndSet: () => false }
    const error = await notSaved(makeStore(sandbox, { storage }).save(sandbox.issueToken()))
    expect(error).toMatchObject({ reason: 'storage_failed', remedy: 'fix' })
    expect(error.message).toContain('refused 100 changes in a row')
    expect(watch.count('get')).toBe(100)
  })
})

test('a /me that fails during a save is reported, and retry calls it again', async () => {
  const token = sandbox.issueToken()
  const store = makeStore(sandbox, { client: { maxRetries: 0 } })
  sandbox.failNext({ status: 503 })
  const error = await notSaved(store.save(token))
  expect(error).toMatchObject({ reason: 'me_failed', key: undefined })
  expect(error.cause).toBeInstanceOf(ServerError)
  const saved = await error.retry()
  expect(await store.get(saved.key)).toEqual(saved)
  expect(meRequests()).toBe(2)
  sandbox.revoke(token)
  const again = await notSaved(store.save(token))
  expect(again.cause).toBeInstanceOf(AuthenticationError)
  for (const each of [error, again]) expect(printedForms(each).join('\n')).not.toContain(token)
})

describe('a /me response without an identity', () => {
  const whole = {
    application: { id: 'a' },
    organization: { id: 'o' },
    actor: 'self',
    scopes: ['users:read'],
    user: { id: 'u' },
  }
  const storeWith = (me: unknown, options: Partial<ConnectionStoreOptions> = {}) =>
    new ConnectionStore({
      baseUrl: 'https://service.example',
      client: { fetch: async () => Response.json(me), validation: 'off' },
      ...options,
    })

  test.each<[string, object]>([
    ['no application', { application: null }],
    ['an application without id', { application: { name: 'App' } }],
    ['an application that is text', { application: 'a' }],
    ['no organization', { organization: undefined }],
    ['an empty organization id', { organization: { id: '' } }],
    ['an id that is a number', { organization: { id: 7 } }],
    ['an id with a lone surrogate', { organization: { id: 'o\ud800' } }],
    ['no actor', { actor: null }],
    ['an unknown actor', { actor: 'robot' }],
    ['no user', { user: null }],
    ['an app without an organization', { actor: 'app', organization: null }],
    ['nothing at all', { application: null, organization: null, actor: null, user: null }],
  ])('is reported if it has %s', async (_title, change) => {
    const error = await notSaved(storeWith({ ...whole, ...change }).save('token'))
    expect(error.reason).toBe('identity_incomplete')
    expect(error.message).toContain("does not name the token's application, organization, actor or user.")
  })

  test.each<[string, (token: string) => object]>([
    ['an id', (token) => ({ organization: { id: token } })],
    ['a name', (token) => ({ user: { id: 'u', name: `The user of ${token}` } })],
    ['a scope', (token) => ({ scopes: [token] })],
  ])('is refused if it repeats the token as %s, which a connection would show', async (_, change) => {
    const token = 'abcdefabcdef0123456789'
    const me = { ...whole }
    const store = storeWith(me)
    const { key } = await store.save(token)
    Object.assign(me, change(token))
    for (const error of [await notSaved(store.save(token)), await store.verify(key).catch((thrown) => thrown)]) {
      expect(error.reason).toBe('identity_incomplete')
      expect(printedForms(error).join('\n')).not.toContain(token)
    }
    expect(await store.list().toArray()).toMatchObject([{ key, scopes: whole.scopes }])
  })

  test('can have a name that looks like credentials', async () => {
    const organization = { id: 'o', display_name: 'Basic PlumbingServices24 swot_1' }
    const { name } = (await storeWith({ ...whole, organization }).save('abcdefabcdef0123456789')).organization
    expect(name).toBe(organization.display_name)
  })

  test('is refused without the application of the store', async () => {
    const { application: _, ...unnamed } = { ...whole, actor: 'app' }
    expect((await notSaved(storeWith(unnamed, { clientId: 'app' }).save('token'))).reason).toBe('identity_mismatch')
  })

  test('is reported if it is not an object', async () => {
    expect((await notSaved(storeWith([]).save('token'))).cause).toBeInstanceOf(UnexpectedResponseError)
  })

  test('needs no user for an app, and no names or scopes', async () => {
    const { scopes: _, ...bare } = whole
    const app = await storeWith({ ...bare, actor: 'app' }).save('token')
    expect(app).toEqual({ ...app, key: 'app.a.o', actor: 'app', application: { id: 'a' }, organization: { id: 'o' } })
    expect(app).not.toHaveProperty('user')
    expect(app).not.toHaveProperty('scopes')
    expect((await storeWith(bare).save('token')).key).toBe('self.a.o.u')
  })

  test('has the display name of the organization, or else its name, and no empty names', async () => {
    const save = (change: object) => storeWith({ ...whole, ...change }).save('token')
    const organization = { id: 'o', name: 'acme', display_name: 'Acme' }
    expect((await save({ organization })).organization).toEqual({ id: 'o', name: 'Acme' })
    expect((await save({ organization: { id: 'o', name: 'acme' } })).organization).toEqual({ id: 'o', name: 'acme' })
    for (const name of ['', null, 7]) {
      expect((await save({ application: { id: 'a', name } })).application).toEqual({ id: 'a' })
    }
    expect(await save({ scopes: 7 })).not.toHaveProperty('scopes')
    for (const scopes of ['users:read,contacts:read', 'users:read contacts:read', ['users:read,contacts:read']])
      expect((await save({ scopes })).scopes).toEqual(['users:read', 'contacts:read'])
    expect((await save({ scopes: ['users:read', 7, { toString: 1 }] })).scopes).toEqual(['users:read'])
  })

  test.each<[string, readonly string[] | null, readonly string[] | undefined]>([
    ['users:read users:write', ['users:read'], ['users:read']],
    ['users:read users:write', null, ['users:read', 'users:write']],
    ['', null, undefined],
  ])('a login with the scopes %j and a /me with %j are saved with %j', async (scope, scopes, expected) => {
    const origin = { baseUrl: 'https://service.example', clientId: 'app_abc123' }
    const token = new AccessToken({ accessToken: 'token', tokenType: 'Bearer', scope, ...origin })
    expect((await storeWith({ ...whole, scopes }).save(token)).scopes).toEqual(expected)
  })
})
