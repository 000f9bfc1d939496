/**
 * Measures what the guide says of the fleet: what a pass costs, what the idle scheduler costs, and who starves.
 *
 *   node --import ./scripts/from-source.js proofs/fleet/measure.ts cost --organizations 1000
 *   node --import ./scripts/from-source.js proofs/fleet/measure.ts idle --organizations 1000
 *   node --import ./scripts/from-source.js proofs/fleet/measure.ts starve
 *
 * One worker runs in this process, on Postgres, beside the sandbox.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import pg from 'pg'
import { openConnections } from '../../examples/fleet-sync/connections.ts'
import { openDatabase } from '../../examples/fleet-sync/database.ts'
import { mirror, type Organization } from '../../examples/fleet-sync/organizations.ts'
import { connectToRedis, openQueue } from '../../examples/fleet-sync/queue.ts'
import { reconcile, schedule } from '../../examples/fleet-sync/scheduler.ts'
import { readSettings } from '../../examples/fleet-sync/settings.ts'
import { runWorker } from '../../examples/fleet-sync/worker.ts'
import { type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { findPostgres, startPostgres } from '../../test/fleet/helpers/postgres-server.ts'
import { startRedis } from '../../test/fleet/helpers/redis-server.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    organizations: { type: 'string', default: '1000' },
    slots: { type: 'string', default: '20' },
  },
})
console.error = () => {}

/** What this process has sent since the last call of `take`. */
const sent = { statements: 0, redis: 0, requests: 0 }
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...values: Parameters<typeof query>) {
  sent.statements += 1
  return query.apply(this, values)
} as typeof query
const { sendCommand } = Redis.prototype
Redis.prototype.sendCommand = function (...values) {
  sent.redis += 1
  return sendCommand.apply(this, values)
}

function take(): typeof sent {
  const taken = { ...sent }
  Object.assign(sent, { statements: 0, redis: 0, requests: 0 })
  return taken
}

const cleanUps: (() => unknown)[] = []

async function start(sandboxOptions: SandboxOptions, more: NodeJS.ProcessEnv = {}) {
  const postgres = await startPostgres(findPostgres() ?? '')
  cleanUps.push(postgres.close)
  const redisServer = await startRedis()
  cleanUps.push(redisServer.close)
  const onRequest = () => {
    sent.requests += 1
  }
  const small = { contacts: 1, members: 1, tasks: 0, segments: 0 }
  const sandbox = await startSandbox({ ...small, ...sandboxOptions, onRequest })
  const settings = readSettings({
    BASE_URL: sandbox.url,
    REDIS_URL: redisServer.url,
    DATABASE_URL: await postgres.createDatabase(),
    STORE_SECRET: randomBytes(32).toString('base64'),
    SYNC_INTERVAL: '86400',
    SLOTS: options.slots,
    ...more,
  })
  const database = await openDatabase(settings.databaseUrl)
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const store = await openConnections(settings, database)
  const keys = new Map<string, string>()
  for (const { id } of sandbox.state.organizations) {
    const { key } = await store.save(sandbox.issueToken({ organization: id }))
    await mirror(database, store, key)
    keys.set(id, key)
  }
  cleanUps.push(
    () => database.end(),
    () => redis.disconnect(),
  )
  return {
    settings,
    sandbox,
    database,
    redis,
    queue,
    store,
    keys,
    parts: { database, store, queue, interval: settings.interval, retention: 1e12 },
  }
}

type Started = Awaited<ReturnType<typeof start>>

/** Runs a worker until each organization has completed so many passes. */
async function runPasses({ settings, database, parts }: Started, passes: number, more: object): Promise<number> {
  const began = performance.now()
  const worker = runWorker({ ...settings, ...more })
  for (;;) {
    await schedule(parts)
    const left = await database.query('SELECT count(*) FROM organizations WHERE passes < $1', [passes])
    if (left.rows[0].count === 0) break
    await setTimeout(1_000)
  }
  process.emit('SIGTERM')
  await worker
  return (performance.now() - began) / 1_000
}

/** The number of rows that Postgres has inserted, updated and deleted. */
async function rowWrites({ settings }: Started): Promise<number> {
  await setTimeout(2_000)
  const client = new pg.Client(settings.databaseUrl)
  await client.connect()
  const sql = 'SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int AS count FROM pg_stat_user_tables'
  const { rows } = await client.query(sql)
  await client.end()
  return rows[0].count
}

async function serverCommands({ redis }: Started): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1])
}

async function cost(): Promise<void> {
  const count = Number(options.organizations)
  const started = await start({ organizations: count, conversations: 15, messagesPerConversation: 3 })
  const { database } = started
  for (const [name, auditEvery] of [
    ['first pass', 86_400_000],
    ['second pass, which reads the messages again', 86_400_000],
    ['unchanged pass', 86_400_000],
    ['unchanged pass that reads everything', 1],
  ] as const) {
    await database.query('UPDATE organizations SET due_at = now()')
    const { passes } = (await database.query('SELECT max(passes) AS passes FROM organizations')).rows[0]
    const before = { rows: await rowWrites(started), server: await serverCommands(started) }
    take()
    const seconds = await runPasses(started, passes + 1, { auditEvery })
    const { statements, redis, requests } = take()
    const rows = (await rowWrites(started)) - before.rows
    const server = (await serverCommands(started)) - before.server
    console.log(`${name}: ${count} organizations, ${60 * count} items, ${requests} requests in ${seconds.toFixed(1)} s`)
    const counts = { 'row writes': rows, statements, 'Redis commands': redis, 'with those inside scripts': server }
    for (const [what, value] of Object.entries(counts)) {
      const [item, request, organization] = [60 * count, requests, count].map((of) => (value / of).toFixed(2))
      console.log(`  ${what}: ${value}, ${item} an item, ${request} a request, ${organization} an organization`)
    }
  }
}

async function idle(): Promise<void> {
  const organizations = Number(options.organizations)
  const { database, parts } = await start({ organizations, conversations: 1, messagesPerConversation: 0 })
  await database.query("UPDATE organizations SET due_at = now() + interval '1 day'")
  for (const [name, run] of [
    ['schedule, each second', () => schedule(parts)],
    ['reconcile, each minute', () => reconcile(parts)],
  ] as const) {
    await run()
    take()
    const began = performance.now()
    const cpu = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(cpu)
    const { statements, redis } = take()
    const times = [performance.now() - began, (user + system) / 1_000].map((time) => `${time.toFixed(1)} ms`)
    console.log(`${name}: ${times.join(', CPU ')}, ${statements} statements, ${redis} Redis commands`)
  }
}

/** 40 organizations that allow 20 requests a minute beside 20 that allow everything, with 20 slots, for 90 seconds. */
async function starve(): Promise<void> {
  let planned = 0
  const isSlow = (index: number) => index < 40
  const rateLimit = () => (isSlow(planned++) ? '20/min' : undefined)
  const size = { organizations: 60, conversations: 30, messagesPerConversation: 1 }
  const more = { SYNC_INTERVAL: '10', AUDIT_EVERY: '0.001' }
  const { settings, sandbox, database, parts, keys } = await start({ ...size, rateLimit }, more)
  const worker = runWorker(settings)
  const end = Date.now() + 90_000
  while (Date.now() < end) {
    await schedule(parts)
    await setTimeout(1_000)
  }
  const { rows } = await database.query<Organization>('SELECT * FROM organizations')
  const byKey = new Map(rows.map((row) => [row.key, row]))
  const ids = sandbox.state.organizations.map(({ id }) => byKey.get(keys.get(id) ?? ''))
  for (const [name, group] of [
    ['fast', ids.filter((_, index) => !isSlow(index))],
    ['slow', ids.filter((_, index) => isSlow(index))],
  ] as const) {
    const passes = group.map((row) => row?.passes ?? 0)
    const requests = group.reduce((sum, row) => sum + (row?.requests ?? 0), 0)
    const refused = group.reduce((sum, row) => sum + (row?.refused ?? 0), 0)
    const range = `at least ${Math.min(...passes)}, at most ${Math.max(...passes)}`
    console.log(`${name}: ${passes.length} organizations, passes in 90 s: ${range}`)
    console.log(`  ${requests} requests, ${((100 * refused) / requests).toFixed(1)} % got a 429`)
  }
  process.emit('SIGTERM')
  await worker
}

const commands: Record<string, () => Promise<void>> = { cost, idle, starve }
try {
  for (const name of positionals) await commands[name]?.()
} finally {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
}
process.exit()
