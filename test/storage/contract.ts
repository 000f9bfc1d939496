// What a storage must do, as tests for any test runner. To test your own storage, copy this file: it imports only the
// package and Node. docs/storage.md shows how.

import type { ChildProcess } from 'node:child_process'
import { ConnectionStore } from 'support-workspace-sdk/oauth'
import type { KeyValueStorage, StoragePage } from 'support-workspace-sdk/storage'

/** A storage under test. */
export interface OpenStorage extends KeyValueStorage {
  /** Called when a test no longer needs the storage. */
  close?(): unknown
}

/** The options of `storageContract`. */
export interface ContractOptions {
  /**
   * Opens the storage. Called several times in a test, as several processes would open it: each call must return a new
   * handle of the same data, with its own connection and caches.
   */
  readonly open: () => OpenStorage | Promise<OpenStorage>
  /**
   * The URL of a module that exports this `open`, such as `new URL('./storage.js', import.meta.url).href`. With it, the
   * tests also open the storage in other processes of Node, and kill them while they write. Leave it out for a storage
   * that only one process may use.
   * @default none, and the tests with several processes are skipped
   */
  readonly module?: string | undefined
}

/** One test of a storage. */
export interface ContractTest {
  /** What the storage must do, for example `returns the text that was written`. */
  readonly name: string
  /** Whether the test needs several processes, and no `module` was passed. */
  readonly skip: boolean
  /**
   * Rejects with an `Error` that describes the problem. Run the tests one after the other. Some take several seconds.
   */
  readonly run: () => Promise<void>
}

/** Returns the tests that a storage must pass. They remove what they write. */
export function storageContract({ open, module }: ContractOptions): ContractTest[] {
  const among = <Other extends OpenStorage>(tests: Tests<Other>, openOther: () => Promise<Other>, skip: boolean) =>
    Object.entries(tests).map(([name, test]) => ({
      name,
      skip,
      run: async () => {
        if (skip) fail('this test needs the option `module`')
        const one = await open()
        const two = await openOther()
        try {
          await test(one, two, openOther)
        } finally {
          await removeAll(one).catch(() => {})
          await two.close?.()
          await one.close?.()
        }
      },
    }))
  return [
    ...among(basicTests, async () => open(), false),
    ...among(sharedTests('handle'), async () => open(), false),
    ...among(sharedTests('process'), () => openInProcess(module ?? ''), module === undefined),
    ...among(processTests, () => openInProcess(module ?? ''), module === undefined),
  ]
}

/** The tests, by name. `two` is another handle of the storage `one`, in this process or another. */
type Tests<Other extends OpenStorage = OpenStorage> = Readonly<
  Record<string, (one: OpenStorage, two: Other, openOther: () => Promise<Other>) => Promise<void>>
>

const base = 'storage-contract:https.service.example:'
const key = `${base}app.a.o`

/** Returns a random text in the format of a record. */
function newText(length = 100): string {
  const nonce = crypto.randomUUID()
  return `plain:${JSON.stringify({ nonce, name: '\u00fc \u{1f600} "\\u0000"', rest: 'x'.repeat(length) })}`
}

const basicTests: Tests = {
  'returns nothing for a key that was never written': async (one) => {
    same((await one.get(key)) ?? null, null, 'the text')
    same(await listOf(one), {}, 'the list')
  },

  'returns the text that was written': async (one) => {
    for (const text of [newText(), newText(256 * 1024), `eyJhbGciOiJkaXIifQ..${'aZ09_-'.repeat(40)}.bb.c`]) {
      const before = (await one.get(key)) ?? null
      same(await one.compareAndSet(key, before, text), true, 'the result of a write')
      same(await one.get(key), text, 'the text')
      same(await listOf(one), { [key]: text }, 'the list')
    }
  },

  'writes only if the text is as expected, and says so': async (one) => {
    const [first, second] = [newText(), newText()]
    const step = async (expected: string | null, value: string | null, result: boolean, text: string | null) => {
      same(await one.compareAndSet(key, expected, value), result, 'the result of compareAndSet')
      same((await one.get(key)) ?? null, text, 'the text afterwards')
    }
    await step(first, second, false, null)
    await step(first, null, false, null)
    await step(null, null, true, null)
    await step(null, first, true, first)
    await step(null, second, false, first)
    await step(null, null, false, first)
    await step(second, newText(), false, first)
    await step(second, null, false, first)
    await step(first.toUpperCase(), second, false, first)
    await step(`${first} `, second, false, first)
    await step(first, second, true, second)
    await step(first, null, false, second)
    await step(second, null, true, null)
  },

  'distinguishes similar keys': async (one) => {
    const names = ['app.a.b', 'app.a-b', 'app.a=2eb', 'app.ab', 'self.a.b', 'app.a.=41', 'app.a.a', 'app.=2a.=3f']
    await writeAll(
      one,
      [...names, 'app.a.b ', 'App.a.b'].map((name) => `${base}${name}`),
    )
  },

  'distinguishes keys of 500 characters by their last one': async (one) => {
    await writeAll(
      one,
      ['a', 'b'].map((end) => `${base}${'a'.repeat(499 - base.length)}${end}`),
    )
  },

  'lists the keys that start with a prefix, in which nothing is a wildcard': async (one) => {
    const texts = await writeAll(
      one,
      ['a_b:c', 'a_b:d', 'a_b:\u{10ffff}e', 'axb:c', 'a_bc', 'a_b', 'a%b:c', 'a*b:c'].map((name) => base + name),
    )
    const start = `${base}a_b:`
    const expected = Object.entries(texts).filter(([name]) => name.startsWith(start))
    same(await listOf(one, start), Object.fromEntries(expected), 'the list')
    same(await listOf(one, `${base}none`), {}, 'the list of a prefix without keys')
    const whole = `${base}a_b:c`
    same(await listOf(one, whole), { [whole]: texts[whole] }, 'the list of a prefix that is a key as well')
  },

  'lists 2,500 keys': async (one) => {
    await writeAll(
      one,
      Array.from({ length: 2500 }, (_, index) => `${base}app.a.o${index}`),
    )
  },

  'lets one of many concurrent writes win, in another handle as well': async (one, two) => {
    for (let round = 0, text: string | null = null; round < 10; round += 1) {
      const texts = Array.from({ length: 20 }, () => newText())
      const wins = await Promise.all(
        texts.map((next, index) => (index % 2 === 0 ? one : two).compareAndSet(key, text, next)),
      )
      same(wins.filter((won) => won).length, 1, 'the number of writes that won')
      text = texts[wins.indexOf(true)] ?? null
      same(await one.get(key), text, 'the text')
    }
  },

  'works with a connection store: save, get, list, replace, revoke and remove': async (one, two) => {
    const used = new Set<string>()
    const [store, elsewhere] = [testStore(one, used), testStore(two, used)]
    const saved = await store.save('token-of-organization-1')
    const second = await store.save('token-of-organization-2')
    same((await elsewhere.get(saved.key))?.key, saved.key, 'the connection')
    await elsewhere.save('another-of-organization-1')
    same((await store.list().toArray()).length, 2, 'the number of connections')
    await store.remove(saved.key)
    same(await elsewhere.get(saved.key), undefined, 'a removed connection')
    await store.save('revoked-of-organization-2')
    const workspace = await elsewhere.workspace(second.key)
    const error: unknown = await workspace.me().catch((thrown: unknown) => thrown)
    same((error as Error).name, 'AuthenticationError', 'the error of a call with a revoked token')
    same(await listOf(one, 'storage-contract:'), {}, 'the list after a revocation and a removal')
  },
}

/** Tests that two handles share their data: two of this process, or one of this and one of another process. */
function sharedTests(kind: 'handle' | 'process'): Tests {
  return {
    [`shows every write to another ${kind} immediately, also of a key that was missing there`]: async (one, two) => {
      for (let round = 0; round < 20; round += 1) {
        const [writer, reader] = round % 2 === 0 ? [one, two] : [two, one]
        same((await reader.get(key)) ?? null, null, 'the text before a write')
        for (let text: string | null = null, step = 0; step < 3; step += 1) {
          const next: string | null = step === 2 ? null : newText()
          same(await writer.compareAndSet(key, text, next), true, 'the result of a write')
          same((await reader.get(key)) ?? null, next, 'the text')
          same(await listOf(reader), next === null ? {} : { [key]: next }, 'the list')
          text = next
        }
      }
    },

    [`shows either the old or the new text while another ${kind} writes`]: async (one, two) => {
      const texts = [newText(256 * 1024), newText(256 * 1024)] as const
      await one.compareAndSet(key, null, texts[0])
      let isWriting = true
      const reading = (async () => {
        for (; isWriting; await new Promise((resolve) => setTimeout(resolve))) {
          const text = await one.get(key)
          const listed = await listOf(one)
          if (!texts.some((one) => one === text)) return text ?? 'no text'
          if (!texts.some((one) => one === listed[key])) return listed[key] ?? 'no text in the list'
        }
        return undefined
      })()
      for (let count = 0; count < 40; count += 1) {
        await two.compareAndSet(key, texts[count % 2] ?? null, texts[1 - (count % 2)] ?? null)
      }
      isWriting = false
      same(await reading, undefined, 'what was read that was not written')
    },
  }
}

const processTests: Tests<ProcessStorage> = {
  'lets one of many concurrent writes win, in another process as well': async (_, two, openOther) => {
    const three = await openOther()
    try {
      let texts: readonly (string | null)[] = Array.from({ length: 2000 }, () => null)
      for (const step of ['create', 'replace', 'remove']) {
        const [first, second] = step === 'remove' ? [null, null] : [newText(0), newText(0)]
        const to = (value: string | null) => texts.map((text, index): Write => [key + index, text, value])
        const wins = await Promise.all([two.repeat(to(first)), three.repeat(to(second))])
        texts = texts.slice(0, Math.max(wins[0].length, wins[1].length)).map((_, index) => {
          same(wins.filter((won) => won[index]).length, 1, 'the number of writes that won')
          return wins[0][index] ? first : second
        })
      }
    } finally {
      await three.close()
    }
  },

  'has either the old or the new text when a process is killed while it writes': async (one, _, openOther) => {
    const texts = [newText(256 * 1024), newText(256 * 1024)] as const
    await one.compareAndSet(key, null, texts[0])
    for (let round = 0; round < 5; round += 1) {
      const other = await openOther()
      const [from, to] = (await one.get(key)) === texts[0] ? texts : [texts[1], texts[0]]
      const writes = [from, to].map((text): Write => [key, text, text === from ? to : from])
      let isWriting = true
      const writing = other
        .repeat(writes)
        .catch(() => {})
        .finally(() => {
          isWriting = false
        })
      // A busy machine starts late.
      while (isWriting && (await one.get(key)) === from) await new Promise((resolve) => setTimeout(resolve))
      await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()))
      await other.close()
      await writing
      const text = await one.get(key)
      if (!texts.some((one) => one === text)) fail(`after a kill it has ${show(text ?? 'no text')}`)
    }
  },
}

type Write = Parameters<KeyValueStorage['compareAndSet']>

/** A storage in another process, which `close` kills. */
interface ProcessStorage extends OpenStorage {
  /** Repeats the writes for 200 ms. With a message for each, synchronous writes of two processes would not overlap. */
  repeat(writes: readonly Write[]): Promise<boolean[]>
  close(): Promise<void>
}

/** Opens the storage in another process, which replies to one call at a time. */
async function openInProcess(module: string): Promise<ProcessStorage> {
  const { spawn } = process.getBuiltinModule('node:child_process')
  const { once } = process.getBuiltinModule('node:events')
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '--eval', program, module], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const ended = exited.then(() => [{ error: 'The process with the storage has ended.' }])
  const reply = async () => {
    const [message] = (await Promise.race([once(child, 'message'), ended])) as [{ value?: unknown; error?: string }]
    if (message.error !== undefined) throw new Error(message.error)
    return message.value
  }
  const call = (method: 'get' | 'compareAndSet' | 'list' | 'repeat', ...args: readonly unknown[]) => {
    if (child.connected) child.send({ method, args })
    return reply()
  }
  // The first message says that it is ready.
  await reply()
  return {
    get: async (key) => (await call('get', key)) as string | null,
    compareAndSet: async (key, expected, value) => (await call('compareAndSet', key, expected, value)) as boolean,
    async *list(prefix) {
      yield* (await call('list', prefix)) as StoragePage[]
    },
    repeat: async (writes) => (await call('repeat', writes)) as boolean[],
    close: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** The program of the other process, as text, because a bundler would leave out a separate file. */
const program = `
const { open } = await import(process.argv[1])
const storage = await open()
const repeat = async (writes) => {
  const results = []
  for (const end = performance.now() + 200; performance.now() < end; ) {
    results.push(await storage.compareAndSet(...writes[results.length % writes.length]))
  }
  return results
}
process.on('message', async ({ method, args }) => {
  try {
    const result = method === 'repeat' ? repeat(...args) : storage[method](...args)
    process.send({ value: method === 'list' ? await Array.fromAsync(result) : await result })
  } catch (error) {
    process.send({ error: String(error) })
  }
})
process.on('disconnect', () => process.exit())
process.send({})`

/**
 * A store for a fake service without a network. A token ends with its organization. One that starts with `revoked`
 * works only once.
 */
function testStore(storage: KeyValueStorage, used: Set<string>): ConnectionStore {
  return new ConnectionStore({
    baseUrl: 'https://service.example',
    storage,
    prefix: 'storage-contract',
    secret: 'the secret of these tests, never used elsewhere',
    client: {
      maxRetries: 0,
      fetch: async (...args: readonly unknown[]) => {
        const token = tokenOf(args)
        const isRevoked = token.startsWith('revoked') && used.has(token)
        used.add(token)
        if (isRevoked) return Response.json({ error: 'invalid_token' }, { status: 401 })
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

/** Writes a text under each of the keys, and checks that all of them are there. */
async function writeAll(storage: KeyValueStorage, keys: readonly string[]): Promise<Record<string, string>> {
  const texts = Object.fromEntries(keys.map((key) => [key, newText()]))
  for (let start = 0; start < keys.length; start += 50) {
    const some = keys.slice(start, start + 50)
    const written = await Promise.all(some.map((key) => storage.compareAndSet(key, null, texts[key] ?? null)))
    same(new Set(written), new Set([true]), 'the results of writes')
  }
  const found = await listOf(storage)
  same(Object.keys(found).length, keys.length, 'the number of listed keys')
  for (const key of keys) {
    same(await storage.get(key), texts[key], 'a text')
    same(found[key], texts[key], 'a listed text')
  }
  return texts
}

async function listOf(storage: KeyValueStorage, prefix = base): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for await (const page of storage.list(prefix)) for (const [key, text] of page) found[key] = text
  return found
}

async function removeAll(storage: KeyValueStorage): Promise<void> {
  const texts = Object.entries(await listOf(storage, 'storage-contract:'))
  for (let start = 0; start < texts.length; start += 50) {
    await Promise.all(texts.slice(start, start + 50).map(([key, text]) => storage.compareAndSet(key, text, null)))
  }
}

function same(actual: unknown, expected: unknown, what: string): void {
  if (compared(actual) === compared(expected)) return
  fail(`expected ${what} to be ${show(expected)}, but got ${show(actual)}`)
}

function compared(value: unknown): string {
  if (value instanceof Set) return compared([...value])
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
  return JSON.stringify(isRecord ? Object.entries(value).sort() : value) ?? String(value)
}

function show(value: unknown): string {
  const text = compared(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

function fail(message: string): never {
  throw new Error(`The storage is not suitable for connections: ${message}.`)
}
