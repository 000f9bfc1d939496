import { describe, expect, test } from 'vitest'
import { ConnectionStore, type ConnectionStoreOptions, InvalidArgumentError } from '../../src/oauth/index.ts'
import { rejection } from '../helpers/client.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { makeStore, secret, useSandbox } from './helpers/store.ts'

const sandbox = await useSandbox()

test.each<[argument: string, options: object, message?: string]>([
  ['secrets', { secrets: secret }],
  ['onrevoked', { onrevoked: () => {} }],
  ['onRevoked', { onRevoked: 'x' }],
  ['onRevoked', { onRevoked: null }],
  ['keepRevoked', { keepRevoked: 'false' }],
  ['clientId', { clientId: 'app\n' }],
  ['clientId', { clientId: '' }],
  ['clientId', { clientId: null }],
  ['storage', { storage: null }],
  ['storage', { storage: { get: () => null } }, '`storage` lacks `compareAndSet`, `list`.'],
  ['storage', { storage: { getItem: () => null } }, '`storage` lacks `get`, `compareAndSet`, `list`.'],
  ['storage', { storage: { getItem: () => null } }, 'wrap it in `singleProcessStorage`'],
  ['baseUrl', { baseUrl: undefined }],
  ['baseUrl', { baseUrl: 'http://service.example' }],
  ['secret', { secret: 'short' }],
  ...['a:', ':a', 'a::b', 'a'.repeat(201), ['a'], 'a/b'].map((prefix): [string, object] => ['prefix', { prefix }]),
  ['timeout', { client: { timeout: -1 } }],
  ['secret', { secret: null }],
  ['prefix', { prefix: null }],
  ['client', { client: null }],
  ['client', { client: 'x' }],
  ['client', { client: Promise.resolve({ timeout: 10_000 }) }],
  ['client', { client: { baseUrl: 'https://evil.example' } }, 'Pass `baseUrl` to the store.'],
  ['client', { client: { accessToken: 'x' } }],
  ['client', { client: { actor: 'app' } }, 'Leave it out.'],
  ['client', { client: { scopes: undefined } }],
  ['timeOut', { client: { timeOut: 1 } }],
])('a store rejects the option %s: %j', (argument, options, message = '') => {
  const refused = { name: 'InvalidArgumentError', argument, message: expect.stringContaining(message) }
  expect(() => makeStore(sandbox, options)).toThrow(expect.objectContaining(refused))
})

test.each([undefined, null, 'https://service.example', []])('a store rejects the options %j', (options) => {
  expect(() => new ConnectionStore(options as unknown as ConnectionStoreOptions)).toThrow(InvalidArgumentError)
})

describe('list', () => {
  test.each<[argument: string, filter: unknown, options?: unknown]>([
    ['filter', 'org_1'],
    ['filter', null],
    ['filter', ['org_1']],
    ['filter', new Map([['organization', 'org_1']])],
    ['filter', Promise.resolve({ organization: 'org_1' })],
    ['organisation', { organisation: 'org_1' }],
    ['organization', { organization: null }],
    ['organization', { organization: '' }],
    ['organization', { organization: ['org_1'] }],
    ['application', { application: 1 }],
    ['user', { actor: 'self', user: null }],
    ['actor', { actor: 'bot' }],
    ['actor', { actor: null }],
    ['options', {}, null],
    ['onunreadable', {}, { onunreadable: () => {} }],
    ['onUnreadable', {}, { onUnreadable: true }],
  ])('rejects %s in the filter %j and the options %j', (argument, filter, options) => {
    const refused = expect.objectContaining({ name: 'InvalidArgumentError', argument })
    expect(() => makeStore(sandbox).list(filter as never, options as never)).toThrow(refused)
  })

  test('uses the filter as it was when list was called', async () => {
    const store = makeStore(sandbox)
    const [first, second] = sandbox.state.organizations
    const { key } = await store.save(sandbox.issueToken({ organization: first?.id ?? '' }))
    await store.save(sandbox.issueToken({ organization: second?.id ?? '' }))
    const filter: { organization?: string } = { organization: first?.id ?? '' }
    const listing = store.list(filter)
    delete filter.organization
    expect((await listing.toArray()).map((connection) => connection.key)).toEqual([key])
  })
})

test('save, setMetadata and reseal reject invalid options before using the storage', async () => {
  const storage = watched(mapStorage())
  const store = makeStore(sandbox, { storage: storage.storage })
  const { key } = await store.save(sandbox.issueToken())
  storage.reset()
  const token = sandbox.issueToken()
  type Call = [argument: string, () => Promise<unknown>]
  const calls: Call[] = [
    ['options', () => store.save(token, null as never)],
    ['options', () => store.save(token, 'x' as never)],
    ['metdata', () => store.save(token, { metdata: {} } as never)],
    ['metadata', () => store.save(token, { metadata: null } as never)],
    ['accessToken', () => store.save(null as never)],
    ...[undefined, '', 'two words', {}].map((bad): Call => ['accessToken', () => store.save(bad as never)]),
    ['metadata', () => store.setMetadata(key, null as never)],
    ['key', () => store.verify(null as never)],
    ['options', () => store.reseal(null as never)],
    ['options', () => store.reseal(new AbortController().signal as never)],
    ['progress', () => store.reseal({ progress: () => {} } as never)],
    ['onProgress', () => store.reseal({ onProgress: true } as never)],
    ['signal', () => store.reseal({ signal: new AbortController() } as never)],
  ]
  for (const [argument, call] of calls) {
    expect(await rejection(call())).toMatchObject({ name: 'InvalidArgumentError', argument })
  }
  expect(storage.calls).toEqual([])
})

test.each([
  ['app', 'The connection does not have `actor=app`.'],
  ['bot', '`actor` is not supported. Pass one of: "app", "self".'],
  [null, '`actor` is not supported. Pass one of: "app", "self".'],
])('workspace says what is wrong with the actor %s of a connection with self', async (actor, problem) => {
  const store = makeStore(sandbox)
  const { key } = await store.save(sandbox.issueToken({ actor: 'self' }))
  const error = await rejection(store.workspace(key, { actor: actor as 'app' }))
  expect(String(error)).toContain(problem)
  const other = await store.save(sandbox.issueToken({ actor: 'app' }))
  expect(String(await rejection(store.workspace(other.key, { actor: 'self' })))).toContain(
    'The connection does not have `actor=self`.',
  )
})

test('workspace takes the options of one client', async () => {
  const store = makeStore(sandbox, { client: { headers: { 'x-tenant': 'a' }, maxRetries: 0 } })
  const { key } = await store.save(sandbox.issueToken())
  await (await store.workspace(key, { headers: { 'x-tenant': 'b' } })).contacts.list()
  await (await store.workspace(key)).contacts.list()
  expect(sandbox.requests.slice(-2).map(({ headers }) => headers['x-tenant'])).toEqual(['b', 'a'])
  for (const [options, argument] of [
    [{ timeOut: 5 }, 'timeOut'],
    [{ timeout: -5 }, 'timeout'],
    [{ baseUrl: 'https://other.test' }, 'baseUrl'],
  ] as const) {
    expect(await rejection(store.workspace(key, options as never))).toMatchObject({ argument })
  }
})

test.each<[string, () => unknown]>([
  ['a Map', () => ({ tags: new Map([['a', 1]]) })],
  ['a Map', () => new Map([['a', 1]])],
  ['NaN', () => ({ count: Number.NaN })],
  ['a function', () => ({ call: () => {} })],
  ['another kind than an object', () => 'text'],
  ['a `toJSON` that returns text', () => ({ toJSON: () => 'text' })],
])('save and setMetadata reject metadata with %s instead of changing it', async (_title, metadata) => {
  const store = makeStore(sandbox)
  const { key } = await store.save(sandbox.issueToken(), { metadata: { at: new Date(0) } })
  for (const call of [
    () => store.setMetadata(key, metadata() as never),
    () => store.save(sandbox.issueToken(), { metadata: metadata() as never }),
  ]) {
    const error = (await rejection(call())) as InvalidArgumentError
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.argument).toMatch(/^metadata/)
  }
  expect((await store.get(key))?.metadata).toEqual({ at: '1970-01-01T00:00:00.000Z' })
})
