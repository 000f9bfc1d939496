import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { context, trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Express } from 'express'
import type { FastifyInstance } from 'fastify'
import { type Context, type Hono, Hono as HonoApp } from 'hono'
import { Redis } from 'ioredis'
import {
  type ClientOptions,
  type Conversation,
  type CreateContactBody,
  type Message,
  type RateLimiter,
  SupportWorkspace,
  textToHtml,
} from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { ConnectionStore, type KeyValueStorage, type LoginHandlers, memoryStorage } from 'support-workspace-sdk/oauth'
import { createSandbox, type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { checkClientOptions, settingsOf } from '../../src/core/settings.ts'
import { optionShape, readSandboxOptions } from '../../src/sandbox/sandbox-options.ts'
import { run as runCommand, start } from '../command/run.ts'
import { describeOnRedis } from '../connections/helpers/servers.ts'
import { startProxy } from '../helpers/proxy.ts'
import { certificatePath, startTlsServer } from '../helpers/tls-server.ts'
import { Browser } from '../oauth/helpers/browser.ts'
import { examplesFolder, examplesOf, guides, root, writeExamples } from './examples.ts'
import { giveGlobals, stubGlobals, visit } from './given.ts'

/** The site of the reader's app. It is not the service, so its requests are answered by the code of a guide. */
const siteUrl = 'https://app.example'
const redirectUri = `${siteUrl}/callback`

let sandbox: Sandbox
let printed: string[]
/** What the reader's own database and sessions hold. */
let saved: { key: string; userId: string | undefined; tokens: string[]; notices: Set<string> }
const cleanUps: (() => unknown)[] = []
/** The folder of the running test. Each test has another, because a module runs only once. */
let folder: string
let tests = 0
const tested = new Set<string>()

beforeEach(async () => {
  folder = `${examplesFolder}/guide-${++tests}`
  cleanUps.push(() => rm(folder, { recursive: true, force: true }))
  sandbox = await startSandbox({ conversations: 120, autoConsent: 'allow', app: { redirectUris: [redirectUri] } })
  cleanUps.push(() => sandbox.close())
  await giveGlobals(sandbox, redirectUri)
  saved = { key: '', userId: 'ada', tokens: [], notices: new Set() }
  printed = []
  stubGlobals({
    folder: await temporaryFolder(),
    saveToken: async (accessToken: string) => void saved.tokens.push(accessToken),
    saveKey: async (key: string) => void Object.assign(saved, { key }),
    saveNotice: async (key: string, connectedAt: number) => void saved.notices.add(`${key} ${connectedAt}`),
    savedKey: async () => saved.key,
    currentUser: async () => saved.userId,
  })
  sandbox.clearRequests()
  for (const name of ['log', 'warn'] as const) {
    vi.spyOn(console, name).mockImplementation((...values) => void printed.push(values.join(' ')))
  }
})

afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'guide-'))
  cleanUps.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The folder that the examples are given. */
const givenFolder = () => Reflect.get(globalThis, 'folder') as string

/** Runs a file of a guide, and returns its exports. */
async function run<Exports = unknown>(guide: string, name = 'main.ts'): Promise<Exports> {
  tested.add(guide)
  await writeExamples(folder, examplesOf(guide))
  return import(/* @vite-ignore */ `${folder}/${guide.replace('.md', '')}/${name}`)
}

/** A browser whose requests to the reader's site are answered by a function. */
function browserAt(site: (request: Request) => Response | Promise<Response>): Browser {
  return new Browser({ [siteUrl]: site })
}

function workspaceOf({ url, issueToken }: Sandbox, options: Partial<ClientOptions> = {}) {
  return new SupportWorkspace({ baseUrl: url, accessToken: issueToken({ actor: 'self' }), ...options, actor: 'self' })
}

/** Returns the names in the first column of the table whose first heading is given. */
async function firstColumn(guide: string, heading: string): Promise<string[]> {
  const text = await readFile(`${root}docs/${guide}`, 'utf8')
  const [, rows = ''] = new RegExp(`^\\| \`?${heading}\`? \\| .+\\n\\| ---.+\\n((?:\\|.+\\n)+)`, 'm').exec(text) ?? []
  return rows
    .split('\n')
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

async function logInAndSeeInbox(site: (request: Request) => Response | Promise<Response>): Promise<void> {
  const { response } = await browserAt(site).go(`${siteUrl}/login`)
  expect(response.status).toBe(200)
  const [newest] = sandbox.state.conversations
  expect(((await response.json()) as unknown[])[0]).toEqual({ id: newest?.id, status: newest?.status })
  expect(saved.key).toMatch(/^self\./)
}

async function replyInForm(send: (path: string, body: URLSearchParams) => Promise<Response>): Promise<void> {
  const [{ id } = { id: '' }] = sandbox.state.conversations
  const response = await send(`/conversations/${id}/reply`, new URLSearchParams({ text: 'On it & more' }))
  expect([response.status, response.headers.get('location')]).toEqual([303, '/inbox'])
  expect(sandbox.state.messages(id)[0]).toMatchObject({ body_html: '<p>On it &#38; more</p>' })
}

// `first-program.test.ts` runs its first program.
test('quickstart.md sends and edits a message', async () => {
  await run('quickstart.md')
  expect(printed[0]).toMatch(/ 200 /)
  expect(sandbox.state.writes).toHaveLength(3)
  const guide = await readFile(`${root}docs/quickstart.md`, 'utf8')
  expect(guide).toContain(`'${textToHtml('Hi Ada,\n\nThe total is < 100.\nBye')}'`)
})

test('client-options.md lists every option of a client, with its default', async () => {
  const source = await readFile(`${root}src/core/settings.ts`, 'utf8')
  const [, table = ''] = /const clientChecks = \{(.+?)\n\} satisfies/s.exec(source) ?? []
  const names = [...table.matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(10)
  expect((await firstColumn('client-options.md', 'Option')).sort()).toEqual(names.sort())
  const guide = await readFile(`${root}docs/client-options.md`, 'utf8')
  const defaults = Object.entries(settingsOf(checkClientOptions({ baseUrl: sandbox.url, accessToken: 'token' })))
  const given = defaults.filter(([name, value]) => typeof value === 'number' || name === 'validation')
  expect(given).toHaveLength(6)
  for (const [name, value] of given) {
    const written = typeof value === 'number' ? value.toLocaleString('en') : `\`${value}\``
    expect(guide).toMatch(new RegExp(`^\\| \`${name}\` \\| .+ \\| ${written} \\|$`, 'm'))
  }
})

test('client-options.md changes the options of a client, sends a header for each request, and measures calls', async () => {
  await run('client-options.md')
  expect(printed).toEqual([...sandbox.state.contacts.map(({ id }) => id), expect.stringMatching(/^me \d+$/)])
  expect(sandbox.requests.at(-3)?.headers['x-trace']).toMatch(/^[0-9a-f-]{36}$/)
  expect(sandbox.requests.at(-1)?.headers['x-job']).toBe('replies')
})

describe('pagination.md', () => {
  interface Guide {
    sync(file: string, save: (conversations: Conversation[]) => Promise<void>): Promise<void>
  }

  test('reads every item, the first page, at most 100 items, and at most 70 without prefetching', async () => {
    await run('pagination.md')
    expect(printed.slice(0, 120)).toEqual(sandbox.state.conversations.map(({ id }) => id))
    expect(printed.slice(120, 122)).toEqual([expect.stringMatching(/^10 ./), '100'])
    expect(printed.slice(122)).toHaveLength(70)
  })

  test('resumes after a crash where it stopped, and does nothing once it is finished', async () => {
    const { sync } = await run<Guide>('pagination.md')
    const file = join(givenFolder(), 'checkpoint.json')
    const seen: string[] = []
    let crashes = 1
    const save = async (conversations: Conversation[]) => {
      if (seen.length === 50 && crashes-- > 0) throw new Error('The process was killed.')
      seen.push(...conversations.map(({ id }) => id))
    }
    await expect(sync(file, save)).rejects.toThrow('killed')
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ cursor: expect.any(String), done: false })
    await sync(file, save)
    expect(seen).toEqual(sandbox.state.conversations.map(({ id }) => id))
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ cursor: null, done: true })
    sandbox.clearRequests()
    await sync(file, save)
    expect(sandbox.requests).toEqual([])
  })

  test('starts over when the saved cursor is rejected, even if that happened in the middle of a run', async () => {
    const { sync } = await run<Guide>('pagination.md')
    const file = join(givenFolder(), 'checkpoint.json')
    const seen = new Set<string>()
    const save = async (conversations: Conversation[]) => {
      for (const { id } of conversations) seen.add(id)
    }
    sandbox.faults.add({ after: 1, status: 410 })
    await expect(sync(file, save)).rejects.toMatchObject({ name: 'CursorRejectedError', status: 410 })
    expect(seen.size).toBe(50)
    sandbox.clearRequests()
    sandbox.failNext({ status: 410 })
    await sync(file, save)
    expect(sandbox.requests.map(({ status }) => status)).toEqual([410, 200, 200, 200])
    expect([...seen]).toEqual(sandbox.state.conversations.map(({ id }) => id))
  })
})

describe('import.md', () => {
  const contacts = Array.from({ length: 12 }, (_, index) => ({ email: `contact-${index}@example.com` }))
  interface Guide {
    importContacts(contacts: CreateContactBody[]): Promise<void>
  }

  test('creates every contact, and reports the ones that were refused and the ones to check', async () => {
    const { importContacts } = await run<Guide>('import.md')
    sandbox.faults.add({ method: 'POST', after: 3, status: 422 })
    sandbox.faults.add({ method: 'POST', after: 4, drop: 'after-effect' })
    await importContacts(contacts)
    const words = [/created as /, /not created, UnprocessableError/, /check whether it exists/]
    expect(words.map((each) => printed.filter((line) => each.test(line)).length)).toEqual([10, 1, 1])
    expect(printed).toHaveLength(12)
    expect(sandbox.state.writes).toHaveLength(11)
  })

  test('stops when the token is revoked', async () => {
    const { importContacts } = await run<Guide>('import.md')
    sandbox.revokeAll()
    await expect(importContacts(contacts)).rejects.toThrow('invalid_token')
    expect(sandbox.requests.length).toBeLessThan(contacts.length)
  })
})

describe('write-journal.md', () => {
  interface Replies {
    replyToAll(workspace: SupportWorkspace, journal: object): Promise<void>
  }
  const errors: string[] = []

  /** Opens a journal on a sandbox of its own, where no program of the guide has run. */
  function openWaiting(conversations: number) {
    const waiting = createSandbox({ conversations })
    const workspace = workspaceOf(waiting, { fetch: waiting.fetch })
    const storage = memoryStorage()
    const start = () => new WriteJournal({ workspace, storage, confirmTimeout: 1, stopAfter: 5 })
    return { waiting, workspace, start, journal: start() }
  }

  beforeEach(() => {
    errors.length = 0
    vi.spyOn(console, 'error').mockImplementation((...values) => void errors.push(values.join(' ')))
    cleanUps.push(() => {
      process.exitCode = undefined
    })
  })

  test('replies to every customer who had the last word, once', async () => {
    const waiting = sandbox.state.conversations.filter(({ id, user }) => {
      return sandbox.state.messages(id)[0]?.user.id === user.id
    })
    const { replyToAll } = await run<Replies>('write-journal.md', 'reply.ts')
    expect(sandbox.state.writes).toHaveLength(waiting.length)
    const workspace = workspaceOf(sandbox)
    await replyToAll(workspace, new WriteJournal({ workspace, storage: memoryStorage() }))
    expect(sandbox.state.writes).toHaveLength(waiting.length)
    expect(process.exitCode).toBeUndefined()
  })

  test.each([
    ['the token is revoked', 77, () => sandbox.revokeAll()],
    ['the service is down', 75, () => void sandbox.faults.add({ drop: 'before-effect', times: Infinity })],
    ['the call is wrong', 70, () => void sandbox.faults.add({ status: 400, times: Infinity })],
  ])('the export ends with its code if %s', async (_, code, prepare) => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    prepare()
    await run('write-journal.md', 'export.ts')
    expect(process.exitCode).toBe(code)
    expect(errors).toHaveLength(1)
  })

  test('replies that an earlier run could not decide about do not stop the next one', async () => {
    const { replyToAll } = await run<Replies>('write-journal.md', 'reply.ts')
    const { waiting, workspace, start } = openWaiting(8)
    waiting.faults.add({ method: 'POST', drop: 'before-effect', times: 5 })
    for (const [remedy, applied] of [
      ['retry', 0],
      ['verify', 3],
    ] as const) {
      await expect(replyToAll(workspace, start())).rejects.toMatchObject({ remedy })
      expect(waiting.state.writes).toHaveLength(applied)
    }
  })

  test('adds one note for each reply, also of a run that was killed in between', async () => {
    const { replyTo, noteReplies } = await run<{
      replyTo(journal: object, conversation: string, message: string): Promise<void>
      noteReplies(journal: object): Promise<void>
    }>('write-journal.md', 'reply-and-note.ts')
    const { waiting, start } = openWaiting(2)
    for (const { id } of waiting.state.conversations) {
      await replyTo(start(), id, 'msg_1')
      for (let runs = 0; runs < 2; runs += 1) await noteReplies(start())
    }
    const operations = waiting.state.writes.map(({ operation }) => operation)
    expect(operations).toEqual(['createMessage', 'createNote', 'createMessage', 'createNote'])
  })

  test('a reply that was sent in other words, or may have been, is not sent again and does not stop the others', async () => {
    const { replyToAll } = await run<Replies>('write-journal.md', 'reply.ts')
    const { waiting, workspace, journal } = openWaiting(3)
    const [sent = '', lost = ''] = waiting.state.conversations.map(({ id }) => id)
    const replyEarlier = (id: string) =>
      journal.once(`reply:${waiting.state.messages(id)[0]?.id}`, (client) =>
        client.messages.create(id, { body_html: '<p>Other words.</p>' }),
      )
    const reply = await replyEarlier(sent)
    await workspace.messages.delete(sent, reply.id ?? '')
    waiting.faults.add({ method: 'POST', drop: 'before-effect' })
    await expect(replyEarlier(lost)).rejects.toMatchObject({ remedy: 'verify' })
    const before = waiting.state.writes.length
    await expect(replyToAll(workspace, journal)).rejects.toMatchObject({ remedy: 'verify', conversation: lost })
    expect(waiting.state.writes).toHaveLength(before + 1)
    expect(errors).toEqual([expect.stringMatching(/sent with another body or query.+ {"body_html":"/)])
  })

  test.each([
    ['those that are there', (there: string) => ['new-1@example.com', there], 1, 0, undefined],
    ['those that are no addresses', () => ['new-1@example.com', 'nonsense'], 0, 1, 65],
  ])('imports contacts with its progress, and tells %s', async (_, emailsWith, there, invalid, code) => {
    const emails = emailsWith(sandbox.state.contacts[0]?.user.email ?? '')
    await writeFile(join(givenFolder(), 'emails.txt'), `${[...emails, 'new-2@example.com'].join('\r\n')}\r\n`)
    await run('write-journal.md', 'import.ts')
    expect(printed.at(-1)).toBe(`${JSON.stringify({ created: 2, there, invalid, unconfirmed: 0 })} of 3`)
    expect(sandbox.state.writes).toHaveLength(2)
    expect(process.exitCode).toBe(code)
  })

  test('exports every conversation, and again what has changed since', async () => {
    await run('write-journal.md', 'export.ts')
    const database = new DatabaseSync(join(givenFolder(), 'export.db'))
    expect(database.prepare('SELECT count(*) AS count FROM items').get()).toEqual({ count: 121 })
    const [{ id } = { id: '' }] = sandbox.state.conversations
    sandbox.receiveMessage(id, '<p>And now?</p>')
    folder = `${examplesFolder}/guide-${++tests}`
    await run('write-journal.md', 'export.ts')
    await rm(folder, { recursive: true, force: true })
    const { json } = database.prepare('SELECT json FROM items WHERE id = ?').get(id) as { json: string }
    database.close()
    expect(JSON.parse(json).messages[0]).toMatchObject({ body_html: '<p>And now?</p>' })
  })

  test('lists what is unconfirmed, and keeps a table of its own', async () => {
    const guide = await run<{
      wasSent(key: string): Promise<void>
      replyOnce(id: string, rows: Map<string, string>): Promise<void>
    }>('write-journal.md')
    await expect(guide.wasSent('reply:1')).rejects.toThrow('The write "reply:1" is not open')
    const rows = new Map<string, string>()
    const [{ id } = { id: '' }] = sandbox.state.conversations
    await guide.replyOnce(id, rows)
    expect(rows.get(id)).toBe('applied')
    sandbox.failNext({ status: 422 })
    await expect(guide.replyOnce(id, rows)).rejects.toMatchObject({ outcome: 'refused' })
    expect(rows.has(id)).toBe(false)
  })
})

describe('rate-limits.md', () => {
  interface Guide {
    workspaceOf(organization: string, token: string): SupportWorkspace
    store: ConnectionStore
    importer: SupportWorkspace
    SharedRateLimiter: new (redis: Redis, perMinute: number) => RateLimiter
  }

  /** Expects that eight refusals of one client hold back the other, and that neither waits. */
  async function expectShared(one: SupportWorkspace, other: SupportWorkspace) {
    const options = { maxRetries: 0 }
    sandbox.clearRequests()
    sandbox.faults.add({ status: 429, retryAfter: 30, times: 8 })
    for (let call = 0; call < 8; call += 1) await expect(one.me(options)).rejects.toMatchObject({ retryAfter: 30 })
    await expect(other.me(options)).rejects.toMatchObject({ name: 'RateLimitError', outcome: 'not-sent' })
    expect(sandbox.requests).toHaveLength(8)
  }

  test("clients of an organization hear of each other's refusals, and others do not", async () => {
    const guide = await run<Guide>('rate-limits.md')
    const open = (organization: string) => guide.workspaceOf(organization, sandbox.issueToken())
    await expectShared(open('one'), open('one'))
    expect((await open('another').me({ maxRetries: 0 })).actor).toBe('app')
    expect((await guide.importer.me()).actor).toBe('self')
  })

  test('the clients of its store do not wait for a rate limit', async () => {
    const { store } = await run<Guide>('rate-limits.md')
    const { key } = await store.save(sandbox.issueToken())
    await expectShared(await store.workspace(key), await store.workspace(key))
  })

  describeOnRedis((path) => {
    test('processes that share a limiter through Redis send one request after the other', async () => {
      const { SharedRateLimiter } = await run<Guide>('rate-limits.md')
      const redis = new Redis(path())
      cleanUps.push(() => redis.disconnect())
      const waits: number[] = []
      const onWait = (wait: number) => void waits.push(wait)
      const call = { operation: 'GET /x', canWait: true, startedAt: 0, timeLeft: 1e9, onWait }
      const controller = new AbortController()
      const limiters = [
        new SharedRateLimiter(redis, 6),
        new SharedRateLimiter(redis, 6),
        new SharedRateLimiter(redis, 6),
      ]
      const permits = limiters.map((limiter) => limiter.acquire('org', controller.signal, call))
      await permits[0]
      await vi.waitFor(() => expect(waits).toHaveLength(2))
      expect(waits[0]).toBeGreaterThan(5_000)
      expect(waits[1]).toBeGreaterThan(15_000)
      controller.abort('enough')
      await expect(Promise.all(permits)).rejects.toBe('enough')
    })
  })
})

describe('errors.md', () => {
  interface Guide {
    addContact(email: string): Promise<string>
    readContact(id: string): Promise<string>
    runJob(job: () => Promise<unknown>): Promise<string>
    reply(
      journal: WriteJournal<'self'>,
      conversationId: string,
      messageId: string,
      body_html: string,
    ): Promise<string | undefined>
  }

  test('gives each error its next step', async () => {
    const { addContact } = await run<Guide>('errors.md')
    expect(await addContact('first@example.com')).toMatch(/^Created /)
    sandbox.failNext({ status: 401, body: { error: 'invalid_token' } })
    expect(await addContact('a@example.com')).toMatch(/log in again/)
    sandbox.failNext({ status: 403, body: { error: 'insufficient_scope' } })
    expect(await addContact('a@example.com')).toBe('Log in again with contacts:write.')
    sandbox.failNext({ drop: 'after-effect' })
    expect(await addContact('b@example.com')).toBe('Check before you try again.')
    sandbox.failNext({ status: 400 })
    expect(await addContact('a@example.com')).toMatch(/^contacts.create failed: /)
    sandbox.failNext({ status: 429, retryAfter: 90 })
    expect(await addContact('a@example.com')).toBe('Try again in 90 seconds.')
  })

  test('tells the errors of this package from the reason of a signal', async () => {
    const { readContact } = await run<Guide>('errors.md')
    expect(await readContact('none')).toBe('NotFoundError, fix')
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort(new DOMException('late', 'TimeoutError')))
    expect(await readContact('none')).toBe('Given up after a minute.')
  })

  test('plans the next run of a job', async () => {
    const { runJob } = await run<Guide>('errors.md')
    const store = new ConnectionStore({ baseUrl: sandbox.url })
    const workspace = workspaceOf(sandbox)
    const create = () => workspace.contacts.create({ email: 'ada@example.com' })
    expect(await runJob(create)).toBe('done')
    sandbox.failNext({ drop: 'after-effect' })
    expect(await runJob(create)).toBe('ask a person')
    sandbox.failNext({ status: 401, body: { error: 'invalid_token' } })
    expect(await runJob(create)).toBe('after a login')
    sandbox.failNext({ status: 400 })
    expect(await runJob(create)).toBe('never')
    expect(await runJob(() => workspace.contacts.get(''))).toBe('never')
    sandbox.failNext({ status: 429, retryAfter: 90 })
    expect(await runJob(create)).toBe('again in 90 s')
    const { key } = await store.save(sandbox.issueToken())
    await store.remove(key)
    expect(await runJob(() => store.workspace(key))).toBe('after a login')
    await expect(runJob(() => Promise.reject(new Error('a bug in the job')))).rejects.toThrow('a bug in the job')
    const list = () => workspace.contacts.list()
    sandbox.failNext({ status: 503, retryAfter: 90 })
    expect(await runJob(list)).toBe('again in 90 s')
    sandbox.faults.add({ status: 200, body: '<h1>Maintenance</h1>', times: 3 })
    expect(await runJob(list)).toBe('again in 60 s')
  })

  test('returns the id of a message whose response was lost', async () => {
    const { reply } = await run<Guide>('errors.md')
    const [{ id } = { id: '' }] = sandbox.state.conversations
    const journal = new WriteJournal({ workspace: workspaceOf(sandbox), storage: memoryStorage() })
    sandbox.faults.add({ method: 'POST', drop: 'after-effect' })
    const sent = await reply(journal, id, 'msg_1', '<p>On it.</p>')
    expect(sandbox.state.messages(id)[0]).toMatchObject({ id: sent, body_html: '<p>On it.</p>' })
  })

  test('its table has every error class', async () => {
    const [main, oauth] = [await import('support-workspace-sdk'), await import('support-workspace-sdk/oauth')]
    const journal = await import('support-workspace-sdk/journal')
    const names = Object.keys({ ...main, ...oauth, ...journal }).filter((name) => /^[A-Z].*Error$/.test(name))
    const guide = await readFile(`${root}docs/errors.md`, 'utf8')
    expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([])
  })

  test.each([
    ['LoginError', 'shared/errors/login-error.ts'],
    ['UnexpectedResponseError', 'shared/errors/request-error.ts'],
    ['ConnectionStoreError', 'connections/connection-store-error.ts'],
  ])('its table of the reasons of %s has each of them', async (name, file) => {
    const source = await readFile(`${root}src/${file}`, 'utf8')
    const [, type = ''] =
      new RegExp(`export type ${name.replace('Error', '(?:Error)?')}Reason =([^;]*?)\\n\\n`).exec(source) ?? []
    const reasons = [...type.matchAll(/'([^']+)'/g)].map(([, reason]) => reason)
    expect(reasons.length).toBeGreaterThan(4)
    expect((await firstColumn('errors.md', name)).sort()).toEqual(reasons.sort())
  })
})

describe('concepts.md', () => {
  test('sends nothing on an app client, and a message on a client of a person', async () => {
    await run('concepts.md')
    expect(printed[0]).toBe('not-sent')
    expect(sandbox.state.writes).toHaveLength(1)
  })

  test('quotes the compiler', async () => {
    const [firstLine = ''] = (await readFile(`${root}test/types/app-client-error.txt`, 'utf8')).split('\n')
    const sentence = firstLine.replace(/^.*?: error TS\d+: /, '')
    expect(sentence).toContain('This call needs an actor=self token')
    expect(await readFile(`${root}docs/concepts.md`, 'utf8')).toContain(sentence)
  })
})

test('login.md logs in, prints the scopes, and stores the token', async () => {
  await run('login.md')
  expect(printed).toEqual(['conversations:read,messages:write '])
  expect(saved.tokens).toEqual([expect.stringMatching(/^swot_/)])
})

test('login.md logs a failed login, and has its own page for a denial', async () => {
  const { login } = await run<{ login: LoginHandlers }>('login.md', 'failed-login.ts')
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const unknown = await login.callback(new Request(`${siteUrl}/callback?code=1&state=2`))
  expect(await unknown.text()).toContain('<h1>Not connected</h1>')
  const browser = browserAt((request) =>
    request.url.includes('/login') ? login.start(request) : login.callback(request),
  )
  const { at } = await browser.go(`${siteUrl}/login`, (next) => next.startsWith(`${siteUrl}/callback`))
  const denied = await browser.go(`${at}&error=access_denied`)
  expect(await denied.response.text()).toBe('Ask an admin of your workspace to connect this app.')
  expect(logged.mock.calls).toMatchObject([[{ reason: 'transaction_missing' }], [{ reason: 'access_denied' }]])
})

/** Serves on a free port until the test ends. Returns a `fetch` for the paths of the server. */
async function listen(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => server.close())
  const { port } = server.address() as { port: number }
  return (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...init, redirect: 'manual' })
}

/** Sends the requests of a browser to a server that `listen` started. */
const forward = (request: Awaited<ReturnType<typeof listen>>) => (received: Request) =>
  request(received.url.slice(siteUrl.length), { headers: received.headers })

describe('login-frameworks.md', () => {
  const guide = 'login-frameworks.md'

  test('logs in with Express, shows the inbox, and replies', async () => {
    const { site } = await run<{ site: Express }>(guide, 'express.ts')
    const request = await listen(createServer(site))
    await logInAndSeeInbox(forward(request))
    await replyInForm((path, body) => request(path, { method: 'POST', body }))
  })

  test('logs in with Fastify, shows the inbox, and leaves errors to Fastify', async () => {
    const { site } = await run<{ site: FastifyInstance }>(guide, 'fastify.ts')
    const handled: unknown[] = []
    site.setErrorHandler(async (error, _, reply) => {
      handled.push(error)
      return reply.status(503).send('later')
    })
    await site.ready()
    const request = await listen(site.server)
    await logInAndSeeInbox(forward(request))
    vi.stubGlobal('saveKey', () => Promise.reject(new Error('the database is down')))
    const failed = await browserAt(forward(request)).go(`${siteUrl}/login`)
    expect([failed.response.status, handled]).toMatchObject([503, [{ message: 'the database is down' }]])
  })

  test('has a node:http server that logs in, shows the inbox, and survives an error and a body that was read before', async () => {
    const { server } = await run<{ server: Server }>(guide, 'node-http.ts')
    const request = await listen(server)
    await logInAndSeeInbox(forward(request))
    expect((await request('/nowhere')).status).toBe(404)
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const denied = await request('/callback?error=access_denied&state=unknown')
    expect(denied.status).toBe(400)
    expect(await denied.text()).toContain('</html>')
    sandbox.failNext({ status: 400 })
    const failed = await request('/inbox', { headers: { host: 'evil.example' } })
    expect([failed.status, await failed.text()]).toEqual([500, 'Internal Server Error'])
    expect(logged.mock.calls).toMatchObject([[{ reason: 'transaction_missing' }], [{ name: 'BadRequestError' }]])
    const afterReading = createServer(async (...exchange) => {
      await exchange[0].toArray()
      server.emit('request', ...exchange)
    })
    for (const each of [request, await listen(afterReading)]) {
      expect((await each('/login', { method: 'POST', body: 'text=1' })).status).toBe(303)
    }
  })

  test('logs in with Hono, shows the inbox, and replies', async () => {
    const { site } = await run<{ site: Hono }>(guide, 'hono.ts')
    await logInAndSeeInbox((request) => site.fetch(request))
    await replyInForm(async (path, body) => site.request(path, { method: 'POST', body }))
  })

  test('says where a middleware can set a cookie without losing it or that of the login', async () => {
    const { site } = await run<{ site: Hono }>(guide, 'hono.ts')
    const setOwn = (context: Context) => context.header('set-cookie', 'own=1', { append: true })
    const setOwnAfterReading = (context: Context) => {
      context.res.headers.set('x-read', '1')
      setOwn(context)
    }
    const cookiesOf = async (before?: (context: Context) => void, after?: (context: Context) => void) => {
      const outer = new HonoApp().use(async (context, next) => {
        before?.(context)
        await next()
        after?.(context)
      })
      const response = await outer.route('/', site).request('/login')
      return response.headers.getSetCookie().map((cookie) => /^(own|.*support_login)/.exec(cookie)?.[1])
    }
    expect(await cookiesOf(undefined, setOwn)).toEqual(['__Host-support_login', 'own'])
    expect(await cookiesOf(setOwn)).toEqual(['__Host-support_login'])
    expect(await cookiesOf(setOwnAfterReading)).toEqual(['own'])
  })

  describe.each([
    ['Next', (name: string) => `app/${name}/route.ts`, (request: Request) => request],
    ['SvelteKit', (name: string) => `src/routes/${name}/+server.ts`, (request: Request) => ({ request })],
  ])('in %s', (_framework, fileOf, argument) => {
    type Route = { GET: (argument: unknown) => Promise<Response> }
    test('logs in and shows the inbox', async () => {
      await logInAndSeeInbox(async (request) => {
        const { GET } = await run<Route>(guide, fileOf(new URL(request.url).pathname.slice(1)))
        return GET(argument(request))
      })
    })

    test.each(['login', 'callback', 'inbox'])(
      'has a route %s that a build can import without secrets',
      async (name) => {
        for (const given of ['clientId', 'clientSecret', 'secret']) vi.stubGlobal(given, undefined)
        expect(await run<Route>(guide, fileOf(name))).toHaveProperty('GET')
      },
    )
  })

  test('logs in with Workers, and shows the inbox', async () => {
    const { default: worker } = await run<{
      default: { fetch(request: Request, env: Record<string, string>): Promise<Response> }
    }>(guide, 'worker.ts')
    const { clientId, clientSecret } = sandbox.app
    const env = {
      BASE_URL: sandbox.url,
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret,
      REDIRECT_URI: redirectUri,
      SECRET: 'thirty-two characters, or some more',
    }
    await logInAndSeeInbox((request) => worker.fetch(request, env))
    expect((await worker.fetch(new Request(`${siteUrl}/other`), env)).status).toBe(404)
  })
})

test('service-token.md runs the script with a token of the environment', async () => {
  vi.stubEnv('SUPPORT_WORKSPACE_TOKEN', sandbox.issueToken())
  await run('service-token.md', 'report.ts')
  expect(printed).toHaveLength(sandbox.state.contacts.length)
})

test('export.md saves every conversation with its messages, and resumes where it stopped', async () => {
  type Save = (items: readonly { messages: readonly Message[] }[]) => Promise<void>
  const { exportAll } = await run<{ exportAll(file: string, save: Save): Promise<void> }>('export.md')
  const file = `${givenFolder()}/checkpoint.json`
  const saved: (readonly Message[])[] = []
  let pages = 0
  const save: Save = async (items) => {
    if (++pages === 2) throw new Error('The disk is full.')
    saved.push(...items.map(({ messages }) => messages))
  }
  await expect(exportAll(file, save)).rejects.toThrow('The disk is full.')
  expect(saved).toHaveLength(50)
  await exportAll(file, save)
  expect(saved).toHaveLength(120)
  expect(saved[0]).toEqual(sandbox.state.messages(sandbox.state.conversations[0]?.id ?? ''))
})

describe('sessions.md', () => {
  interface Guide {
    handle(request: Request): Promise<Response>
  }

  test('connects the user who started the login, whose page waits for no rate limit, and disconnects', async () => {
    const { handle } = await run<Guide>('sessions.md')
    const browser = browserAt(handle)
    expect((await browser.go(`${siteUrl}/`)).response.status).toBe(409)
    expect((await browser.go(`${siteUrl}/login`)).response.status).toBe(200)
    sandbox.revokeAll()
    expect((await browser.go(`${siteUrl}/`)).response.status).toBe(409)
    sandbox.clearRequests()
    expect((await browser.go(`${siteUrl}/`)).response.status).toBe(409)
    expect(sandbox.requests).toEqual([])
    await browser.go(`${siteUrl}/login`)
    expect((await browser.go(`${siteUrl}/disconnect`)).response.status).toBe(405)
    expect((await browser.go(`${siteUrl}/`)).response.status).toBe(200)
    sandbox.failNext({ status: 429, retryAfter: 1 })
    await expect(browser.go(`${siteUrl}/`)).rejects.toMatchObject({ name: 'RateLimitError', retryAfter: 1 })
    const disconnected = await browser.request(`${siteUrl}/disconnect`, { method: 'POST' })
    expect(await disconnected.text()).toMatch(/^Disconnected/)
    expect((await browser.go(`${siteUrl}/`)).response.status).toBe(409)
  })

  test('refuses a login that another user started', async () => {
    const { handle } = await run<Guide>('sessions.md')
    const browser = browserAt((request) => {
      saved.userId = new URL(request.url).pathname === '/callback' ? 'mallory' : 'ada'
      return handle(request)
    })
    const { response } = await browser.go(`${siteUrl}/login`)
    expect(response.status).toBe(403)
    expect(await response.text()).toContain('Another user started this login')
  })

  test('saves a token again if the first attempt fails', async () => {
    const { handle } = await run<Guide>('sessions.md')
    sandbox.faults.add({ path: '/api/oauth/v1/me', status: 400 })
    expect((await browserAt(handle).go(`${siteUrl}/login`)).response.status).toBe(200)
  })
})

describe('connections.md', () => {
  test('saves, lists, verifies and removes a connection, reseals the entries, and asks for a login after a revocation', async () => {
    const { store } = await run<{ store: ConnectionStore }>('connections.md')
    expect(printed[0]).toBe('1')
    expect(printed).toContainEqual(expect.stringMatching(/^.+ \w{3} \w{3} \d{2} \d{4}/))
    expect(printed.slice(-2)).toEqual(['0', '0 0'])
    expect((await store.list()).connections).toEqual([])
    const { key } = await store.save(sandbox.issueToken())
    const workspace = await store.workspace(key)
    sandbox.revokeAll()
    await expect(workspace.conversations.list()).rejects.toThrow('invalid_token')
    expect(printed.at(-1)).toMatch(/ revoked access: ask for a new login$/)
  })

  test('records a revocation once for each login, also if the process that noticed it crashed', async () => {
    interface Guide {
      keeping: ConnectionStore
      recordRevocation(key: string, error: unknown): Promise<void>
    }
    vi.useFakeTimers({ toFake: ['Date'] })
    cleanUps.push(() => vi.useRealTimers())
    const { keeping, recordRevocation } = await run<Guide>('connections.md')
    const { storage, secret } = globalThis as unknown as { storage: KeyValueStorage; secret: string }
    const logIn = () => keeping.save(sandbox.issueToken())
    const { key, connectedAt: first } = await logIn()
    const revokeAndCrash = async () => {
      sandbox.revokeAll()
      const store = new ConnectionStore({ baseUrl: sandbox.url, storage, secret, keepRevoked: true })
      await expect((await store.workspace(key)).me()).rejects.toThrow('invalid_token')
    }
    const runJob = async () => {
      const job = keeping.workspace(key).then((workspace) => workspace.contacts.get('unknown'))
      await recordRevocation(key, await job.catch((thrown: unknown) => thrown))
    }
    await runJob()
    expect(saved.notices).toEqual(new Set())
    await revokeAndCrash()
    await runJob()
    await runJob()
    expect(saved.notices).toEqual(new Set([`${key} ${first}`]))
    vi.setSystemTime(Date.now() + 1_000)
    const { connectedAt: second } = await logIn()
    await runJob()
    await revokeAndCrash()
    await runJob()
    expect(saved.notices).toEqual(new Set([`${key} ${first}`, `${key} ${second}`]))
  })
})

test('more-scopes.md asks for the scope that a page needs, and comes back to the page', async () => {
  const { handle } = await run<{ handle(request: Request): Promise<Response> }>('more-scopes.md')
  const browser = browserAt((request) => {
    const { pathname } = new URL(request.url)
    return pathname === '/' ? new Response('home') : handle(request)
  })
  expect(await (await browser.go(`${siteUrl}/login`)).response.text()).toBe('home')
  const { at, response } = await browser.go(`${siteUrl}/contacts`)
  expect(at).toBe(`${siteUrl}/contacts`)
  expect(await response.json()).toHaveLength(20)
  const logins = sandbox.requests.filter(({ path }) => path === '/api/oauth/authorize')
  expect(logins.map(({ query }) => query.scope)).toEqual(['conversations:read', 'conversations:read contacts:read'])
})

test('testing.md names the ids of the organizations, which no seed changes', async () => {
  const guide = await readFile(`${root}docs/testing.md`, 'utf8')
  const ids = new Set([...guide.matchAll(/`(org_[a-z-]+)`/g)].map(([, id = '']) => id))
  const { organizations } = createSandbox({ organizations: 8, conversations: 1, seed: 7 }).state
  expect(organizations.map(({ id }) => id)).toEqual([...ids, ...[...ids].map((id) => `${id}-2`)])
})

describe('sandbox.md', async () => {
  const guide = await readFile(`${root}docs/sandbox.md`, 'utf8')

  test('limits the rate of calls, and reports each request', async () => {
    await run('sandbox.md')
    expect(printed.filter((line) => line === 'GET /api/oauth/v1/me 200')).toHaveLength(2)
    expect(printed.filter((line) => line === 'GET /api/oauth/v1/me 429')).toHaveLength(1)
    expect(printed).toContainEqual(expect.stringMatching(/^The third call: RateLimitError/))
  })

  test('starts a service in a shell with the tokens that it names', async () => {
    const [, args = ''] = /^npx --no -- support-workspace-sdk (.+)$/m.exec(guide) ?? []
    const running = start([...args.split(' '), '--port', '0'])
    await running.printed('Ctrl+C')
    expect(running.output.stdout).toMatch(/actor=app +swot_app\n.*actor=self +swot_self\n/)
    running.interrupt()
    expect((await running.ended).code).toBe(0)
  })

  test('lists every option of the command line', async () => {
    const { lines } = await runCommand(['commands', '--json'])
    const sandbox = lines[0].commands.find(({ name }: { name: string }) => name === 'sandbox')
    const options: string[] = sandbox.options.map(({ flags }: { flags: string }) => flags.split(' ')[0])
    expect(options.length).toBeGreaterThan(15)
    expect(options.filter((flag) => !guide.includes(flag))).toEqual([])
  })

  test('lists every option in code, with the defaults of those that are only in code', () => {
    const names = [...Object.keys(optionShape), ...Object.keys(readSandboxOptions({}).app)]
    expect(names.length).toBeGreaterThan(25)
    expect(names.filter((name) => !new RegExp(`^\\|.*[\`. ]${name}\\b.*\\|$`, 'm').test(guide))).toEqual([])
    const defaults = new Map<string, unknown>(Object.entries(readSandboxOptions({})))
    const rows = [...guide.matchAll(/^\| (`.+`) \| .+ \| ([\d, ]+) \|$/gm)]
    const written = rows.flatMap(([, names = '', values = '']) => {
      const numbers = values.split(', ')
      return names.split(', ').map((name, index) => [name.replaceAll('`', ''), numbers[index]] as const)
    })
    expect(written).toHaveLength(7)
    for (const [name, value] of written) expect(value, name).toBe(Number(defaults.get(name)).toLocaleString('en'))
  })
})

test('browser-apps.md logs in from a page without a secret', async () => {
  const page = await run<{ startLogin(): Promise<void>; finishLogin(): Promise<SupportWorkspace> }>(
    'browser-apps.md',
    'page.ts',
  )
  const { exchange } = await run<{ exchange(request: Request): Promise<Response> }>('browser-apps.md', 'server.ts')
  const items = new Map<string, string>()
  const location = { href: siteUrl, assign: (href: string) => void Object.assign(location, { href }) }
  const replaceState = vi.fn()
  vi.stubGlobal('location', location)
  vi.stubGlobal('history', { replaceState })
  vi.stubGlobal('sessionStorage', {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
    removeItem: (name: string) => void items.delete(name),
  })
  await page.startLogin()
  location.href = await visit(location.href)
  const { fetch: platformFetch } = globalThis
  vi.stubGlobal('fetch', (url: string, init: RequestInit) =>
    url === '/exchange'
      ? exchange(new Request(siteUrl + url, { ...init, headers: { ...init.headers, origin: siteUrl } }))
      : platformFetch(url, init),
  )
  const workspace = await page.finishLogin()
  expect((await workspace.conversations.list({ limit: 1 })).data).toHaveLength(1)
  expect(items.size).toBe(0)
  expect(replaceState).toHaveBeenCalled()
  const foreign = new Request(`${siteUrl}/exchange`, { method: 'POST', headers: { origin: 'https://evil.example' } })
  expect((await exchange(foreign)).status).toBe(403)
})

test('logging.md logs a request, prints calls as JSON, counts them, prints errors without secrets, and records spans', async () => {
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  cleanUps.push(() => trace.disable())
  const lines: string[] = []
  vi.spyOn(console, 'debug').mockImplementation((line) => void lines.push(line))
  await run('logging.md')
  expect(lines).toEqual([
    expect.stringMatching(
      /^support-workspace-sdk: GET \/api\/oauth\/v1\/organization 200 in \d+ ms \(attempt 1, request id [\w-]+\)$/,
    ),
  ])
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual([
    'GET /api/oauth/v1/organization',
    'organization.get',
  ])
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ operation: 'organization.get', status: 200, attempts: 1 })
  expect(printed[1]).toBe('[object Object]')
  expect(JSON.parse(printed.at(-1) ?? '')).toMatchObject({ operation: 'organization.get' })
  const error = JSON.parse(printed.at(-2) ?? '')
  expect(error).toMatchObject({ name: 'NotFoundError', operation: 'contacts.get', outcome: 'refused' })
  const guide = await readFile(`${root}docs/logging.md`, 'utf8')
  const [, sentence = ''] = /^Errors serialize to plain objects: ([^.]+)\./m.exec(guide) ?? []
  expect([...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(Object.keys(error).sort())
})

test('logging.md has a program that prints its spans, in the trace of the app', async () => {
  cleanUps.push(
    () => trace.disable(),
    () => context.disable(),
  )
  const spans: { name: string; traceId: string }[] = []
  vi.spyOn(console, 'dir').mockImplementation((span) => void spans.push(span))
  await run('logging.md', 'tracing.ts')
  expect(spans.map(({ name }) => name)).toEqual(['GET /api/oauth/v1/organization', 'organization.get', 'nightly sync'])
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
})

test.each(['main.ts', 'global-proxy.ts'])('proxies.md sends the call of %s through the proxy', async (file) => {
  const proxy = await startProxy()
  cleanUps.push(() => proxy.close())
  vi.stubGlobal('proxyUrl', proxy.url)
  const { restore } = await run<{ restore?: () => void }>('proxies.md', file)
  if (restore !== undefined) cleanUps.push(restore)
  expect(printed).toEqual(['self'])
  expect(proxy.hosts).toEqual([new URL(sandbox.url).host])
})

test('proxies.md presents a client certificate that the service requires', async () => {
  const { url, close } = await startTlsServer(sandbox.url, { requestCert: true })
  const before = getGlobalDispatcher()
  cleanUps.push(close, () => setGlobalDispatcher(before))
  vi.stubGlobal('baseUrl', url)
  const files = { caFile: 'ca', certFile: 'client', keyFile: 'key' } as const
  for (const [name, file] of Object.entries(files)) vi.stubGlobal(name, certificatePath(file))
  await run('proxies.md', 'mutual-tls.ts')
  expect(printed).toEqual(['self'])
})

test('service-differs.md reports a response that does not match its schema, and returns it unchanged', async () => {
  const contact = { id: 'cnt_1', blocked: 'no', favorite_color: 'green' }
  sandbox.faults.add({ path: '/api/oauth/v1/contacts', status: 200, body: { data: [contact] } })
  await run('service-differs.md')
  expect(printed).toEqual(['contacts.list blocked: expected boolean, received string (1 times)', 'true'])
  expect(sandbox.requests.at(-2)?.query).toEqual({ limit: '10', source: 'widget' })
  expect(sandbox.requests.at(-1)?.body).toEqual({ email: 'ada@example.com', vip: true })
})

test('custom-operations.md calls an operation that it defines, and a path without a definition', async () => {
  await run('custom-operations.md')
  expect(printed.slice(0, -1)).toEqual(sandbox.state.contacts.map(({ id }) => id))
  expect(sandbox.requests.at(-1)?.path).toBe('/api/oauth/v1/organization')
})

test('every guide with examples is tested here, or in a file of its own', () => {
  const elsewhere = ['bullmq.md', 'probe.md', 'fault-tests.md', 'testing.md']
  expect([...tested, ...elsewhere].sort()).toEqual([...guides].sort())
})
