import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openConnections, reseal } from '../../examples/fleet-sync/connections.ts'
import { openDatabase } from '../../examples/fleet-sync/open-database.ts'
import { mirrorOne } from '../../examples/fleet-sync/scheduler.ts'
import { readSettings, SettingsError } from '../../examples/fleet-sync/settings.ts'
import { syncOrganization } from '../../examples/fleet-sync/sync-organization.ts'
import { RateLimitError } from '../../src/index.ts'
import { createSandbox } from '../../src/sandbox/index.ts'

const [first, second] = ['first', 'second'].map((name) => `${name} ${randomBytes(24).toString('base64')}`) as [
  string,
  string,
]

test('a Retry-After of years holds an organization back for an hour, and no later login', async (context) => {
  const sandbox = createSandbox({ conversations: 1 })
  const opened = await openDatabase(':memory:')
  const { database } = opened
  context.onTestFinished(opened.close)
  const settings = { baseUrl: sandbox.url, storeSecrets: [first] } as const
  const store = await openConnections(settings, opened, { fetch: sandbox.fetch, maxRetries: 1, maxRetryAfter: 1_000 })
  const { key } = await store.save(sandbox.issueToken())
  await mirrorOne(database, store, key)
  const sync = async () => syncOrganization({ workspace: await store.workspace(key), database, key })
  sandbox.faults.add({ path: /conversations$/, status: 429, retryAfter: 1e9 })
  await expect(sync()).rejects.toBeInstanceOf(RateLimitError)
  const { due_at } = await database.selectFrom('organizations').select('due_at').executeTakeFirstOrThrow()
  expect(Math.abs(due_at - Date.now() - 3_600_000)).toBeLessThan(60_000)
  await store.save(sandbox.issueToken())
  await mirrorOne(database, store, key)
  // In the same process, whose rate limiter has heard of it.
  expect(await sync()).toBe('done')
})

test('a process that cannot read what others have written does not start, and writes nothing', async (context) => {
  const opened = await openDatabase(':memory:')
  const { database } = opened
  context.onTestFinished(opened.close)
  const baseUrl = 'https://api.example'
  const open = (...storeSecrets: [string, ...string[]]) => openConnections({ baseUrl, storeSecrets }, opened)
  const rows = () => database.selectFrom('settings').selectAll().orderBy('name').orderBy('value').execute()
  const store = await open(first)
  const before = await rows()
  expect(JSON.stringify(before)).not.toContain(first)
  await expect(open(second)).rejects.toThrow(/^STORE_SECRET .* STORE_SECRETS/)
  const other = openConnections({ baseUrl: 'https://other.example', storeSecrets: [first] }, opened)
  await expect(other).rejects.toThrow(/^BASE_URL is not that of/)
  await expect(other).rejects.toBeInstanceOf(SettingsError)
  expect(await rows()).toEqual(before)
  // To rotate, give both to every process, and encrypt everything with the new one.
  const both = await open(second, first)
  await expect(open(first)).rejects.toBeInstanceOf(SettingsError)
  await open(first, second)
  await expect(open(second)).rejects.toBeInstanceOf(SettingsError)
  await reseal(database, both, [second, first])
  await open(second)
  await expect(open(first)).rejects.toBeInstanceOf(SettingsError)
  expect(await store.list().toArray()).toEqual([])
})

test('of two processes that start together with different secrets, none works', async (context) => {
  const opened = await openDatabase(':memory:')
  context.onTestFinished(opened.close)
  const open = (secret: string) => openConnections({ baseUrl: 'https://api.example', storeSecrets: [secret] }, opened)
  const results = await Promise.allSettled([open(first), open(second)])
  expect(results.map(({ status }) => status)).toContain('rejected')
})

test('only its user can read the files of a new SQLite database, with the replica and the tokens', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'))
  const before = process.umask(0)
  context.onTestFinished(() => {
    process.umask(before)
    rmSync(folder, { recursive: true })
  })
  const { database, close } = await openDatabase(join(folder, 'replica.sqlite'))
  await database.insertInto('failures').values({ remedy: 'retry', count: 1 }).execute()
  const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777])
  await close()
  expect(modes.sort()).toEqual(['', '-shm', '-wal'].map((end) => [`replica.sqlite${end}`, 0o600]))
})

test('reads several secrets, of which the first encrypts', () => {
  const urls = { BASE_URL: 'https://api.example', REDIS_URL: 'redis', DATABASE_URL: 'file' }
  expect(readSettings({ ...urls, STORE_SECRET: 'a b' }).storeSecrets).toEqual(['a b'])
  expect(readSettings({ ...urls, STORE_SECRETS: 'b a' }).storeSecrets).toEqual(['b', 'a'])
  expect(() => readSettings(urls)).toThrow('Set STORE_SECRET.')
})
