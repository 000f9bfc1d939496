import { mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import type pg from 'pg'
import { createClient } from 'redis'
import {
  type KeyValueStorage,
  memoryStorage,
  postgresStorage,
  postgresTable,
  redisStorage,
  singleProcessStorage,
  sqliteStorage,
} from 'support-workspace-sdk/storage'
import { createStorage } from 'unstorage'
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { mapStorage } from '../connections/helpers/storages.ts'
import { rejection } from '../helpers/client.ts'
import { storageContract } from './contract.ts'

/** A storage that tests share, so they must not close it. */
const withoutClose = ({ get, compareAndSet, list }: KeyValueStorage): KeyValueStorage => ({
  get,
  compareAndSet,
  list,
})

const readError = ({ get }: KeyValueStorage) => rejection(Promise.resolve(get('key')))

/** Does what a Redis server does with the commands of `redisStorage`. Those of `servers.slow.test.ts` run its script. */
function fakeRedis() {
  const storage = mapStorage()
  return {
    async call(command: string, ...args: string[]): Promise<unknown> {
      const [, , key = '', expected, value] = args
      if (command === 'GET') return storage.get(args[0] ?? '') ?? null
      if (command === 'EVAL') return Number(storage.compareAndSet(key, expected || null, value || null))
      if (command === 'MGET') return args.map((key) => storage.get(key))
      const prefix = args[2]?.replaceAll('\\', '').slice(0, -1) ?? ''
      return ['0', [...storage.items.keys()].filter((key) => key.startsWith(prefix))]
    },
  }
}

describe.each([
  ['memory', memoryStorage()],
  ['SQLite in memory', withoutClose(sqliteStorage(new DatabaseSync(':memory:')))],
  ['unstorage', singleProcessStorage(createStorage())],
  ['Redis', redisStorage(fakeRedis())],
])('on %s', (_, storage) => {
  // Those that start other processes need a storage that several processes can open.
  for (const { name, skip, run } of storageContract({ open: () => storage })) if (!skip) test(name, run)
})

test('clients of pg are accepted without a cast', () => {
  expectTypeOf<pg.Pool>().toExtend<Parameters<typeof postgresStorage>[0]>()
  expectTypeOf<pg.Client>().toExtend<Parameters<typeof postgresStorage>[0]>()
  expectTypeOf<DatabaseSync>().toExtend<Parameters<typeof sqliteStorage>[0]>()
})

const withOptions = (options: unknown) => postgresStorage({ query: async () => ({ rows: [] }) }, options as object)
const lacksSendCommand = '`client` lacks `sendCommand`. Pass a client of `ioredis` or `redis`, not what creates it.'

test.each<[name: string, create: () => unknown, message: string]>([
  [
    'sqliteStorage',
    () => sqliteStorage(undefined as never),
    '`database` lacks `exec`, `prepare`, `close`. Pass the path',
  ],
  ['sqliteStorage', () => sqliteStorage(''), '`database` must be a non-empty string'],
  ['sqliteStorage', () => sqliteStorage(' '), '`database` contains a control character'],
  ['postgresStorage', () => postgresStorage({} as never), '`client` lacks `query`. Pass a pool or a client of `pg`.'],
  ['postgresStorage', () => withOptions({ tabel: 'x' }), '`tabel` is not an option of `postgresStorage`. Use one of'],
  ['postgresStorage', () => withOptions(null), '`options` must be an object, not null.'],
  ['postgresStorage', () => withOptions('x'), '`options` must be an object, not a string.'],
  ['redisStorage', () => redisStorage(undefined as never), lacksSendCommand],
  ['redisStorage', () => redisStorage(createClient as never), lacksSendCommand],
  ['redisStorage', () => redisStorage(Redis as never), lacksSendCommand],
  ['singleProcessStorage', () => singleProcessStorage(new Map() as never), '`storage` lacks `getItem`, `setItem`'],
])('%s says what it was given', (_, create, message) => {
  expect(create).toThrow(message)
})

describe('sqliteStorage', () => {
  const newPath = () => join(mkdtempSync(join(tmpdir(), 'sqlite-')), 'connections.db')

  test('uses an open database, and leaves it open', async () => {
    const database = new DatabaseSync(':memory:')
    const storage = sqliteStorage(database)
    await storage.compareAndSet('key', null, 'text')
    storage.close()
    expect(database.prepare('SELECT * FROM support_workspace_sdk').all()).toEqual([{ key: 'key', value: 'text' }])
    expect(await readError(storage)).toMatchObject({
      name: 'InvalidArgumentError',
      message: 'The storage is closed. Close it after its last use.',
    })
  })

  test('opens its file when it is first used, and can be closed before and twice', async () => {
    const storage = sqliteStorage('/nowhere/connections.db')
    const message = 'cannot use /nowhere/connections.db: unable to open database file. Pass a file'
    expect(String(await readError(storage))).toContain(message)
    storage.close()
    storage.close()
  })

  test.each(['a new file', 'a link to a new file'])('creates %s that only its user can read', async (what) => {
    const path = newPath()
    if (what.startsWith('a link')) symlinkSync(path, `${path}.link`)
    const before = process.umask(0)
    onTestFinished(() => void process.umask(before))
    const storage = sqliteStorage(what.startsWith('a link') ? `${path}.link` : path)
    await storage.compareAndSet('key', null, 'a token')
    const names = readdirSync(dirname(path))
      .filter((name) => !name.endsWith('.link'))
      .sort()
    expect(names).toEqual(['connections.db', 'connections.db-shm', 'connections.db-wal'])
    expect(names.map((name) => statSync(join(dirname(path), name)).mode & 0o777)).toEqual([0o600, 0o600, 0o600])
    storage.close()
  })

  test('leaves the modes of a file that is there alone', async () => {
    const path = newPath()
    writeFileSync(path, '', { mode: 0o640 })
    const storage = sqliteStorage(path)
    await storage.compareAndSet('key', null, 'text')
    expect(statSync(path).mode & 0o777).toBe(0o640)
    storage.close()
  })

  test('closes a file that it cannot use, and leaves an open database open', async () => {
    const path = newPath()
    writeFileSync(path, 'some text, which is no database')
    const open = new DatabaseSync(path)
    const close = vi.spyOn(DatabaseSync.prototype, 'close')
    onTestFinished(() => void vi.restoreAllMocks())
    for (const database of [path, open]) {
      const error = await readError(sqliteStorage(database))
      expect(error).toMatchObject({ name: 'InvalidArgumentError' })
      expect(String(error)).toContain('file is not a database. Restore a backup')
      expect(close).toHaveBeenCalledOnce()
    }
  })

  test('asks for a backup of a file that is damaged, whose writes a new file would send again', async () => {
    const path = newPath()
    const storage = sqliteStorage(path)
    await storage.compareAndSet('key', null, 'text')
    storage.close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 4096))
    expect(await readError(sqliteStorage(path))).toMatchObject({
      remedy: 'fix',
      message: `\`sqliteStorage\` cannot use ${path}: database disk image is malformed. Restore a backup, or pass the right file. With a new file, a journal sends every write again, and a store has no connection.`,
    })
  })

  test('refuses a database that its caller has closed', async () => {
    const database = new DatabaseSync(':memory:')
    const storage = sqliteStorage(database)
    database.close()
    const message = '`sqliteStorage` cannot use the `DatabaseSync`: database is not open. Pass a database that is open.'
    expect(await readError(storage)).toMatchObject({ name: 'InvalidArgumentError', message })
  })

  test('reads while another process writes, and waits for its lock without blocking the event loop', async () => {
    const path = newPath()
    const open = new DatabaseSync(path, { timeout: 11_000 })
    open.exec('PRAGMA journal_mode = WAL')
    const storage = sqliteStorage(open)
    await storage.compareAndSet('key', null, 'text')
    const other = new DatabaseSync(path)
    other.exec('BEGIN EXCLUSIVE')
    expect(await storage.get('key')).toBe('text')
    const writing = storage.compareAndSet('key', 'text', 'next')
    // A timer fires while it waits, and ends the wait.
    setTimeout(() => other.exec('COMMIT'), 20)
    expect(await writing).toBe(true)
    other.close()
    storage.close()
  })

  test('leaves the settings of an open database as they were', async () => {
    const database = new DatabaseSync(newPath(), { timeout: 1_234 })
    const settings = () =>
      ['busy_timeout', 'journal_mode', 'synchronous', 'foreign_keys'].map((name) =>
        database.prepare(`PRAGMA ${name}`).all(),
      )
    const before = settings()
    const storage = sqliteStorage(database)
    await storage.compareAndSet('key', null, 'text')
    expect(await storage.get('key')).toBe('text')
    expect(settings()).toEqual(before)
    database.exec('DROP TABLE support_workspace_sdk')
    expect(await readError(storage)).toMatchObject({ message: 'no such table: support_workspace_sdk' })
    expect(settings()).toEqual(before)
    database.close()
  })

  test.each(['BEGIN', 'BEGIN IMMEDIATE', 'SAVEPOINT one'])('refuses a database in a transaction: %s', async (begin) => {
    const database = new DatabaseSync(':memory:')
    const storage = sqliteStorage(database)
    await storage.compareAndSet('key', null, 'text')
    database.exec(begin)
    const message = 'The database is in a transaction, whose rollback would undo what the storage writes.'
    const writing = rejection(Promise.resolve(storage.compareAndSet('key', 'text', 'lost')))
    for (const error of [await writing, await readError(storage)]) {
      expect(error).toMatchObject({ name: 'InvalidArgumentError', message: expect.stringContaining(message) })
    }
    database.exec(begin.startsWith('BEGIN') ? 'ROLLBACK' : 'ROLLBACK TO one; RELEASE one')
    expect(await storage.compareAndSet('key', 'text', 'next')).toBe(true)
    expect(await storage.get('key')).toBe('next')
    database.close()
  })

  test('gives up after 10 seconds', async () => {
    const path = newPath()
    const storage = sqliteStorage(path)
    await storage.get('key')
    const other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const writing = rejection(Promise.resolve(storage.compareAndSet('key', null, 'text')))
    await vi.advanceTimersByTimeAsync(10_100)
    expect(await writing).toMatchObject({ message: 'database is locked' })
    other.close()
    storage.close()
  })

  test('keeps a text that it cannot replace because the disk is full', async () => {
    const database = new DatabaseSync(':memory:')
    const storage = sqliteStorage(database)
    await storage.compareAndSet('key', null, 'text')
    database.exec('PRAGMA max_page_count = 4')
    const writing = Promise.resolve(storage.compareAndSet('key', 'text', 'x'.repeat(100_000)))
    expect(await rejection(writing)).toMatchObject({ message: 'database or disk is full' })
    expect(await storage.get('key')).toBe('text')
  })

  test('can be opened by many handles at the same time', async () => {
    const path = newPath()
    const storages = Array.from({ length: 20 }, () => sqliteStorage(path))
    await Promise.all(storages.map((storage, index) => storage.compareAndSet(`key-${index}`, null, 'text')))
    const pages = await Array.fromAsync(storages[0]?.list('key-') ?? [])
    expect(pages.flat()).toHaveLength(20)
    for (const storage of storages) storage.close()
    expect(readdirSync(dirname(path))).toEqual(['connections.db'])
  })

  test.each([
    ['no process', undefined],
    ['no built-in modules', {}],
    ['other built-in modules', { getBuiltinModule: () => undefined }],
  ])('says in a runtime with %s that it has no node:sqlite', async (_, process) => {
    const storage = sqliteStorage(newPath())
    vi.stubGlobal('process', process)
    const reading = readError(storage)
    vi.unstubAllGlobals()
    const error = await reading
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'database' })
    expect(String(error)).toContain('Use Node 22.13 or later')
  })
})

describe('postgresStorage', () => {
  const failing = (code: string, codeOfCreate?: string) => ({
    query: async (sql: string) => {
      const thrown = sql.startsWith('CREATE') ? codeOfCreate : code
      if (thrown !== undefined) throw Object.assign(new Error(`failed with ${thrown}`), { code: thrown })
      return { rows: [] }
    },
  })

  test('creates its table only if it is missing, even if another process creates it at the same time', async () => {
    for (const code of ['23505', '42P07']) {
      const sent: string[] = []
      const storage = postgresStorage({
        query: async (sql) => {
          sent.push(sql)
          if (sql.startsWith('CREATE')) throw Object.assign(new Error(), { code })
          if (sent.length === 1) throw Object.assign(new Error(), { code: '42P01' })
          return { rows: [{ value: 'text' }], rowCount: 1 }
        },
      })
      expect(await storage.get('key')).toBe('text')
      expect(sent).toEqual([expect.stringContaining('SELECT'), postgresTable(), expect.stringContaining('SELECT')])
    }
  })

  test.each([
    ['the table cannot be created', failing('42P01', '42501'), '42501'],
    ['the table is still missing', failing('42P01'), '42P01'],
    ['the query fails', failing('57P01', '42501'), '57P01'],
    ['a read cannot be serialized', failing('40001', '42501'), '40001'],
  ])('rejects if %s', async (_, client, code) => {
    expect(await readError(postgresStorage(client))).toMatchObject({ code })
  })

  test.each<[string | null, string | null]>([
    [null, 'text'],
    ['text', 'next'],
    ['text', null],
  ])('loses a write from %j to %j that cannot be serialized', async (expected, value) => {
    expect(await postgresStorage(failing('40001')).compareAndSet('key', expected, value)).toBe(false)
    const other = postgresStorage(failing('57P01')).compareAndSet('key', expected, value)
    expect(await rejection(Promise.resolve(other))).toMatchObject({ code: '57P01' })
  })

  test('prints the SQL of its table', () => {
    expect(postgresTable('app.connections')).toBe(
      'CREATE TABLE IF NOT EXISTS app.connections (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)',
    )
  })

  test.each(['', 'a.b.c', 'a b', 'a;', '1a', 'Connections', null])('refuses the table %j', (table) => {
    const options = { table: table as string }
    const refused = expect.objectContaining({ name: 'InvalidArgumentError', argument: 'table' })
    expect(() => postgresStorage(failing(''), options)).toThrow(refused)
    expect(() => postgresTable(options.table)).toThrow(refused)
  })
})

test('redisStorage sends through `sendCommand` where `call` is no method', async () => {
  const sendCommand = async ([command]: string[]) => command
  expect(await redisStorage({ call: undefined, sendCommand } as never).get('key')).toBe('GET')
})

test('redisStorage matches no other keys, and lists no key that expires while it lists', async () => {
  const sent: string[][] = []
  const storage = redisStorage({
    sendCommand: async (args) => {
      sent.push(args)
      if (args[0] === 'MGET') return ['one', null]
      return args[1] === '0' ? ['7', ['a', 'b']] : ['0', []]
    },
  })
  expect(await Array.fromAsync(storage.list('a*?[]\\'))).toEqual([[['a', 'one']]])
  expect(sent.map((args) => args.slice(0, 4))).toEqual([
    ['SCAN', '0', 'MATCH', 'a\\*\\?\\[\\]\\\\*'],
    ['MGET', 'a', 'b'],
    ['SCAN', '7', 'MATCH', 'a\\*\\?\\[\\]\\\\*'],
  ])
})

describe('singleProcessStorage', () => {
  test('reads no text that the driver is still writing', async () => {
    const texts = new Map([['key', 'old']])
    const storage = singleProcessStorage({
      getItem: (key) => texts.get(key),
      getKeys: () => [...texts.keys()],
      removeItem: (key) => texts.delete(key),
      async setItem(key, value) {
        texts.set(key, '')
        await new Promise(setImmediate)
        texts.set(key, value)
      },
    })
    const writing = storage.compareAndSet('key', 'old', 'new')
    expect(await storage.get('key')).toBe('new')
    const again = storage.compareAndSet('key', 'new', 'newer')
    expect(await Array.fromAsync(storage.list('key'))).toEqual([[['key', 'newer']]])
    expect(await Promise.all([writing, again])).toEqual([true, true])
    expect(await storage.compareAndSet('key', 'newer', null)).toBe(true)
    expect(texts.size).toBe(0)
  })

  test.each([
    ['an error', new Error('EMFILE'), 'EMFILE'],
    [
      'parsed JSON',
      { a: 1 },
      'getItem returned a value of type object. Check the storage with the tests of docs/storage.md.',
    ],
  ])('rejects if the driver returns %s', async (_, value, message) => {
    const driver = { getItem: () => value, setItem: () => {}, removeItem: () => {}, getKeys: () => [] }
    expect(await readError(singleProcessStorage(driver))).toMatchObject({ message })
  })
})
