import { beforeEach, describe, expect, test } from 'vitest'
import type { ConnectionStoreOptions } from '../../src/oauth/index.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { mapStorage } from './helpers/storages.ts'
import { makeStore, secret, storeError, unreadableIn, useSandbox } from './helpers/store.ts'

const newer = 'the newer secret of this app, 32 characters or more'

const sandbox = await useSandbox()
const startSandbox = useSandboxes()
let storage: ReturnType<typeof mapStorage>
beforeEach(() => {
  storage = mapStorage()
})

const store = (key?: string | string[]) => makeStore(sandbox, { storage, secret: key })
const text = () => JSON.stringify([...storage.items])
/** Returns the JSON of a record that is not encrypted. */
const decoded = (value: string) => Buffer.from(value.slice('plain:'.length), 'base64url').toString()
const place = (key: string) => [...storage.items.keys()].find((one) => one.endsWith(`:${key}`)) ?? ''

describe('a store with a secret', () => {
  test('reveals neither token nor names in the storage', async () => {
    const token = sandbox.issueToken({ actor: 'self' })
    const { user, organization } = await store(secret).save(token)
    expect(text()).not.toContain(token)
    expect(text()).not.toContain(String(user?.name))
    expect(text()).not.toContain(String(organization.name))
  })

  test('reports and keeps an entry encrypted with an unknown secret', async () => {
    const saved = await store(secret).save(sandbox.issueToken())
    const { key } = saved
    const before = text()
    for (const other of [store(newer), store()]) {
      const error = await storeError(other.get(key))
      expect(error).toMatchObject({ reason: 'secret_unknown', key })
      expect(error.message).toContain(key)
      expect(await storeError(other.workspace(key))).toMatchObject({ reason: 'secret_unknown' })
      expect(await other.list().toArray()).toEqual([])
      expect(await unreadableIn(other)).toMatchObject([{ reason: 'secret_unknown', key }])
    }
    expect(text()).toBe(before)
    expect(await store(secret).get(key)).toEqual(saved)
  })

  test('rejects an entry that is not encrypted', async () => {
    const { key } = await store().save(sandbox.issueToken())
    const error = await storeError(store(secret).workspace(key))
    expect(error).toMatchObject({ reason: 'entry_damaged', key })
    expect(error.message).toContain('not encrypted')
    await store(secret).save(sandbox.issueToken())
    await (await store(secret).workspace(key)).me()
  })

  test.each<[string, Partial<ConnectionStoreOptions>, (item: string, port: string) => string]>([
    ['connection', {}, (item) => item.replace('app.', 'self.').concat('.user')],
    ['service', {}, (item, port) => item.replace(/=3a\d+/, `=3a${port}`)],
    ['prefix', { prefix: 'b' }, (item) => item.replace(/^connections:/, 'b:')],
  ])('rejects an entry copied to another %s, and keeps it where it was', async (name, options, move) => {
    const saved = await store(secret).save(sandbox.issueToken())
    const elsewhere = name === 'service' ? await startSandbox() : sandbox
    const [[item, value]] = [...storage.items] as [[string, string]]
    const copy = move(item, new URL(elsewhere.url).port)
    storage.items.set(copy, value)
    sandbox.clearRequests()
    const other = makeStore(elsewhere, { storage, secret, ...options })
    const key = copy.slice(copy.lastIndexOf(':') + 1)
    expect(await storeError(other.workspace(key))).toMatchObject({ reason: 'entry_damaged', key })
    expect(await unreadableIn(other)).toMatchObject([{ reason: 'entry_damaged', key }])
    expect([...sandbox.requests, ...elsewhere.requests]).toEqual([])
    expect(await store(secret).get(saved.key)).toEqual(saved)
  })
})

describe('a damaged entry', () => {
  const damages: [string, (value: string) => string][] = [
    ['truncated', (value) => value.slice(0, -9)],
    ['emptied', () => ''],
    ['replaced by other text', () => 'spoiled'],
    ['replaced by a number', () => '7'],
    ['replaced by an object', () => '{}'],
  ]
  const edited = (change: (json: string) => string) => (value: string) =>
    `plain:${Buffer.from(change(decoded(value))).toString('base64url')}`
  const plainDamages: typeof damages = [
    ['that is not base64', () => 'plain:{}'],
    ['that is a list', edited(() => '[]')],
    ['with a token that is no string', edited((json) => json.replace(/"accessToken":"[^"]+"/, '"accessToken":7'))],
    ['without its organization', edited((json) => json.replace('"organization"', '"organisation"'))],
    ['with another actor', edited((json) => json.replace('"actor":"app"', '"actor":"self"'))],
    ['revoked but with a token', edited((json) => json.replace('"connectedAt"', '"revokedAt":1,"connectedAt"'))],
    ['without a token', edited((json) => json.replace(/,"accessToken":"[^"]+"/, ''))],
    ['of another service', edited((json) => json.replace('"http.', '"https.'))],
  ]
  const sealedDamages: typeof damages = [
    ['with another tag', (value) => value.replace(/(?<=\.)[\w-](?=[\w-]*$)/, (letter) => (letter === 'A' ? 'B' : 'A'))],
  ]
  test.each<[string, ...(typeof damages)[number]]>([
    ...[...damages, ...plainDamages].map((damage) => ['plain', ...damage] as [string, ...typeof damage]),
    ...[...damages, ...sealedDamages].map((damage) => ['sealed', ...damage] as [string, ...typeof damage]),
  ])('(%s) %s is reported with its key, and replaced by a new login', async (form, _title, damage) => {
    const key = form === 'sealed' ? secret : undefined
    const other = await store(key).save(sandbox.issueToken({ actor: 'self' }))
    const { key: damaged } = await store(key).save(sandbox.issueToken())
    const entry = place(damaged)
    const value = storage.items.get(entry) ?? ''
    expect(damage(value)).not.toBe(value)
    storage.items.set(entry, damage(value))

    const error = await storeError(store(key).get(damaged))
    expect(error).toMatchObject({ reason: 'entry_damaged', key: damaged })
    expect(error.message).toContain(damaged)
    const connections = await store(key).list().toArray()
    expect(connections).toEqual([other])
    expect(await unreadableIn(store(key))).toEqual([expect.objectContaining({ reason: 'entry_damaged', key: damaged })])
    expect(await unreadableIn(store(key), { actor: 'self' })).toEqual([])
    await store(key).save(sandbox.issueToken())
    await (await store(key).workspace(damaged)).me()
  })

  test('ignores metadata that is not an object', async () => {
    const { metadata: _, ...saved } = await store().save(sandbox.issueToken(), { metadata: { owner: 7 } })
    const [[item, value]] = [...storage.items] as [[string, string]]
    storage.items.set(item, edited((json) => json.replace('{"owner":7}', '"text"'))(value))
    expect(await store().get(saved.key)).toEqual(saved)
  })
})
