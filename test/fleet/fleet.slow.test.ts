import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, type TestContext, test, vi } from 'vitest'
import { openConnections } from '../../examples/fleet-sync/connections.ts'
import { type Database, untilItWorks } from '../../examples/fleet-sync/database.ts'
import { manage } from '../../examples/fleet-sync/manage.ts'
import { countFailure, erase } from '../../examples/fleet-sync/organizations.ts'
import { connectToRedis, openQueue } from '../../examples/fleet-sync/queue.ts'
import { prune, reconcile, runScheduler, schedule } from '../../examples/fleet-sync/scheduler.ts'
import { readSettings, SettingsError } from '../../examples/fleet-sync/settings.ts'
import { createSite } from '../../examples/fleet-sync/site.ts'
import { syncOrganization } from '../../examples/fleet-sync/sync-organization.ts'
import type { SandboxOptions } from '../../src/sandbox/index.ts'
import { describeOnPostgres } from './helpers/databases.ts'
import { changesOf, liveItems, openFleet, pageOf, secret } from './helpers/open-fleet.ts'
import { startRedis } from './helpers/redis-server.ts'

const day = 86_400_000
const newSecret = secret.toUpperCase()

/** The example without its processes and the loop of its scheduler. */
async function startFleet(context: TestContext, databaseUrl: string, options?: SandboxOptions) {
  const redisServer = await startRedis()
  const fleet = await openFleet(context, databaseUrl, options)
  const { sandbox, database, store, settings, connect } = fleet
  const redis = connectToRedis(redisServer.url)
  const queue = openQueue(redis)
  const environment = { ...fleet.environment, REDIS_URL: redisServer.url }
  const processes: ChildProcess[] = []
  context.onTestFinished(async () => {
    for (const each of processes) each.kill('SIGKILL')
    await queue.close()
    redis.disconnect()
    await redisServer.close()
  })
  const parts = { ...settings, database, store, queue }
  return {
    ...{ ...fleet, environment, redisServer, queue, parts },
    /** Returns the keys, as many as there are organizations. */
    connectAll: async () => {
      const keys: string[] = []
      for (const { id } of sandbox.state.organizations) keys.push(await connect(id))
      return keys as [string, string, string, string]
    },
    update: (key: string, change: string) => database.query(`UPDATE organizations SET ${change} WHERE key = $1`, [key]),
    schedule: () => schedule(parts),
    reconcile: () => reconcile(parts),
    site: createSite(parts),
    /** The keys of the organizations with a job, in the order of the jobs. */
    jobs: async () => (await queue.getPrioritized()).map(({ data }) => data.key),
    /** Starts `worker.ts` or `start.ts`. */
    startProcess: (name: string, more = {}) => {
      const path = fileURLToPath(new URL(`../../examples/fleet-sync/${name}`, import.meta.url))
      const env = { ...process.env, ...environment, ...more }
      const started = fork(path, { env, silent: true })
      processes.push(started)
      return started
    },
  }
}

const waitUntil = (assertion: () => Promise<void>) => vi.waitFor(assertion, { timeout: 50_000, interval: 50 })

describeOnPostgres((createDatabase) => {
  const start = async (context: TestContext, options?: SandboxOptions) =>
    startFleet(context, await createDatabase(), options)

  test('adds one job for each organization that is due, first passes first', async (context) => {
    const { connectAll, update, schedule, jobs } = await start(context, { organizations: 4 })
    const [known, gone, later, first] = await connectAll()
    await update(known, 'passes = 3')
    await update(gone, "ended = 'revoked'")
    await update(later, "due_at = now() + interval '1 hour'")
    await Promise.all([schedule(), schedule()])
    await schedule()
    expect(await jobs()).toEqual([first, known])
    // Written while the clock of the database was wrong.
    await update(later, "due_at = now() + interval '121 minutes'")
    await schedule()
    expect((await jobs()).sort()).toEqual([first, known, later].sort())
  })

  test('adds jobs again that a Redis has lost', async (context) => {
    const { redisServer, connect, schedule, jobs } = await start(context)
    const key = await connect()
    await schedule()
    await redisServer.crash(0)
    expect(await jobs()).toEqual([])
    await schedule()
    expect(await jobs()).toEqual([key])
  })

  test('makes the rows say what the store says', async (context) => {
    const fleet = await start(context, { organizations: 4 })
    const { sandbox, database, settings, store, connectAll, row, reconcile } = fleet
    const [kept, lost, removed, revoked] = await connectAll()
    expect(await reconcile()).toBe(0)
    await database.query('DELETE FROM organizations WHERE key = $1', [lost])
    await store.remove(removed)
    // A process that is killed after it noticed the revocation leaves only the mark in the store.
    sandbox.revoke(await store.token(revoked))
    await (await store.workspace(revoked)).me().catch(() => {})
    expect(await reconcile()).toBe(3)
    expect(await reconcile()).toBe(0)
    expect(await row(kept)).toMatchObject({ ended: null })
    expect(await row(lost)).toMatchObject({ ended: null, passes: 0 })
    expect(await row(removed)).toMatchObject({ ended: 'no token' })
    expect(await row(revoked)).toMatchObject({ ended: 'revoked' })
    expect((await database.query('SELECT organization FROM notices')).rows).toEqual([{ organization: revoked }])
    const [, , , organization] = sandbox.state.organizations
    await store.save(sandbox.issueToken({ organization: organization!.id }))
    expect(await reconcile()).toBe(1)
    expect(await row(revoked)).toMatchObject({ ended: null })
    // A process with a newer secret has saved this login, and this process cannot read it.
    const newer = await openConnections({ ...settings, storeSecrets: [newSecret, secret] }, database)
    await newer.save(sandbox.issueToken({ organization: organization!.id }))
    expect(await reconcile()).toBe(1)
    expect(await row(revoked)).toMatchObject({ ended: 'no token' })
  })

  test('erases what is old in small steps: organizations that have left, changes and deleted items', async (context) => {
    const { database, store, parts, connectAll, update, reconcile } = await start(context, { organizations: 2 })
    const [kept, gone] = await connectAll()
    const old = "now() - interval '2 days'"
    const insert = `INSERT INTO changes (organization, key, resource, id, kind, at) SELECT $1, n, 'messages', 'id', 'created'`
    await database.query(`${insert}, ${old} FROM generate_series(1, 2500) n`, [kept])
    await database.query(`${insert}, now() FROM generate_series(3001, 3002) n`, [kept])
    const item = 'INSERT INTO items (organization, resource, id, conversation, deleted_at)'
    await database.query(`${item} VALUES ($1, 'messages', 'live', '', NULL), ($1, 'messages', 'old', '', ${old})`, [
      kept,
    ])
    await update(gone, `ended = 'no token', ended_at = ${old}`)
    const deleted: number[] = []
    const watched = {
      query: async (...values: [string, unknown[]]) => {
        const result = await database.query(...values)
        if (values[0].startsWith('DELETE')) deleted.push(result.rowCount ?? 0)
        return result
      },
    } as Database
    await prune({ ...parts, database: watched, retention: day })
    expect(Math.max(...deleted)).toBe(1_000)
    expect(await changesOf(database, kept)).toHaveLength(2)
    expect((await database.query('SELECT id FROM items')).rows).toEqual([{ id: 'live' }])
    expect((await database.query('SELECT key FROM organizations')).rows).toEqual([{ key: kept }])
    expect(await store.get(gone)).toBeUndefined()
    expect(await reconcile()).toBe(0)
  })

  test('shows what is late first, names what is skipped, and counts for Prometheus', async (context) => {
    const { database, store, connectAll, update, site, parts } = await start(context, { organizations: 4 })
    const [ok, never, gone, skipping] = await connectAll()
    await update(ok, "name = 'Fine & well', completed_at = now(), passes = 5, requests = 100, refused = 3")
    await update(never, "name = 'Never', added_at = now() - interval '3 hours'")
    await update(gone, "name = '<b>Gone</b>', completed_at = now(), ended = 'no token'")
    await update(skipping, "name = 'Skipping', completed_at = now(), skipped = 1, problem = 'Skipped'")
    await countFailure(database, 'retry')
    await countFailure(database, 'retry')
    const get = async (path: string) => (await site.request(`http://127.0.0.1${path}`)).text()
    const page = await get('/')
    expect(page).toContain('Needs attention: 3')
    const order = ['Never', '&lt;b&gt;Gone', 'Skipping', 'Fine &amp; well'].map((name) => page.indexOf(name))
    expect(order[0]).toBeLessThan(Math.min(...order.slice(1)))
    expect(order[3]).toBe(Math.max(...order))
    const lines = (await get('/metrics')).split('\n')
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
    ]) {
      expect(lines).toContain(line)
    }
    const lag = lines.find((line) => line.startsWith('fleet_lag_seconds{quantile="1"}'))
    expect(Number(lag?.split(' ').at(-1))).toBeGreaterThanOrEqual(3 * 3_600)
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
    ] as const) {
      expect((await site.request(`http://${host}/`)).status, host).toBe(status)
      expect((await site.request(`http://${host}/health`)).status, host).toBe(200)
    }
    expect((await createSite({ ...parts, host: 'fleet' }).request('http://fleet/')).status).toBe(200)
    // Counters do not fall. Erasing twice counts once.
    await erase(database, store, ok)
    await erase(database, store, ok)
    expect((await get('/metrics')).split('\n')).toContain('fleet_passes_total 5')
  })

  test('says that the database is away, and goes on', async (context) => {
    const { database, site, parts, log } = await start(context)
    const health = async () => (await site.request('http://127.0.0.1/health')).json()
    expect(await health()).toEqual({ database: true, redis: true })
    await database.end()
    const stop = new AbortController()
    const running = runScheduler(parts, stop.signal)
    const failures = () => log.mock.calls.filter(([line]) => String(line).includes('"in":"schedule"'))
    await waitUntil(async () => expect(failures().length).toBeGreaterThanOrEqual(2))
    stop.abort()
    await running
    expect(await health()).toEqual({ database: false, redis: true })
    expect((await site.request('http://127.0.0.1/health')).status).toBe(503)
    const metrics = await (await site.request('http://127.0.0.1/metrics')).text()
    expect(metrics).toContain('fleet_database_up 0')
  })

  test('a worker stops an organization whose token was revoked, and ends when it is told to', async (context) => {
    const { sandbox, database, connect, row, schedule, startProcess } = await start(context)
    const key = await connect()
    sandbox.revokeAll()
    const worker = startProcess('worker.ts')
    await schedule()
    await waitUntil(async () => expect(await row(key)).toMatchObject({ ended: 'revoked' }))
    expect((await database.query('SELECT organization FROM notices')).rows).toEqual([{ organization: key }])
    const failures = await database.query('SELECT remedy, count FROM failures')
    expect(failures.rows).toEqual([{ remedy: 'reconnect', count: 1 }])
    await connect()
    await schedule()
    await waitUntil(async () => expect(await row(key)).toMatchObject({ ended: null, passes: 1 }))
    worker.kill('SIGTERM')
    expect(await once(worker, 'exit')).toEqual([0, null])
  })

  test.for([
    ['STORE_SECRET', newSecret, /^No connection can be read with this STORE_SECRET/],
    ['BASE_URL', 'http://127.0.0.1:9', /^BASE_URL is not that of the other processes/],
    ['WORKERS', 'two', /^WORKERS must be a positive number\.$/],
    ['STORE_SECRET', '', /^Set STORE_SECRET\.$/],
  ] as const)('a process with the %s "%s" does not start', async ([name, value, message], context) => {
    const { environment, database, connect, row } = await start(context)
    const before = await row(await connect())
    const open = async () => openConnections(readSettings({ ...environment, [name]: value }), database)
    const opening = untilItWorks('database', open, new AbortController().signal)
    await expect(opening).rejects.toThrow(message)
    await expect(opening).rejects.toBeInstanceOf(SettingsError)
    expect(await row(before.key)).toEqual(before)
  })

  test('ends with one line if another program uses the port', async (context) => {
    const { startProcess } = await start(context)
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    context.onTestFinished(() => void other.close())
    const fleet = startProcess('start.ts', { PORT: String((other.address() as AddressInfo).port) })
    let printed = ''
    fleet.stderr?.on('data', (text) => (printed += text))
    expect(await once(fleet, 'close')).toEqual([1, null])
    expect(JSON.parse(printed)).toMatchObject({ event: 'ended', message: expect.stringContaining('EADDRINUSE') })
  })

  test('erases an organization with its token, its data and its feed, while a job runs', async (context) => {
    const { sandbox, database, store, parts, environment, connectAll, reconcile } = await start(context, {
      organizations: 2,
    })
    const [key, other] = await connectAll()
    await syncOrganization({ ...parts, key: other })
    sandbox.faults.add({ path: /messages$/, latency: 200, times: Infinity })
    const running = syncOrganization({ ...parts, key })
    await waitUntil(async () => expect((await liveItems(database, key)).size).toBeGreaterThan(1))
    await manage(['erase', key], environment)
    await running.catch(() => {})
    expect(await store.get(key)).toBeUndefined()
    for (const [table, column] of Object.entries({
      organizations: 'key',
      items: 'organization',
      changes: 'organization',
    })) {
      const { rows } = await database.query(`SELECT DISTINCT ${column} AS key FROM ${table}`)
      expect(rows).toEqual([{ key: other }])
    }
    const feeds = await database.query('SELECT key FROM feeds WHERE position($1 in key) > 0', [encodeURIComponent(key)])
    expect(feeds.rows).toEqual([])
    expect(await reconcile()).toBe(0)
  })

  test('applies the deletions that the feed has held back, when a person accepts them', async (context) => {
    const { sandbox, database, parts, environment, connect, row } = await start(context, { conversations: 8 })
    const key = await connect()
    const pass = () => syncOrganization({ ...parts, key })
    await pass()
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: pageOf([]), times: Infinity })
    sandbox.faults.add({ path: /messages$/, status: 404, times: Infinity })
    await pass()
    await pass()
    expect(await row(key)).toMatchObject({ problem: expect.stringMatching('are missing at once') })
    expect(await liveItems(database, key)).toHaveLength(8 * 3)
    await manage(['accept', key], environment)
    await pass()
    expect(await liveItems(database, key)).toHaveLength(0)
  })

  test('encrypts all tokens with the first secret', async (context) => {
    const { connect, database, environment } = await start(context)
    const key = await connect()
    await manage(['reseal'], { ...environment, STORE_SECRETS: `${newSecret} ${secret}` })
    const settings = readSettings({ ...environment, STORE_SECRET: newSecret })
    expect(await (await openConnections(settings, database)).get(key)).toBeDefined()
  })

  test('manage changes nothing if its words are wrong', async (context) => {
    const { connect, environment, row } = await start(context)
    const before = await row(await connect())
    for (const [words, message] of [
      [['stop', before.key], 'Use erase KEY, accept KEY or reseal.'],
      [[], 'Use erase KEY, accept KEY or reseal.'],
      [['erase', 'other'], 'There is no organization other.'],
    ] as const) {
      await expect(manage(words, environment)).rejects.toThrow(message)
    }
    expect(await row(before.key)).toEqual(before)
  })
})
