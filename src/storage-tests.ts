/**
 * Tests for your own storage of connections, for any test runner.
 *
 * @module support-workspace-sdk/storage-tests
 */

import { ConnectionStore } from './connections/connection-store.ts'
import type { ConnectionStorage } from './connections/storage.ts'

export type { ConnectionStorage, StorageKeys } from './connections/storage.ts'

/** The options of `storageTests`. */
export interface StorageTestsOptions {
  /**
   * Opens the storage. Called several times in a test, as several processes would open it: each call must return a storage
   * with the same data, which is empty at first.
   */
  readonly open: () => ConnectionStorage | Promise<ConnectionStorage>
  /**
   * Removes all data after each test.
   * @default removes the keys that the test wrote
   */
  readonly clear?: (() => void | Promise<void>) | undefined
}

/** One test of a storage, for any test runner. */
export interface StorageTest {
  /** What the storage must do, for example `returns the text that was set`. */
  readonly name: string
  /** Rejects with an `Error` that describes the problem. Run the tests one after the other. */
  readonly run: () => Promise<void>
}

/**
 * Returns the tests that a storage for connections must pass. They run in any test runner.
 *
 * @example
 * for (const { name, run } of storageTests({ open: () => storage })) test(name, run)
 */
export function storageTests(options: StorageTestsOptions): StorageTest[] {
  return Object.entries(cases).map(([name, test]) => ({
    name,
    run: async () => {
      const storage = await options.open()
      try {
        await test(storage, options.open)
      } finally {
        if (options.clear === undefined) await removeTestKeys(storage)
        else await options.clear()
      }
    },
  }))
}

type Case = (storage: ConnectionStorage, reopen: StorageTestsOptions['open']) => Promise<void>

const base = 'storage-tests:https.service.example'

const cases: Readonly<Record<string, Case>> = {
  'returns nothing for a key that was never set': async (storage) => {
    await isMissing(storage, `${base}:app.a.o:current`)
    same(await keysOf(storage, `${base}:`), [], 'the keys of an empty storage')
  },

  'returns the text that was set': async (storage) => {
    const texts = [
      'plain',
      '',
      '{"a":1}',
      '{"text":"\\u0000 \\n \u{1f600} \u00fc"}',
      JSON.stringify({ long: 'x'.repeat(50_000) }),
    ]
    for (const [index, text] of texts.entries()) {
      const key = `${base}:app.a.o:${index}`
      await storage.setItem(key, text)
      // The store writes only JSON objects, and a storage may return them parsed.
      if (text.startsWith('{')) sameJson(await storage.getItem(key), text)
    }
  },

  'replaces the text of a key': async (storage) => {
    const key = `${base}:app.a.o:current`
    await storage.setItem(key, '{"current":1,"long":"text"}')
    await storage.setItem(key, '{"current":2}')
    sameJson(await storage.getItem(key), '{"current":2}')
    same(await keysOf(storage, `${base}:`), [key], 'the keys')
  },

  'removes a key, and ignores a missing one': async (storage) => {
    const [key, other] = [`${base}:app.a.o:current`, `${base}:app.a.other:current`]
    await storage.setItem(key, '{"value":1}')
    await storage.setItem(other, '{"value":2}')
    await storage.removeItem(key)
    await storage.removeItem(key)
    await isMissing(storage, key)
    sameJson(await storage.getItem(other), '{"value":2}')
    same(await keysOf(storage, `${base}:`), [other], 'the keys')
  },

  'lists the full keys that start with a base': async (storage) => {
    const keys = ['app.a.o:current', 'app.a.o:0f', 'app.a.oo:current'].map((name) => `${base}:${name}`)
    for (const key of keys) await storage.setItem(key, '{"value":1}')
    same(await keysOf(storage, `${base}:`), [...keys].sort(), 'the keys of the service')
    same(await keysOf(storage, `${base}:app.a.o:`), keys.slice(0, 2).sort(), 'the keys of a connection')
    same(await keysOf(storage, `${base}:app.a.none:`), [], 'the keys of a missing connection')
  },

  'distinguishes similar keys': async (storage) => {
    const names = ['app.a.b', 'app.a-b', 'app.a=2eb', 'app.ab', 'self.a.b', 'app.a.=41', 'app.a.a', 'app.=2a.=3f']
    const keys = names.map((name) => `${base}:${name}:current`)
    for (const [index, key] of keys.entries()) await storage.setItem(key, JSON.stringify({ index }))
    for (const [index, key] of keys.entries()) sameJson(await storage.getItem(key), JSON.stringify({ index }))
    same(await keysOf(storage, `${base}:`), [...keys].sort(), 'the keys')
  },

  'supports keys with parts of 247 characters': async (storage) => {
    const key = `${base}:self.${'a'.repeat(80)}.${'b'.repeat(80)}.${'c'.repeat(80)}:current`
    await storage.setItem(key, '{"value":1}')
    sameJson(await storage.getItem(key), '{"value":1}')
    same(await keysOf(storage, `${base}:`), [key], 'the keys')
  },

  'handles 200 concurrent writes, reads and removals': async (storage) => {
    const keys = Array.from({ length: 200 }, (_, index) => `${base}:app.a.o${index}:current`)
    await Promise.all(keys.map(async (key, index) => storage.setItem(key, JSON.stringify({ index }))))
    const values = await Promise.all(keys.map(async (key) => storage.getItem(key)))
    for (const [index, value] of values.entries()) sameJson(value, JSON.stringify({ index }))
    same((await keysOf(storage, `${base}:`)).length, 200, 'the number of keys')
    await Promise.all(keys.map(async (key) => storage.removeItem(key)))
    same(await keysOf(storage, `${base}:`), [], 'the keys afterwards')
  },

  'shows the last write to another process immediately': async (storage, reopen) => {
    const [key, other] = [`${base}:app.a.o:current`, await reopen()]
    for (let round = 0; round < 20; round += 1) {
      const [writer, reader] = round % 2 === 0 ? [storage, other] : [other, storage]
      await writer.setItem(key, JSON.stringify({ round }))
      sameJson(await reader.getItem(key), JSON.stringify({ round }))
      same(await keysOf(reader, `${base}:`), [key], 'the keys')
    }
    await storage.removeItem(key)
    await isMissing(other, key)
    same(await keysOf(other, `${base}:`), [], 'the keys after the removal')
  },

  'works with a connection store: save, get, list, replace and remove': async (storage, reopen) => {
    const store = testStore(storage)
    const { key } = await store.save('token-of-organization-1')
    const second = await store.save('token-of-organization-2')
    const elsewhere = testStore(await reopen())
    same((await elsewhere.get(key))?.key, key, 'the connection')
    same((await elsewhere.list()).connections.length, 2, 'the number of connections')
    await elsewhere.save('another-of-organization-1')
    same((await keysOf(storage, 'storage-tests:')).length, 4, 'the number of keys of two connections')
    await store.remove(key)
    same(await elsewhere.get(key), undefined, 'a removed connection')
    same(
      (await elsewhere.list()).connections.map((one) => one.key),
      [second.key],
      'the remaining connections',
    )
    await store.remove(second.key)
    same(await keysOf(storage, 'storage-tests:'), [], 'the keys after removing all connections')
  },

  'removes every key of a revoked connection': async (storage) => {
    const store = testStore(storage)
    const { key } = await store.save('revoked-of-organization-1')
    const workspace = await store.workspace(key)
    await workspace.conversations.list().then(
      () => fail('a call with a revoked token must fail'),
      () => {},
    )
    same(await store.get(key), undefined, 'a revoked connection')
    same(await keysOf(storage, 'storage-tests:'), [], 'the keys after a revocation')
  },
}

/** A store for a fake service without a network. A token ends with its organization, and may start with `revoked`. */
function testStore(storage: ConnectionStorage): ConnectionStore {
  const seen = new Set<string>()
  return new ConnectionStore({
    baseUrl: 'https://service.example',
    storage,
    prefix: 'storage-tests',
    secret: 'the secret of the storage tests, never used elsewhere',
    client: {
      maxRetries: 0,
      fetch: async (...args: readonly unknown[]) => {
        const token = tokenOf(args)
        const revoked = token.startsWith('revoked') && seen.has(token)
        seen.add(token)
        if (revoked) return Response.json({ error: 'invalid_token' }, { status: 401 })
        const organization = { id: token.slice(token.lastIndexOf('-') + 1) }
        return Response.json({ application: { id: 'app' }, organization, actor: 'app', scopes: [] })
      },
    },
  })
}

function tokenOf([input, init]: readonly unknown[]): string {
  const request = input instanceof Request ? input : new Request(String(input), init as RequestInit)
  return (request.headers.get('authorization') ?? '').replace('Bearer ', '')
}

async function keysOf(storage: ConnectionStorage, start: string): Promise<string[]> {
  const keys = new Set<string>()
  for await (const key of await storage.getKeys(start)) if (key.startsWith(start)) keys.add(key)
  return [...keys].sort()
}

async function removeTestKeys(storage: ConnectionStorage): Promise<void> {
  for (const key of await keysOf(storage, 'storage-tests:')) await storage.removeItem(key)
}

async function isMissing(storage: ConnectionStorage, key: string): Promise<void> {
  const value = await storage.getItem(key)
  if (value !== null && value !== undefined) fail(`getItem returned ${show(value)} for a key that is not set`)
}

function sameJson(value: unknown, text: string): void {
  if (value !== null && typeof value !== 'string' && typeof value !== 'object') fail(`getItem returned ${show(value)}`)
  same(
    JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value),
    JSON.stringify(JSON.parse(text)),
    'a value',
  )
}

function same(actual: unknown, expected: unknown, what: string): void {
  if (show(actual) !== show(expected)) fail(`expected ${what} to be ${show(expected)}, but got ${show(actual)}`)
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

function fail(message: string): never {
  throw new Error(`The storage is not suitable for connections: ${message}.`)
}
