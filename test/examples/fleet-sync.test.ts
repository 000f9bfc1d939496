import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { LostLeaseError, openDatabase } from '../../examples/fleet-sync/database.ts'
import { startRedis } from '../../examples/fleet-sync/redis-server.ts'
import { syncConnection } from '../../examples/fleet-sync/sync-connection.ts'
import { SupportWorkspace } from '../../src/index.ts'
import { findRedis } from '../connections/helpers/redis-server.ts'
import {
  expectReplica,
  type Fleet,
  type FleetOptions,
  kill,
  listRequests,
  preloadSource,
  startFleet,
  statusOf,
  target,
  waitForStatus,
  waitUntil,
} from './helpers/fleet.ts'
import { findPostgres, type PostgresServer, startPostgres } from './helpers/postgres-server.ts'

const redis = findRedis()
const postgresBinaries = findPostgres()
const needs = [
  { name: 'redis-server', isFound: redis !== undefined, required: 'REQUIRE_REDIS', packages: 'redis-server' },
  { name: 'postgres', isFound: postgresBinaries !== undefined, required: 'REQUIRE_POSTGRES', packages: 'postgresql' },
]

for (const { name, isFound, required, packages } of needs) {
  const isRequired = process.env[required] === '1'
  test.runIf(isRequired)(`finds the ${name} that ${required} requires`, () => {
    expect(isFound, `${name} is not installed`).toBe(true)
  })
  if (!isFound && !isRequired) {
    console.warn(
      `Skipped tests of test/examples/fleet-sync.test.ts: ${name} is not installed. To run them: apt-get install ${packages}. To fail without it: ${required}=1.`,
    )
  }
}

describe.skipIf(redis === undefined).each([
  { name: 'SQLite', isPostgres: false },
  { name: 'Postgres', isPostgres: true },
])('fleet-sync on $name', { timeout: 180_000 }, ({ isPostgres }) => {
  const isMissing = isPostgres && postgresBinaries === undefined
  let postgres: PostgresServer | undefined
  beforeAll(async () => {
    if (isPostgres && postgresBinaries !== undefined) postgres = await startPostgres(postgresBinaries)
  })
  afterAll(async () => await postgres?.close())

  // Most of these tests wait for the lock of a killed worker to expire, so they run at the same time.
  const run = test.skipIf(isMissing).concurrent

  async function start({ onTestFinished }: TestContext, options: Partial<FleetOptions> = {}): Promise<Fleet> {
    const fleet = await startFleet({
      databaseUrl: await postgres?.createDatabase(),
      sandbox: { organizations: 1, conversations: 4, messagesPerConversation: 2 },
      ...options,
    })
    onTestFinished(fleet.close)
    return fleet
  }

  run('copies every item of every organization, and fetches no page twice', async (context) => {
    const fleet = await start(context, {
      sandbox: { organizations: 3, conversations: 60, messagesPerConversation: 2 },
    })
    const { sandbox, database, store } = fleet
    const keys = new Map<string, string>()
    for (const { id } of sandbox.state.organizations) {
      const { key } = await store.save(sandbox.issueToken({ organization: id }))
      keys.set(key, id)
    }
    await Promise.all([fleet.startWorker(), fleet.startWorker()])
    await fleet.schedule()
    for (const [key, organization] of keys) {
      await waitForStatus(database, key, { state: 'waiting', completeSweeps: 1, items: 180, sweepItems: 0 })
      await expectReplica(fleet, key, organization)
      const changes = await database.changes(key)
      expect(new Set(changes.map(({ change }) => change))).toEqual(new Set(['created']))
      expect(new Set(changes.map(({ kind, id }) => `${kind} ${id}`)).size).toBe(180)
      expect(changes.map(({ number }) => number)).toEqual(Array.from({ length: 180 }, (_, index) => index + 1))
      expect((await statusOf(database, key)).nextRunAt).toBeGreaterThan(Date.now())
    }
    // Two pages of conversations for each organization, and one page of messages for each conversation.
    expect(listRequests(sandbox)).toHaveLength(3 * (2 + 60))
  })

  run('reports what was created, updated, deleted and restored, each exactly once', async (context) => {
    const fleet = await start(context)
    const { sandbox, database } = fleet
    const key = await fleet.connect()
    const [conversation, hidden] = sandbox.state.conversations.map(({ id }) => id) as [string, string]
    const person = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }) })
    const send = () => person.messages.create(conversation, { body_html: '<p>Hello</p>' })
    const changesOf = async (wanted: string) =>
      (await database.changes(key)).filter(({ id }) => id === wanted).map(({ change, sweep }) => `${sweep} ${change}`)

    const edited = await send()
    const removed = await send()
    await fleet.startWorker()
    await fleet.sync(key)

    const added = await send()
    await person.messages.update(conversation, edited.id, { body_html: '<p>Hello again</p>' })
    await person.messages.delete(conversation, removed.id)
    const [vanishing] = sandbox.state.messages(hidden)
    // The messages of one conversation are missing from the next two sweeps.
    const empty = { data: [], page_metadata: { after: null, before: null } }
    sandbox.faults.add({ path: new RegExp(`${hidden}/messages$`), status: 200, body: empty, times: 2 })
    await fleet.sync(key)
    expect(await changesOf(removed.id)).toEqual(['1 created'])
    await fleet.sync(key)
    expect(await changesOf(removed.id)).toEqual(['1 created', '3 deleted'])
    expect(await changesOf(vanishing!.id)).toEqual(['1 created', '3 deleted'])
    await fleet.sync(key)
    await fleet.sync(key)

    expect(await changesOf(vanishing!.id)).toEqual(['1 created', '3 deleted', '4 restored'])
    expect(await changesOf(removed.id)).toEqual(['1 created', '3 deleted'])
    expect(await changesOf(edited.id)).toEqual(['1 created', '2 updated'])
    expect(await changesOf(added.id)).toEqual(['2 created'])
    expect(await changesOf(conversation)).toEqual(['1 created', '2 updated'])
    await expectReplica(fleet, key, sandbox.state.organization.id)
  })

  run('does not report an item as deleted that a single sweep missed', async (context) => {
    const fleet = await start(context)
    const { sandbox, database } = fleet
    const key = await fleet.connect()
    await fleet.startWorker()
    await fleet.sync(key)
    const [, ...others] = sandbox.state.conversations
    const shifted = { data: others, page_metadata: { after: null, before: null } }
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: shifted })
    await fleet.sync(key)
    await fleet.sync(key)
    expect(sandbox.faults.pending).toBe(0)
    expect((await database.changes(key)).filter(({ change }) => change !== 'created')).toEqual([])
    await expectReplica(fleet, key, sandbox.state.organization.id)
  })

  run('continues from the checkpoint when workers are killed in the middle of a sweep', async (context) => {
    const fleet = await start(context, {
      sandbox: { organizations: 1, conversations: 130, messagesPerConversation: 1 },
    })
    const { sandbox, database, queue } = fleet
    const key = await fleet.connect()
    // Two requests never get a response: one for the third page of conversations, one for messages.
    sandbox.faults.add({ path: /\/conversations$/, after: 2, latency: 600_000 })
    sandbox.faults.add({ path: /\/messages$/, after: 20, latency: 600_000 })
    const fetchedBefore = async (sweepItems: number, faultsLeft: number) => {
      await waitForStatus(database, key, { state: 'syncing', sweepItems })
      await waitUntil(() => expect(sandbox.faults.pending).toBe(faultsLeft))
      return new Set(listRequests(sandbox).filter(hasResponse).map(target))
    }

    const first = await fleet.startWorker()
    await fleet.add(key)
    const conversations = await fetchedBefore(100, 1)
    await kill(first)
    sandbox.clearRequests()

    const second = await fleet.startWorker()
    const messages = await fetchedBefore(150, 0)
    expect(messages.size).toBe(21)
    expect([...messages].filter((request) => conversations.has(request))).toEqual([])
    await kill(second)
    sandbox.clearRequests()

    await fleet.startWorker()
    await waitForStatus(database, key, { completeSweeps: 1 })
    const rest = listRequests(sandbox).map(target)
    expect(rest.filter((request, index) => messages.has(request) || rest.indexOf(request) < index)).toEqual([])
    expect(rest).toHaveLength(110)
    await expectReplica(fleet, key, sandbox.state.organization.id)
    expect(await database.changes(key)).toHaveLength(260)
    await waitUntil(async () => expect(await queue.getCompletedCount()).toBe(1))
    expect(await queue.getFailedCount()).toBe(0)
  })

  run('a worker that was paused cannot write after another has taken over', async (context) => {
    const fleet = await start(context)
    const { sandbox, database } = fleet
    const key = await fleet.connect()
    const paused = await fleet.startWorker()
    // The worker is paused while it waits for a response. It then finds the response when it runs again.
    sandbox.faults.add({ path: /\/messages$/, after: 1, latency: 1_000 })
    await fleet.add(key)
    await waitUntil(() => expect(listRequests(sandbox)).toHaveLength(3))
    paused.kill('SIGSTOP')
    const other = await fleet.startWorker()
    await waitForStatus(database, key, { completeSweeps: 1 })
    await kill(other)
    paused.kill('SIGCONT')

    // It drops its old sweep and can run the next one.
    await fleet.sync(key)
    await expectReplica(fleet, key, sandbox.state.organization.id)
    const changes = await database.changes(key)
    expect(changes.map(({ change, sweep }) => `${sweep} ${change}`)).toEqual(Array(12).fill('1 created'))
  })

  run('only the newest of two owners of a sweep can write', async (context) => {
    const { sandbox, database, store, connect } = await start(context)
    const key = await connect()
    const workspace = await store.workspace(key)
    const { signal } = new AbortController()
    const older = (await database.claim(key))!
    const newer = (await database.claim(key))!
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

  run('stores a long list that the service returns without pages, and deletes it', async (context) => {
    const fleet = await start(context, {
      sandbox: { organizations: 1, conversations: 1, messagesPerConversation: 9_000, pagination: 'conversations-only' },
    })
    const { sandbox, database, store } = fleet
    const key = await fleet.connect()
    const workspace = await store.workspace(key)
    const sweep = async () => {
      const claim = (await database.claim(key))!
      await syncConnection({ workspace, database, claim, signal: new AbortController().signal })
      await database.finishSweep(claim, undefined)
    }
    await sweep()
    await expectReplica(fleet, key, sandbox.state.organization.id)
    sandbox.faults.add({ path: /\/messages$/, status: 404, times: 2 })
    await sweep()
    await sweep()
    expect(await statusOf(database, key)).toMatchObject({ items: 1 })
    const changes = (await database.changes(key)).map(({ kind, change }) => `${change} ${kind}`)
    expect(changes.filter((change) => change === 'created message')).toHaveLength(9_000)
    expect(changes.slice(9_001)).toEqual(Array(9_000).fill('deleted message'))
  })

  run('starts a list over when the service rejects a saved cursor, and reports nothing as deleted', async (context) => {
    const fleet = await start(context)
    const { sandbox, database, store } = fleet
    const key = await fleet.connect()
    const workspace = await store.workspace(key)
    const { signal } = new AbortController()
    const [first] = sandbox.state.conversations.map(({ id }) => id).sort()
    const checkpoint = { cursor: 'expired', done: false }
    for (const position of [{ checkpoint }, { checkpoint }, { conversation: first!, checkpoint }]) {
      await database.savePage((await database.claim(key))!, [], position)
      const claim = (await database.claim(key))!
      await syncConnection({ workspace, database, claim, signal })
      await database.finishSweep(claim, undefined)
    }
    expect(sandbox.requests.filter(({ status }) => status === 400)).toHaveLength(3)
    expect((await database.changes(key)).filter(({ change }) => change !== 'created')).toEqual([])
    await expectReplica(fleet, key, sandbox.state.organization.id)
  })

  run('hands its sweep back when it is told to end, and another worker continues it', async (context) => {
    const fleet = await start(context)
    const { sandbox, database, queue } = fleet
    const key = await fleet.connect()
    sandbox.faults.add({ path: /\/messages$/, after: 2, latency: 600_000 })
    const first = await fleet.startWorker()
    await fleet.add(key)
    await waitForStatus(database, key, { sweepItems: 8 })
    await waitUntil(() => expect(sandbox.faults.pending).toBe(0))
    await kill(first, 'SIGTERM')
    expect(first.exitCode).toBe(0)
    expect(await statusOf(database, key)).toMatchObject({ state: 'waiting', sweepItems: 8 })
    expect(await queue.getWaitingCount()).toBe(1)
    sandbox.clearRequests()
    await fleet.startWorker()
    await waitForStatus(database, key, { completeSweeps: 1 })
    expect(listRequests(sandbox)).toHaveLength(2)
    await expectReplica(fleet, key, sandbox.state.organization.id)
  })

  run(
    'gives one notice for a revocation that several workers notice, and revives with a new login',
    async (context) => {
      const fleet = await start(context)
      const { sandbox, database, queue } = fleet
      const revokeAndRun = async () => {
        sandbox.revokeAll()
        // Without deduplication, so that all workers run a sweep of the connection at the same time.
        await queue.addBulk(Array.from({ length: 6 }, () => ({ name: 'sync', data: { key } })))
        await waitForStatus(database, key, { state: 'revoked' })
        const open = () => queue.getJobCountByTypes('waiting', 'active', 'delayed', 'prioritized')
        await waitUntil(async () => expect(await open()).toBe(0))
      }
      const key = await fleet.connect()
      await Promise.all([fleet.startWorker(), fleet.startWorker(), fleet.startWorker()])
      await fleet.sync(key)

      await revokeAndRun()
      const [notice, ...more] = await database.notices()
      expect(notice).toMatchObject({ key, organization: sandbox.state.organization.name })
      expect(more).toEqual([])
      expect((await statusOf(database, key)).problem).toMatch(/revoked/)

      await fleet.connect()
      await fleet.sync(key)
      expect(await statusOf(database, key)).toMatchObject({ state: 'waiting', completeSweeps: 2, problem: undefined })
      expect(await database.changes(key)).toHaveLength(12)
      await revokeAndRun()
      expect(await database.notices()).toHaveLength(2)
    },
  )

  run('delays a sweep by a long Retry-After without using up an attempt', async (context) => {
    const fleet = await start(context)
    const { sandbox, database, queue } = fleet
    const key = await fleet.connect()
    await fleet.startWorker()
    const startedAt = Date.now()
    sandbox.faults.add({ path: /\/messages$/, after: 1, status: 429, retryAfter: 6 })
    await fleet.add(key)
    await waitForStatus(database, key, { state: 'delayed', problem: expect.stringMatching(/rate/i) })
    const { nextRunAt } = await statusOf(database, key)
    expect(nextRunAt).toBeGreaterThanOrEqual(startedAt + 6_000)
    await waitUntil(async () =>
      expect(await queue.getDelayed()).toMatchObject([{ attemptsMade: 0, attemptsStarted: 1 }]),
    )
    await waitForStatus(database, key, { completeSweeps: 1, problem: undefined })
    expect(sandbox.requests.filter(({ fault }) => fault !== undefined)).toHaveLength(1)
    await expectReplica(fleet, key, sandbox.state.organization.id)
  })

  run('tries again when the service rejects a token only once', async (context) => {
    const fleet = await start(context)
    const { sandbox, database } = fleet
    const key = await fleet.connect()
    await fleet.startWorker()
    sandbox.faults.add({ path: /\/messages$/, status: 401, body: { error: 'invalid_token' } })
    await fleet.sync(key)
    expect(sandbox.requests.filter(({ status }) => status === 401)).toHaveLength(1)
    expect(await database.notices()).toEqual([])
    expect(await statusOf(database, key)).toMatchObject({ state: 'waiting', problem: undefined })
  })

  run('fails once, with a reason and without the token, when a scope is missing', async (context) => {
    const fleet = await start(context)
    const { sandbox, database, queue } = fleet
    const token = sandbox.issueToken({ scopes: ['conversations:read'] })
    const key = await fleet.connect(token)
    await fleet.startWorker()
    await fleet.add(key)
    await waitForStatus(database, key, { state: 'failed', problem: expect.stringContaining('messages:read') })
    await waitUntil(async () => expect(await queue.getFailedCount()).toBe(1))
    expect(sandbox.requests.filter(({ operation }) => operation === 'listMessages')).toHaveLength(1)
    const [job] = await queue.getFailed()
    expect(JSON.stringify([job, await database.status()])).not.toContain(token)
  })

  run('adds one note to each new conversation, also if a response is lost or the worker is killed', async (context) => {
    const fleet = await start(context, { addNotes: true })
    const { sandbox, database } = fleet
    const token = sandbox.issueToken({ actor: 'self' })
    const key = await fleet.connect(token)
    const person = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: token, actor: 'self' })
    const create = async (name: string) => {
      const body = { customer_email: `${name}@customer.example`, initial_message: 'Hello' }
      return (await person.conversations.create(body)).id
    }
    const first = await fleet.startWorker()
    await fleet.sync(key)
    const created = [await create('arrives'), await create('unanswered'), await create('lost'), await create('killed')]
    const [, unanswered, lost, killed] = created
    const write = { method: 'POST', times: 1 }
    sandbox.faults.add({ ...write, path: new RegExp(`${unanswered}/notes$`), drop: 'after-effect' })
    sandbox.faults.add({ ...write, path: new RegExp(`${lost}/notes$`), drop: 'before-effect' })
    sandbox.faults.add({ ...write, path: new RegExp(`${killed}/notes$`), latency: 600_000 })
    await fleet.add(key)
    await waitUntil(() => expect(sandbox.state.notes(killed!)).toHaveLength(1))
    await kill(first)
    await fleet.startWorker()
    await waitForStatus(database, key, { completeSweeps: 2 })

    for (const id of created) {
      expect(sandbox.state.notes(id).map(({ body_html }) => body_html)).toEqual(['<p>Copied to the archive.</p>'])
    }
    const sent = sandbox.requests.filter(({ operation }) => operation === 'createNote').map(({ path }) => path)
    expect(sent.filter((path) => path.includes(lost!))).toHaveLength(2)
    expect(sent).toHaveLength(5)
  })

  run('schedules connections once, and not those that were removed or revoked', async (context) => {
    const fleet = await start(context, { sandbox: { organizations: 3, conversations: 1 } })
    const { sandbox, database, queue, store } = fleet
    const tokens = sandbox.state.organizations.map(({ id }) => sandbox.issueToken({ organization: id }))
    const [kept, removed, revoked] = await Promise.all(tokens.map(async (token) => (await store.save(token)).key))
    await Promise.all([fleet.schedule(), fleet.schedule()])
    const schedulers = await queue.getJobSchedulers()
    expect(schedulers.map(({ key }) => key).sort()).toEqual([kept, removed, revoked].sort())
    await fleet.schedule()
    expect(await queue.getJobSchedulers()).toEqual(schedulers)
    expect(await queue.getJobCountByTypes('waiting', 'delayed')).toBe(3)

    await store.remove(removed!)
    sandbox.revoke(tokens[2]!)
    // A process that is killed after it noticed the revocation leaves only the mark in the store.
    await (await store.workspace(revoked!)).me().catch(() => {})
    await fleet.schedule()
    expect((await queue.getJobSchedulers()).map(({ key }) => key)).toEqual([kept])
    expect(await database.notices()).toMatchObject([{ key: revoked }])
    expect(await statusOf(database, kept!)).toMatchObject({ state: 'waiting' })
    expect(await statusOf(database, removed!)).toMatchObject({ state: 'revoked', problem: 'Disconnected in this app.' })

    await store.save(sandbox.issueToken({ organization: sandbox.state.organizations[1]!.id }))
    await fleet.schedule()
    expect(await statusOf(database, removed!)).toMatchObject({ state: 'waiting', problem: undefined })
    expect(await queue.getJobSchedulersCount()).toBe(2)
  })
})

test.skipIf(redis === undefined)(
  'npm run example:fleet-sync syncs 20 organizations until Ctrl-C',
  {
    timeout: 180_000,
  },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleet-start-'))
    const redisServer = await startRedis()
    const databaseUrl = join(folder, 'replica.sqlite')
    const { BASE_URL: _, ...environment } = process.env
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('../../examples/fleet-sync/start.ts', import.meta.url))],
      {
        env: { ...environment, ...preloadSource, REDIS_URL: redisServer.url, DATABASE_URL: databaseUrl, PORT: '0' },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const ended = once(child, 'exit')
    let printed = ''
    child.stdout.on('data', (piece: Buffer) => {
      printed += piece
    })
    await waitUntil(() => expect(printed).toContain('Ctrl-C'))
    const page = await fetch(/^Open (.*)$/m.exec(printed)?.[1] ?? '')
    expect(await page.text()).toContain('Fleet sync')
    const database = await openDatabase(databaseUrl)
    await waitUntil(async () => {
      const connections = await database.status()
      expect(connections).toHaveLength(20)
      expect(connections.some(({ completeSweeps }) => completeSweeps > 0)).toBe(true)
    })
    child.kill('SIGINT')
    expect(await ended).toEqual([0, null])
    await database.close()
    await redisServer.close()
    rmSync(folder, { recursive: true })
  },
)

function hasResponse({ status, fault }: { status: number | undefined; fault: string | undefined }): boolean {
  return status !== undefined && fault === undefined
}
