import { type ChildProcess, execFile, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { describe, expect, type TestContext, test, vi } from 'vitest'
import { openConnections } from '../../examples/fleet-sync/connections.ts'
import { openDatabase } from '../../examples/fleet-sync/open-database.ts'
import { countFailure, erase } from '../../examples/fleet-sync/organizations.ts'
import { connectToRedis, openQueue } from '../../examples/fleet-sync/queue.ts'
import { mirrorOne, prune, reconcile, runScheduler, schedule } from '../../examples/fleet-sync/scheduler.ts'
import { readSettings } from '../../examples/fleet-sync/settings.ts'
import { createSite } from '../../examples/fleet-sync/site.ts'
import type { Database, OrganizationTable } from '../../examples/fleet-sync/tables.ts'
import { type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { describeOnDatabases } from './helpers/databases.ts'
import { FleetProcess } from './helpers/fleet-process.ts'
import { startRedis } from './helpers/redis-server.ts'
import { changesOf, expectReplica, organizationOf, pagesRead } from './helpers/replica.ts'
import { type SilentProxy, startProxy } from './helpers/silent-proxy.ts'

const day = 86_400_000

/** Everything of the example but its worker processes and the loop of its scheduler. */
async function startFleet(context: TestContext, databaseUrl: string, options: SandboxOptions = {}, more = {}) {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {})
  const redisServer = await startRedis()
  const small = { conversations: 3, messagesPerConversation: 2, contacts: 1, members: 1 }
  const sandbox = await startSandbox({ ...small, ...options })
  const environment = {
    BASE_URL: sandbox.url,
    REDIS_URL: redisServer.url,
    DATABASE_URL: databaseUrl,
    STORE_SECRET: 'a secret of this app, 32 characters or more',
    SYNC_INTERVAL: '3600',
    ...more,
  }
  const settings = readSettings(environment)
  const opened = await openDatabase(databaseUrl)
  const { database, close } = opened
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const store = await openConnections(settings, opened)
  const workers: ChildProcess[] = []
  const printed: string[] = []
  context.onTestFinished(async () => {
    log.mockRestore()
    for (const worker of workers) await end(worker, 'SIGKILL')
    await queue.close()
    redis.disconnect()
    await close()
    await sandbox.close()
    await redisServer.close()
  })
  const connect = async (organization = sandbox.state.organization.id) => {
    const { key } = await store.save(sandbox.issueToken({ organization }))
    await mirrorOne(database, store, key)
    return key
  }
  const parts = { database, store, queue, retention: 30 * day, interval: settings.interval }
  const fileOf = (name: string) => fileURLToPath(new URL(`../../examples/fleet-sync/${name}`, import.meta.url))
  const preload = new URL('../../scripts/from-source.js', import.meta.url).href
  const env = { ...process.env, ...environment, NODE_OPTIONS: `--import=${preload}` }
  return {
    ...parts,
    parts,
    environment,
    settings,
    sandbox,
    redisServer,
    /** What the workers have printed. */
    printed,
    events: () => log.mock.calls.map(([line]) => JSON.parse(String(line)).event as string),
    connect,
    /** Returns the keys, as many as there are organizations. */
    connectAll: async () => {
      const keys: string[] = []
      for (const { id } of sandbox.state.organizations) keys.push(await connect(id))
      return keys as [string, string, string, string]
    },
    update: (key: string, change: Partial<OrganizationTable>) =>
      database.updateTable('organizations').set(change).where('key', '=', key).execute(),
    schedule: () => schedule(parts),
    reconcile: () => reconcile(parts),
    prune: (retention: number, on: Database = database) => prune({ ...parts, database: on, retention }),
    /** `ahead` is by how much its clock is wrong, in milliseconds. */
    startWorker: async (ahead = 0, more = {}) => {
      const shift = `const { now } = Date; Date.now = () => now() + ${ahead}`
      const execArgv = [`--import=data:text/javascript,${encodeURIComponent(shift)}`]
      const worker = fork(fileOf('worker.ts'), { env: { ...env, ...more }, execArgv, silent: true })
      workers.push(worker)
      worker.stderr?.on('data', (text) => printed.push(String(text)))
      await Promise.race([once(worker, 'message'), once(worker, 'exit')])
      return worker
    },
    /** Runs `npm run manage`. Rejects with what it prints if it fails. */
    manage: async (...words: string[]) => {
      await promisify(execFile)(process.execPath, [fileOf('manage.ts'), ...words], { env })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

async function end(worker: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const ended = once(worker, 'exit')
  worker.kill(signal)
  await ended
}

async function waitUntil(assertion: () => Promise<void>): Promise<void> {
  await vi.waitFor(assertion, { timeout: 50_000, interval: 50 })
}

describeOnDatabases((createDatabase) => {
  const start = async (context: TestContext, options?: SandboxOptions, more?: object) =>
    startFleet(context, await createDatabase(), options, more)

  test('adds one job for each organization that is due, first syncs first', async (context) => {
    const { queue, connectAll, update, schedule } = await start(context, { organizations: 4 })
    const [known, paused, later, first] = await connectAll()
    await update(known, { passes: 3 })
    await update(paused, { paused: 1 })
    await update(later, { due_at: Date.now() + 3_600_000 })
    const both = await Promise.all([schedule(), schedule()])
    expect(both[0].added + both[1].added).toBe(2)
    const jobs = await queue.getPrioritized()
    expect(jobs.map(({ data }) => data.key)).toEqual([first, known])
    expect(await schedule()).toEqual({ added: 0, lost: 0 })
  })

  test('schedules the others while a stopped worker holds the lock of a row', async (context) => {
    const { settings, connectAll, schedule } = await start(context, { organizations: 3 })
    // SQLite locks the whole file.
    if (!settings.databaseUrl.startsWith('postgres')) return context.skip()
    const [key] = await connectAll()
    const stopped = new pg.Client(settings.databaseUrl)
    await stopped.connect()
    context.onTestFinished(() => stopped.end())
    await stopped.query('BEGIN')
    await stopped.query('UPDATE organizations SET lease = lease + 1 WHERE key = $1', [key])
    expect(await schedule()).toEqual({ added: 2, lost: 0 })
    await stopped.query('COMMIT')
    expect(await schedule()).toEqual({ added: 1, lost: 0 })
  })

  test('does not wait for times that a clock has written which was wrong', async (context) => {
    const { database, queue, interval, connectAll, update, schedule } = await start(context, { organizations: 4 })
    const [due, queued, own, soon] = await connectAll()
    const longest = 3_600_000
    await update(due, { due_at: Date.now() + interval + longest + 60_000 })
    await update(queued, { queued_at: Date.now() + day })
    await update(own, { interval: 1_000, due_at: Date.now() + longest + 60_000 })
    await update(soon, { due_at: Date.now() + longest, completed_at: Date.now() + day })
    // The job of the second is in no Redis.
    expect(await schedule()).toEqual({ added: 3, lost: 1 })
    const site = createSite({ database, queue, interval, host: '127.0.0.1', failures: () => 7 })
    const metrics = await (await site.request('http://127.0.0.1/metrics')).text()
    expect(metrics).toContain('fleet_attention 1')
  })

  test('adds jobs again that a Redis has lost, and says so', async (context) => {
    const { queue, redisServer, connect, update, schedule, events } = await start(context)
    const key = await connect()
    await schedule()
    await update(key, { queued_at: Date.now() - day })
    expect(await schedule()).toEqual({ added: 0, lost: 0 })
    await redisServer.crash(0)
    await update(key, { queued_at: Date.now() - day })
    expect(await schedule()).toEqual({ added: 1, lost: 1 })
    expect(await queue.getPrioritizedCount()).toBe(1)
    expect(events()).toContain('jobs lost')
  })

  test('makes the rows say what the store says: new logins, revocations, lost tokens and lost rows', async (context) => {
    const { sandbox, database, store, connect, reconcile } = await start(context, { organizations: 4 })
    const [kept, lost, removed, revoked] = sandbox.state.organizations.map(({ id }) => id)
    const keys = { kept: await connect(kept), lost: await connect(lost), removed: await connect(removed) }
    const token = sandbox.issueToken({ organization: revoked! })
    const { key } = await store.save(token)
    await mirrorOne(database, store, key)
    expect(await reconcile()).toBe(0)
    await erase(database, keys.lost)
    await store.remove(keys.removed)
    sandbox.revoke(token)
    // A process that is killed after it noticed the revocation leaves only the mark in the store.
    await (await store.workspace(key)).me().catch(() => {})
    expect(await reconcile()).toBe(3)
    expect(await reconcile()).toBe(0)
    expect(await organizationOf(database, keys.kept)).toMatchObject({ ended: null })
    expect(await organizationOf(database, keys.lost)).toMatchObject({ ended: null, passes: 0 })
    expect(await organizationOf(database, keys.removed)).toMatchObject({ ended: 'no token' })
    expect(await organizationOf(database, key)).toMatchObject({ ended: 'revoked' })
    expect(await database.selectFrom('notices').select('key').execute()).toEqual([{ key }])
    await store.save(sandbox.issueToken({ organization: removed! }))
    await store.save(sandbox.issueToken({ organization: revoked! }))
    expect(await reconcile()).toBe(2)
    expect(await organizationOf(database, keys.removed)).toMatchObject({ ended: null })
    expect(await organizationOf(database, key)).toMatchObject({ ended: null })
  })

  test('stops many organizations without a token only if it misses their tokens twice', async (context) => {
    const { database, store, connectAll } = await start(context, { organizations: 8 })
    const keys: readonly string[] = await connectAll()
    for (const key of keys.slice(1)) await store.remove(key)
    const ended = database.selectFrom('organizations').select('key').where('ended', 'is not', null)
    const doubtful = new Set<string>()
    expect(await reconcile({ database, store }, doubtful)).toBe(0)
    expect(doubtful).toEqual(new Set(keys.slice(1)))
    expect(await ended.execute()).toEqual([])
    expect(await reconcile({ database, store }, doubtful)).toBe(7)
    expect(doubtful.size).toBe(0)
    expect(await ended.execute()).toHaveLength(7)
  })

  test('erases an organization that has left for long enough, with its token, and old changes', async (context) => {
    const { database, store, connectAll, update, prune, reconcile } = await start(context, { organizations: 2 })
    const [kept, key] = await connectAll()
    const change = { kind: 'message', id: 'any', change: 'created', number: 1 } as const
    await database
      .insertInto('changes')
      .values([
        { key: kept, ...change, at: 1 },
        { key, ...change, at: Date.now() },
      ])
      .execute()
    await update(key, { ended: 'no token', ended_at: 1 })
    await prune(2 * Date.now())
    expect(await changesOf(database, undefined, key)).toHaveLength(1)
    await prune(day)
    expect(await database.selectFrom('organizations').select('key').execute()).toEqual([{ key: kept }])
    expect(await database.selectFrom('changes').selectAll().execute()).toEqual([])
    expect(await store.get(key)).toBeUndefined()
    expect(await reconcile()).toBe(0)
  })

  test('erases in small steps what the service has deleted long ago, and so many changes', async (context) => {
    const { database, store, connect, prune } = await start(context)
    const key = await connect()
    const item = { key, list: '', hash: '', data: '{}', failures: 0, place: 0 } as const
    const conversation = { ...item, kind: 'conversation' } as const
    const message = { ...item, kind: 'message', list: 'old' } as const
    await database
      .insertInto('items')
      .values([
        { ...conversation, id: 'kept', stale: 0 },
        { ...conversation, id: 'old', stale: 0, deleted_at: 1 },
        { ...conversation, id: 'new', stale: 0, deleted_at: Date.now() },
        { ...conversation, id: 'stale', stale: 1, deleted_at: 1 },
        { ...message, id: 'of old', stale: 0, deleted_at: 1 },
      ])
      .execute()
    for (let first = 1; first <= 2_500; first += 500) {
      const numbers = Array.from({ length: 500 }, (_, index) => first + index)
      const rows = numbers.map(
        (number) => ({ key, number, kind: 'message', id: 'any', change: 'created', at: 1 }) as const,
      )
      await database.insertInto('changes').values(rows).execute()
    }
    const deleted: number[] = []
    const watched = database.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        deleted.push(Number(result.numAffectedRows ?? 0))
        return result
      },
    })
    await prune(day, watched)
    expect(await changesOf(database, undefined, key)).toEqual([])
    const ids = await database.selectFrom('items').select('id').orderBy('id').execute()
    expect(ids.map(({ id }) => id)).toEqual(['kept', 'new', 'stale'])
    expect(Math.max(...deleted)).toBe(1_000)
    expect(await store.get(key)).toBeDefined()
  })

  test('shows what is late first, names what is skipped, and counts for Prometheus', async (context) => {
    const { database, queue, interval, connectAll, update } = await start(context, { organizations: 4 })
    const [ok, never, gone, skipping] = await connectAll()
    const now = Date.now()
    await update(ok, { name: 'Fine & well', completed_at: now, passes: 5, requests: 100, refused: 3 })
    await update(never, { name: 'Never', added_at: now - 3 * interval })
    await update(gone, { name: '<b>Gone</b>', completed_at: now, ended: 'no token' })
    await update(skipping, { name: 'Skipping', completed_at: now, problem: 'Skipped the messages of conversation 7' })
    const item = { kind: 'conversation', list: '', hash: '', data: '{}', stale: 1, failures: 1, place: 0 } as const
    await database
      .insertInto('items')
      .values({ key: skipping, id: '7', ...item, problem: 'It fails.' })
      .execute()
    await database.insertInto('failures').values({ remedy: 'retry', count: 2 }).execute()
    const site = createSite({ database, queue, interval, host: '127.0.0.1', failures: () => 7 })
    const get = async (path: string, init?: RequestInit) => site.request(`http://127.0.0.1${path}`, init)
    const page = await (await get('/')).text()
    expect(page).toContain('Needs attention: 3')
    expect(page).toContain('&lt;b&gt;Gone&lt;/b&gt;')
    const order = ['Never', '&lt;b&gt;Gone', 'Skipping', 'Fine &amp; well'].map((name) => page.indexOf(name))
    expect(order[0]).toBeLessThan(Math.min(...order.slice(1)))
    expect(order[3]).toBe(Math.max(...order))
    const lines = (await (await get('/metrics')).text()).split('\n')
    for (const line of [
      'fleet_organizations{state="ok"} 2',
      'fleet_organizations{state="late"} 1',
      'fleet_organizations{state="no token"} 1',
      'fleet_attention 3',
      'fleet_passes_total 5',
      'fleet_requests_total 100',
      'fleet_refused_requests_total 3',
      'fleet_skipped_conversations 1',
      'fleet_failures_total{remedy="retry"} 2',
      'fleet_jobs{state="active"} 0',
      'fleet_database_up 1',
      'fleet_scheduler_failures_total 7',
    ]) {
      expect(lines).toContain(line)
    }
    const lag = lines.find((line) => line.startsWith('fleet_lag_seconds{quantile="1"}'))
    expect(Number(lag?.split(' ').at(-1))).toBeGreaterThanOrEqual((3 * interval) / 1_000)
    // What is imported into Prometheus and Grafana names no other metric.
    const provided = new Set(lines.map((line) => /^# TYPE (\w+)/.exec(line)?.[1]))
    for (const file of ['alerts.yml', 'dashboard.json']) {
      const text = readFileSync(new URL(`../../examples/fleet-sync/${file}`, import.meta.url), 'utf8')
      const used = new Set(text.match(/\bfleet_\w+/g))
      expect(used.size).toBeGreaterThan(4)
      expect([...used].filter((name) => !provided.has(name))).toEqual([])
    }
    for (const [host, status] of [
      ['attacker.example', 403],
      ['10.0.0.5:3000', 200],
      ['[::1]:3000', 200],
      ['fleet', 403],
    ] as const) {
      expect((await site.request(`http://${host}/`)).status, host).toBe(status)
      expect((await site.request(`http://${host}/health`)).status, host).toBe(200)
    }
    const named = createSite({ database, queue, interval, host: 'fleet', failures: () => 0 })
    expect((await named.request('http://fleet/')).status).toBe(200)
  })

  test('counts what erased organizations had counted', async (context) => {
    const { database, queue, interval, connectAll, update } = await start(context, { organizations: 3 })
    const keys: readonly string[] = await connectAll()
    for (const [index, key] of keys.entries()) {
      await update(key, { passes: 5 + index, requests: 100, refused: 3 })
      await countFailure(database, 'retry')
    }
    const site = createSite({ database, queue, interval, host: '127.0.0.1', failures: () => 0 })
    const counters = async () => {
      const text = await (await site.request('http://127.0.0.1/metrics')).text()
      return text.split('\n').filter((line) => /^fleet_\w+_total/.test(line))
    }
    const before = await counters()
    expect(before).toContain('fleet_passes_total 18')
    expect(before).toContain('fleet_failures_total{remedy="retry"} 3')
    for (const key of keys.slice(1)) await erase(database, key)
    // Twice counts once.
    await erase(database, keys[1]!)
    expect(await counters()).toEqual(before)
    const left = await database.selectFrom('organizations').select('key').execute()
    expect(left).toEqual([{ key: keys[0] }])
  })

  test('says that the database is away, and counts it', async (context) => {
    const { database, queue, interval, parts } = await start(context)
    let failures = 0
    const site = createSite({ database, queue, interval, host: '127.0.0.1', failures: () => failures })
    const health = async () => (await site.request('http://127.0.0.1/health')).json()
    expect(await health()).toEqual({ database: true, redis: true })
    await database.destroy()
    const stop = new AbortController()
    const running = runScheduler(parts, stop.signal, () => failures++)
    await waitUntil(async () => expect(failures).toBeGreaterThanOrEqual(3))
    stop.abort()
    await running
    expect(await health()).toEqual({ database: false, redis: true })
    expect((await site.request('http://127.0.0.1/health')).status).toBe(503)
    const response = await site.request('http://127.0.0.1/metrics')
    expect(response.status).toBe(200)
    expect((await response.text()).split('\n').filter((line) => line.startsWith('fleet'))).toEqual([
      'fleet_database_up 0',
      `fleet_scheduler_failures_total ${failures}`,
    ])
  })
})

// With Postgres, the proof runs workers.
describe('on SQLite, with worker processes', () => {
  const start = async (context: TestContext, options?: SandboxOptions, more?: object) => {
    const folder = mkdtempSync(join(tmpdir(), 'fleet-'))
    const fleet = await startFleet(context, join(folder, 'replica.sqlite'), options, more)
    context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return fleet
  }

  test('a worker syncs every organization in slices, and another takes over when it is killed', async (context) => {
    const fleet = await start(context, { organizations: 2, conversations: 40, rateLimit: '1200/min' }, { SLICE: '0.5' })
    const { sandbox, database, queue } = fleet
    const keys = new Map<string, string>()
    for (const { id } of sandbox.state.organizations) keys.set(await fleet.connect(id), id)
    await fleet.schedule()
    const first = await fleet.startWorker()
    await waitUntil(async () => expect(pagesRead(sandbox).length).toBeGreaterThan(20))
    await end(first, 'SIGKILL')
    await fleet.startWorker()
    for (const [key, organization] of keys) {
      await waitUntil(async () => expect(await organizationOf(database, key)).toMatchObject({ passes: 1 }))
      await expectReplica({ sandbox, database }, key, organization)
      const changes = await changesOf(database, undefined, key)
      expect(new Set(changes.map(({ kind, id }) => `${kind} ${id}`)).size).toBe(changes.length)
      expect((await organizationOf(database, key)).due_at).toBeGreaterThan(Date.now())
    }
    // About the page in flight of each job, because every page of a first sync has changes.
    expect(pagesRead(sandbox).length - new Set(pagesRead(sandbox)).size).toBeLessThan(10)
    await waitUntil(async () => expect(await queue.getJobCountByTypes('prioritized', 'active', 'delayed')).toBe(0))
  })

  test('a worker whose clock is a day ahead leaves nothing that others would wait for', async (context) => {
    const options = { conversations: 40, rateLimit: '1200/min' } as const
    const fleet = await start(context, options, { SLICE: '0.2', SYNC_INTERVAL: '1' })
    const { database, queue } = fleet
    const key = await fleet.connect()
    const ahead = await fleet.startWorker(day)
    const passes = async () => (await organizationOf(database, key)).passes
    await fleet.schedule()
    await waitUntil(async () => expect(await passes()).toBe(1))
    await end(ahead, 'SIGKILL')
    expect(await queue.getDelayedCount()).toBe(0)
    await fleet.startWorker()
    await waitUntil(async () => {
      await fleet.schedule()
      expect(await passes()).toBeGreaterThan(1)
    })
  })

  test('a worker stops an organization whose token was revoked, and reports it once', async (context) => {
    const { sandbox, database, connect, schedule, startWorker } = await start(context)
    const key = await connect()
    sandbox.revokeAll()
    await startWorker()
    await schedule()
    await waitUntil(async () => expect(await organizationOf(database, key)).toMatchObject({ ended: 'revoked' }))
    expect(await database.selectFrom('notices').select('key').execute()).toEqual([{ key }])
    const failures = await database.selectFrom('failures').select(['remedy', 'count']).execute()
    expect(failures).toEqual([{ remedy: 'reconnect', count: 1 }])
    await connect()
    await schedule()
    await waitUntil(async () => expect(await organizationOf(database, key)).toMatchObject({ ended: null, passes: 1 }))
  })

  test.for([
    ['STORE_SECRET', 'another secret, which has 32 characters as well'],
    ['BASE_URL', 'http://127.0.0.1:9'],
  ])('a worker with another %s ends, names it, and changes no organization', async ([name, value], context) => {
    const { database, connect, schedule, startWorker, printed } = await start(context)
    const before = await organizationOf(database, await connect())
    await schedule()
    const worker = await startWorker(0, { [name!]: value })
    await waitUntil(async () => expect(worker.exitCode).toBe(1))
    await waitUntil(async () => expect(printed.join('')).toContain(`"message":"${name} `))
    expect(await organizationOf(database, before.key)).toEqual({ ...before, queued_at: expect.any(Number) })
  })

  test('a worker that is told to end gives its organizations back', async (context) => {
    const { sandbox, database, connect, schedule, startWorker } = await start(context, { conversations: 100 })
    const key = await connect()
    sandbox.faults.add({ path: /messages$/, latency: 50, times: Infinity })
    await schedule()
    const worker = await startWorker()
    await waitUntil(async () => expect(pagesRead(sandbox).length).toBeGreaterThan(3))
    await end(worker, 'SIGTERM')
    expect(worker.exitCode).toBe(0)
    expect(await organizationOf(database, key)).toMatchObject({ queued_at: null, passes: 0 })
    expect((await organizationOf(database, key)).position).toContain('checkpoint')
  })

  test('manage pauses, resumes, syncs and erases one organization, and sets its interval', async (context) => {
    const fleet = await start(context, { organizations: 2 })
    const { database, store, manage, schedule } = fleet
    const [key, other] = await fleet.connectAll()
    await manage('pause', key)
    expect(await schedule()).toEqual({ added: 1, lost: 0 })
    await manage('resume', key)
    await manage('interval', key, '5')
    expect(await schedule()).toEqual({ added: 1, lost: 0 })
    await fleet.startWorker()
    for (const each of [key, other]) {
      await waitUntil(async () => expect(await organizationOf(database, each)).toMatchObject({ passes: 1 }))
    }
    expect((await organizationOf(database, key)).due_at).toBeLessThan(Date.now() + 5_000)
    await manage('interval', key, '0')
    expect(await organizationOf(database, key)).toMatchObject({ interval: null })
    await manage('sync', other)
    await schedule()
    await waitUntil(async () => expect(await organizationOf(database, other)).toMatchObject({ passes: 2 }))
    await manage('erase', key)
    expect(await store.get(key)).toBeUndefined()
    for (const table of ['organizations', 'items', 'changes'] as const) {
      const rows = await database.selectFrom(table).select('key').distinct().execute()
      expect(rows).toEqual([{ key: other }])
    }
    expect(await fleet.reconcile()).toBe(0)
  })

  test('a single worker says at a port whether it can work', async (context) => {
    const { redisServer, startWorker } = await start(context)
    const port = await freePort()
    await startWorker(0, { HEALTH_PORT: String(port) })
    const health = async () => (await fetch(`http://127.0.0.1:${port}/health`)).json()
    expect(await health()).toEqual({ database: true, redis: true })
    await redisServer.crash(0)
    await waitUntil(async () => expect(await health()).toEqual({ database: true, redis: true }))
  })

  test.for([
    ['PORT', /^PORT \d+ is in use\. Set another, or 0 for any that is free\.$/],
    ['WORKERS', /^WORKERS must be a positive number\.$/],
    ['STORE_SECRET', /^Set STORE_SECRET\.$/],
  ] as const)('ends with one line if %s is wrong', async ([name, message], context) => {
    const { environment } = await start(context)
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    context.onTestFinished(() => void other.close())
    const port = (other.address() as AddressInfo).port
    const wrong = { PORT: String(port), WORKERS: 'two', STORE_SECRET: '' }[name]
    const processes = new FleetProcess({ ...environment, PORT: '0', [name]: wrong })
    context.onTestFinished(() => processes.killAll())
    expect(await processes.ended).toBe(1)
    expect(processes.lines.map((line) => JSON.parse(line).message)).toEqual([expect.stringMatching(message)])
  })

  test('manage changes nothing if its words are wrong', async (context) => {
    const { database, connect, manage } = await start(context)
    const key = await connect()
    const before = await organizationOf(database, key)
    const wrong: [words: string[], message: string][] = [
      [['stop', key], 'Use pause, resume, interval, sync or erase, and the key of a connection; or reseal.'],
      [['pause', 'other'], 'There is no organization other.'],
      [['erase', 'other'], 'There is no organization other.'],
      [['interval', key, '5m'], 'Give the interval in seconds.'],
    ]
    await Promise.all(wrong.map(([words, message]) => expect(manage(...words)).rejects.toThrow(message)))
    expect(await organizationOf(database, key)).toEqual(before)
  })

  interface Outage {
    readonly processes: FleetProcess
    readonly proxy: SilentProxy
    readonly path: string
  }
  // They mostly wait, so both run at the same time.
  test.concurrent.for<[string, (outage: Outage) => Promise<void>]>([
    [
      'a full disk and a locked file',
      async ({ processes, path }) => {
        // No file of theirs may grow, which SQLite cannot tell from a disk that fails.
        const pids = processes.all()
        const limit = (size: string) =>
          pids.forEach((pid) => void execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${size}:`]))
        limit('100')
        await setTimeout(1_000)
        limit('unlimited')
        const other = new DatabaseSync(path)
        other.exec('BEGIN IMMEDIATE')
        await setTimeout(6_000)
        other.close()
      },
    ],
    ['connections to Redis that go silent', ({ proxy }) => proxy.silence(1_000)],
  ])(
    'all processes come back from %s, and end while Redis is silent',
    { timeout: 120_000 },
    async ([, disturb], context) => {
      const fleet = await start(context, { organizations: 6, conversations: 6 }, { SYNC_INTERVAL: '1', PORT: '0' })
      const { sandbox, database, environment, redisServer } = fleet
      sandbox.faults.add({ path: /messages$/, latency: 100, times: Infinity })
      await fleet.connectAll()
      const proxy = await startProxy(`${redisServer.url}.proxy`, redisServer.url)
      const processes = new FleetProcess({ ...environment, REDIS_URL: proxy.path, WORKERS: '1' })
      context.onTestFinished(() => {
        processes.killAll()
        proxy.close()
      })
      await waitUntil(async () => expect(pagesRead(sandbox).length).toBeGreaterThan(10))
      await disturb({ processes, proxy, path: environment.DATABASE_URL })
      const before = await database.selectFrom('organizations').select(['key', 'passes']).execute()
      for (const { key, passes } of before) {
        // A sync pass that runs when Redis goes silent ends without it, and so does not count.
        await waitUntil(async () => expect((await organizationOf(database, key)).passes).toBeGreaterThan(passes + 1))
      }
      expect(processes.unexpectedEnds).toBe(0)
      void proxy.silence(10_000)
      expect(await processes.stop()).toBe(0)
    },
  )

  test('says why SQLite has rolled back automatically, and continues', async (context) => {
    const { database, settings, connect } = await start(context)
    const key = await connect()
    const other = new DatabaseSync(settings.databaseUrl)
    other.exec(
      "CREATE TRIGGER fail BEFORE DELETE ON organizations BEGIN SELECT RAISE(ROLLBACK, 'The disk is full.'); END",
    )
    await expect(erase(database, key)).rejects.toThrow('The disk is full.')
    other.exec('DROP TRIGGER fail')
    other.close()
    await erase(database, key)
    expect(await database.selectFrom('organizations').selectAll().execute()).toEqual([])
  })
})
