import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { DelayedError, type Job } from 'bullmq'
import { afterEach, expect, type TestContext, test, vi } from 'vitest'
import { actOnError } from '../../examples/fleet-sync/act-on-error.ts'
import { type FetchedItem, LostLeaseError, openDatabase } from '../../examples/fleet-sync/database.ts'
import { statusPage } from '../../examples/fleet-sync/page/status-page.ts'
import { syncConnection } from '../../examples/fleet-sync/sync-connection.ts'
import { addNotes, NoteInFlightError } from '../../examples/fleet-sync/write-once.ts'
import { SupportWorkspace } from '../../src/index.ts'
import { ConnectionStore } from '../../src/oauth.ts'
import { createSandbox, type SandboxOptions } from '../../src/sandbox.ts'
import { describeOnDatabases } from './helpers/databases.ts'
import { expectReplica, statusOf } from './helpers/fleet.ts'

const { signal } = new AbortController()
const start = { checkpoint: { cursor: null, done: false } }
/** NUL, and the first half of a surrogate pair. */
const unstorable = '\0\ud83d'

afterEach(() => void vi.useRealTimers())

describeOnDatabases('test/examples/fleet-sync-replica.test.ts', (createDatabase) => {
  /** Opens a database with one connection, whose sweeps run in this process. */
  async function createReplica({ onTestFinished }: TestContext, options: SandboxOptions = {}) {
    const sandbox = createSandbox({ conversations: 4, messagesPerConversation: 2, ...options })
    const database = await openDatabase(await createDatabase())
    onTestFinished(() => database.close())
    const key = 'key'
    await database.connect({ key, organization: 'Acme', connectedAt: 1 })
    const connect = <As extends 'app' | 'self'>(actor: As) =>
      new SupportWorkspace({
        baseUrl: sandbox.url,
        accessToken: sandbox.issueToken({ actor }),
        actor,
        fetch: sandbox.fetch,
        maxRetries: 0,
      })
    const workspace = connect('app')
    const claim = async () => (await database.claim(key))!
    return {
      sandbox,
      database,
      key,
      workspace,
      person: connect('self'),
      claim,
      /** Runs a sweep to its end. */
      sweep: async () => {
        const claimed = await claim()
        await syncConnection({ workspace, database, claim: claimed, signal })
        await database.finishSweep(claimed, undefined)
      },
      /** Stores items as the only page of a complete sweep. */
      sweepItems: async (items: FetchedItem[]) => {
        const claimed = await claim()
        await database.savePage(claimed, items, start)
        await database.finishSweep(claimed, undefined)
      },
      changesOf: async (wanted: string) =>
        (await database.changes(key))
          .filter(({ id }) => id === wanted)
          .map(({ change, sweep }) => `${sweep} ${change}`),
    }
  }

  test('reports what was created, updated, deleted and restored, each exactly once', async (context) => {
    let time = Date.now()
    const replica = await createReplica(context, { now: () => time })
    const { sandbox, key, person, sweep, changesOf } = replica
    const [conversation, hidden] = sandbox.state.conversations.map(({ id }) => id) as [string, string]
    const send = () => person.messages.create(conversation, { body_html: '<p>Hello</p>' })

    const edited = await send()
    const removed = await send()
    await sweep()

    time += 60_000
    const added = await send()
    await person.messages.update(conversation, edited.id, { body_html: '<p>Hello again</p>' })
    await person.messages.delete(conversation, removed.id)
    const [vanishing] = sandbox.state.messages(hidden)
    // The messages of one conversation are missing from the next two sweeps.
    const empty = { data: [], page_metadata: { after: null, before: null } }
    sandbox.faults.add({ path: new RegExp(`${hidden}/messages$`), status: 200, body: empty, times: 2 })
    await sweep()
    expect(await changesOf(removed.id)).toEqual(['1 created'])
    await sweep()
    expect(await changesOf(removed.id)).toEqual(['1 created', '3 deleted'])
    expect(await changesOf(vanishing!.id)).toEqual(['1 created', '3 deleted'])
    await sweep()
    await sweep()

    expect(await changesOf(vanishing!.id)).toEqual(['1 created', '3 deleted', '4 restored'])
    expect(await changesOf(removed.id)).toEqual(['1 created', '3 deleted'])
    expect(await changesOf(edited.id)).toEqual(['1 created', '2 updated'])
    expect(await changesOf(added.id)).toEqual(['2 created'])
    expect(await changesOf(conversation)).toEqual(['1 created', '2 updated'])
    await expectReplica(replica, key, sandbox.state.organization.id)
  })

  test('does not report an item as deleted that a single sweep missed', async (context) => {
    const replica = await createReplica(context)
    const { sandbox, database, key, sweep } = replica
    await sweep()
    const [, ...others] = sandbox.state.conversations
    const shifted = { data: others, page_metadata: { after: null, before: null } }
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: shifted })
    await sweep()
    await sweep()
    expect(sandbox.faults.pending).toBe(0)
    expect((await database.changes(key)).filter(({ change }) => change !== 'created')).toEqual([])
    await expectReplica(replica, key, sandbox.state.organization.id)
  })

  test('only the newest of two owners of a sweep can write', async (context) => {
    const { sandbox, database, key, workspace, claim } = await createReplica(context)
    const older = await claim()
    const newer = await claim()
    await expect(syncConnection({ workspace, database, claim: older, signal })).rejects.toBeInstanceOf(LostLeaseError)
    await expect(database.finishSweep(older, undefined)).rejects.toBeInstanceOf(LostLeaseError)
    await expect(database.startNote(older, 'any')).rejects.toBeInstanceOf(LostLeaseError)
    await database.interrupt(older, 'failed', { problem: 'any' })
    expect(await statusOf(database, key)).toMatchObject({ state: 'syncing', completeSweeps: 0, items: 0 })
    expect(await database.changes(key)).toEqual([])
    await syncConnection({ workspace, database, claim: newer, signal })
    await database.finishSweep(newer, undefined)
    expect(await statusOf(database, key)).toMatchObject({ completeSweeps: 1, items: 12 })
    expect(sandbox.state.writes).toEqual([])
  })

  test('stores a long list that the service returns without pages, and deletes it', async (context) => {
    const replica = await createReplica(context, {
      conversations: 1,
      messagesPerConversation: 9_000,
      pagination: 'conversations-only',
    })
    const { sandbox, database, key, sweep } = replica
    await sweep()
    await expectReplica(replica, key, sandbox.state.organization.id)
    sandbox.faults.add({ path: /\/messages$/, status: 404, times: 2 })
    await sweep()
    await sweep()
    expect(await statusOf(database, key)).toMatchObject({ items: 1 })
    const changes = (await database.changes(key)).map(({ kind, change }) => `${change} ${kind}`)
    expect(changes.filter((change) => change === 'created message')).toHaveLength(9_000)
    expect(changes.slice(9_001)).toEqual(Array(9_000).fill('deleted message'))
  })

  test('starts a list over when the service rejects a saved cursor, and reports nothing as deleted', async (context) => {
    const replica = await createReplica(context)
    const { sandbox, database, key, claim, sweep } = replica
    const [first] = sandbox.state.conversations.map(({ id }) => id).sort()
    const checkpoint = { cursor: 'expired', done: false }
    for (const position of [{ checkpoint }, { checkpoint }, { conversation: first!, checkpoint }]) {
      await database.savePage(await claim(), [], position)
      await sweep()
    }
    expect(sandbox.requests.filter(({ status }) => status === 400)).toHaveLength(3)
    expect((await database.changes(key)).filter(({ change }) => change !== 'created')).toEqual([])
    await expectReplica(replica, key, sandbox.state.organization.id)
  })

  test('needs a note for each conversation that a later sweep creates, until the note was sent', async (context) => {
    const { database, key, claim, sweepItems } = await createReplica(context)
    const [old, recent]: FetchedItem[] = ['old', 'new'].map((id) => ({ kind: 'conversation', id, data: { id } }))
    await sweepItems([old!])
    await sweepItems([old!, recent!])
    expect(await database.missingNotes(key)).toEqual([{ conversation: 'new', startedAt: undefined }])
    await database.startNote(await claim(), 'new')
    expect(await database.missingNotes(key)).toEqual([{ conversation: 'new', startedAt: expect.any(Number) }])
    await database.finishNote(key, 'new')
    expect(await database.missingNotes(key)).toEqual([])
  })

  /** Creates a replica with a new conversation. Stops the first worker that has recorded its note, and continues it later. */
  async function stopBeforeNote(
    context: TestContext,
    stoppedFor: number,
    meanwhile: (add: () => Promise<void>) => unknown,
  ) {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { sandbox, database, person, claim, sweep } = await createReplica(context)
    await sweep()
    const body = { customer_email: 'new@customer.example', initial_message: 'Hello' }
    const { id } = await person.conversations.create(body)
    await sweep()
    const add = async () => addNotes({ workspace: person, database, claim: await claim(), signal })
    const { startNote } = database
    vi.spyOn(database, 'startNote').mockImplementationOnce(async (...values) => {
      await startNote.apply(database, values)
      vi.setSystemTime(Date.now() + stoppedFor)
      await meanwhile(add)
    })
    const createNote = vi.spyOn(person.notes, 'create')
    return { add, createNote, notes: () => sandbox.state.notes(id).map(({ body_html }) => body_html) }
  }

  test('adds a note once when another worker takes over before it is sent', async (context) => {
    const { add, createNote, notes } = await stopBeforeNote(context, 5_000, (addByAnother) => addByAnother())
    await expect(add()).rejects.toBeInstanceOf(NoteInFlightError)
    await add()
    expect(notes()).toEqual(['<p>Copied to the archive.</p>'])
    expect(createNote).toHaveBeenCalledOnce()
  })

  test('sends a note only in the time that is left after it was recorded', async (context) => {
    const { add, createNote, notes } = await stopBeforeNote(context, 2_000, async (addByAnother) => {
      await expect(addByAnother()).rejects.toBeInstanceOf(NoteInFlightError)
    })
    await add()
    expect(notes()).toEqual(['<p>Copied to the archive.</p>'])
    expect(createNote.mock.calls).toEqual([[expect.any(String), expect.any(Object), { totalTimeout: 3_000, signal }]])
  })

  test('gives one notice for a revocation that several jobs notice at the same time', async (context) => {
    const { database, key } = await createReplica(context)
    const revoke = (connectedAt: number) => Promise.all([1, 2, 3].map(() => database.revoke(key, connectedAt)))
    await revoke(1)
    expect(await database.notices()).toEqual([{ key, connectedAt: 1, organization: 'Acme' }])
    await database.connect({ key, organization: 'Acme', connectedAt: 2 })
    await revoke(1)
    expect(await statusOf(database, key)).toMatchObject({ state: 'waiting', problem: undefined })
    await revoke(2)
    expect(await database.notices()).toHaveLength(2)
  })

  /** Fails a sweep with this response, and returns when the job continues. */
  async function failSweep(context: TestContext, response: { status: number; retryAfter?: number | string }) {
    const { sandbox, database, key, workspace, claim } = await createReplica(context)
    sandbox.faults.add({ path: /\/conversations$/, ...response })
    const claimed = await claim()
    const error = await syncConnection({ workspace, database, claim: claimed, signal }).catch((thrown) => thrown)
    const moveToDelayed = vi.fn()
    const job = { attemptsStarted: 1, moveToDelayed } as unknown as Job
    const store = new ConnectionStore({ baseUrl: sandbox.url })
    const failed = { job, token: 'lock', claim: claimed, database, store, signal }
    await expect(actOnError(error, failed)).rejects.toBeInstanceOf(DelayedError)
    const status = await statusOf(database, key)
    expect(status).toMatchObject({ state: 'delayed', problem: error.message })
    expect(moveToDelayed.mock.calls).toEqual([[status.nextRunAt, 'lock']])
    return { status, delay: status.nextRunAt! - Date.now() }
  }

  test.for([9_007_199_254_740, 'Fri, 31 Dec 9999 23:59:59 GMT', 7_200])(
    'waits at most an hour after a Retry-After of %s',
    async (retryAfter, context) => {
      vi.useFakeTimers({ toFake: ['Date'] })
      const { status, delay } = await failSweep(context, { status: 429, retryAfter })
      expect(delay).toBe(3_600_000)
      expect(String(await statusPage({ connections: [status], now: Date.now() }))).toContain('in 1h')
    },
  )

  test('waits with a backoff after a failure without Retry-After', async (context) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { delay } = await failSweep(context, { status: 503 })
    expect(delay).toBeGreaterThanOrEqual(1_000)
    expect(delay).toBeLessThanOrEqual(2_000)
  })

  test.for([2 ** 53, 1e300, Number.POSITIVE_INFINITY, 1.5])(
    'stores that a connection is due at %s',
    async (at, context) => {
      const { database, key, claim } = await createReplica(context)
      await database.finishSweep(await claim(), at)
      expect((await statusOf(database, key)).nextRunAt).toBe(Math.min(Math.trunc(at), Number.MAX_SAFE_INTEGER))
    },
  )

  test('replaces characters that a database cannot store, and reports the items once', async (context) => {
    const { database, key, claim, sweepItems } = await createReplica(context)
    await database.connect({ key, organization: `Acme${unstorable}`, connectedAt: 2 })
    const hostile = ['a', 'b'].map((name): FetchedItem => {
      const id = `${name}${unstorable}`
      return {
        kind: 'message',
        id,
        conversation: id,
        data: { id, [`field${unstorable}`]: [unstorable, '\\u0000', '😀'] },
      }
    })
    for (let sweep = 0; sweep < 3; sweep += 1) await sweepItems(hostile)
    await database.interrupt(await claim(), 'failed', { problem: `No${unstorable}` })

    expect(await statusOf(database, key)).toMatchObject({ organization: 'Acme��', items: 2, problem: 'No��' })
    const changes = (await database.changes(key)).map(({ id, change, sweep }) => `${sweep} ${change} ${id}`)
    expect(changes).toEqual(['1 created a��', '1 created b��'])
    const [stored] = await database.items(key)
    expect(stored).toMatchObject({
      id: 'a��',
      conversation: 'a��',
      data: { id: 'a��', 'field��': ['��', '\\u0000', '😀'] },
    })
    await database.revoke(key, 2)
    expect(await database.notices()).toMatchObject([{ organization: 'Acme��' }])
  })

  test.for<[string, unknown]>([
    ['a number as its id', { id: 5 }],
    ['no id', {}],
    ['an empty id', { id: '' }],
    ['the id "."', { id: '.' }],
    ['the id ".."', { id: '..' }],
    ['an id of 201 characters', { id: 'x'.repeat(201) }],
    ['an id of 9,000 random characters', { id: randomBytes(4_500).toString('hex') }],
    ['null in its place', null],
  ])('skips an item with %s, says so, and syncs the others', async ([, bad], context) => {
    const replica = await createReplica(context)
    const { sandbox, database, key, sweep } = replica
    const addBad = (path: RegExp, data: readonly object[]) => {
      const body = { data: [...data, bad], page_metadata: { after: null, before: null } }
      sandbox.faults.add({ path, status: 200, body, times: 3 })
    }
    const { conversations } = sandbox.state
    addBad(/\/conversations$/, conversations)
    addBad(new RegExp(`${conversations[0]!.id}/messages$`), sandbox.state.messages(conversations[0]!.id))
    for (let sweeps = 1; sweeps <= 3; sweeps += 1) {
      await sweep()
      const problem = expect.stringMatching(/^Skipped items without a usable id/)
      expect(await statusOf(database, key)).toMatchObject({ completeSweeps: sweeps, items: 12, problem })
    }
    expect(sandbox.faults.pending).toBe(0)
    await expectReplica(replica, key, sandbox.state.organization.id)
    expect((await database.changes(key)).map(({ change }) => change)).toEqual(Array(12).fill('created'))
    await sweep()
    expect(await statusOf(database, key)).toMatchObject({ items: 12, problem: undefined })
  })

  test('stores an item with an id of 200 characters that need the most bytes', async (context) => {
    const { sandbox, database, key, sweep } = await createReplica(context, { conversations: 1 })
    const id = Array.from({ length: 200 }, (_, index) => String.fromCharCode(0x4e00 + 37 * index)).join('')
    const body = { data: [{ id }], page_metadata: { after: null, before: null } }
    sandbox.faults.add({ path: /\/messages$/, status: 200, body })
    await sweep()
    expect((await database.items(key)).map((item) => item.id)).toContain(id)
    expect(await statusOf(database, key)).toMatchObject({ completeSweeps: 1, problem: undefined })
  })

  test('replaces what is nested more than 100 levels deep, and stores the rest', async (context) => {
    const { sandbox, database, key, sweep, changesOf } = await createReplica(context, { conversations: 1 })
    const nested = (levels: number): unknown[] => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
    const data = [
      { id: 'deepest', meta: nested(99) },
      { id: 'too deep', meta: nested(3_000), name: 'kept' },
    ]
    sandbox.faults.add({
      path: /\/messages$/,
      status: 200,
      body: { data, page_metadata: { after: null, before: null } },
      times: 3,
    })
    for (let sweeps = 0; sweeps < 3; sweeps += 1) await sweep()
    const [, deepest, tooDeep] = await database.items(key)
    expect(deepest?.data).toEqual(data[0])
    const meta = JSON.stringify(nested(99)).replace('[]', '["\ufffd"]')
    expect(tooDeep?.data).toEqual({ id: 'too deep', meta: JSON.parse(meta), name: 'kept' })
    expect(await changesOf('too deep')).toEqual(['1 created'])
  })

  test('continues a sweep whose conversations have ids that a database cannot store', async (context) => {
    const { sandbox, database, key, sweep, changesOf } = await createReplica(context)
    const [conversation, ...others] = sandbox.state.conversations
    const list = [{ ...conversation, id: `a${unstorable}` }, ...others]
    const body = { data: list, page_metadata: { after: null, before: null } }
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body, times: 2 })
    await sweep()
    await sweep()
    expect(await changesOf('a��')).toEqual(['1 created'])
    expect(await statusOf(database, key)).toMatchObject({ completeSweeps: 2, items: 10 })
  })
})

/** Opens a new SQLite database with one connection. */
async function openSqliteFile({ onTestFinished }: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'))
  const url = join(folder, 'replica.sqlite')
  const database = await openDatabase(url)
  onTestFinished(async () => {
    await database.close()
    rmSync(folder, { recursive: true })
  })
  await database.connect({ key: 'key', organization: 'Acme', connectedAt: 1 })
  return { folder, url, database }
}

test.skipIf(process.platform === 'win32')('keeps a new SQLite database from other users', async (context) => {
  const { folder, url } = await openSqliteFile(context)
  const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777])
  const names = ['replica.sqlite', 'replica.sqlite-shm', 'replica.sqlite-wal']
  expect(modes.sort()).toEqual(names.map((name) => [name, 0o600]))
  chmodSync(url, 0o640)
  await (await openDatabase(url)).close()
  expect(statSync(url).mode & 0o777).toBe(0o640)
})

test('says that a SQLite database cannot be created', async () => {
  await expect(openDatabase('/nowhere/replica.sqlite')).rejects.toThrow('unable to open database file')
})

test('reads a SQLite database with an integer that JavaScript cannot represent', async (context) => {
  const { url, database } = await openSqliteFile(context)
  const file = new DatabaseSync(url)
  file.exec(`UPDATE connections SET next_run_at = ${2n ** 62n}`)
  file.close()
  expect(await database.status()).toMatchObject([{ nextRunAt: 2 ** 62 }])
})
