/**
 * Shows that the fleet loses and doubles nothing, and comes back after everything that happens to it. Prints a table, and
 * fails if something is not as promised.
 *
 *   npm run fleet-proof -- --short      about a minute
 *   npm run fleet-proof                 ten minutes, with more organizations
 *
 * The example runs as it stands, with its own supervisor and worker processes, against a sandbox in this process. Some lists
 * have more than one page. While other people add, edit and delete items and some responses are errors, late or cut off, workers
 * are killed and stopped, Redis is killed with all that it has or goes silent, Postgres crashes, pauses and ends connections,
 * connections to Postgres go silent for good, a row is locked, tokens are revoked, and organizations log in again. Each of these
 * happens at least once, or the run fails. Then all of that stops, each organization completes two passes, because the feed
 * deletes what two passes have missed, and its replica and its changes must be exactly what the service has.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { openConnections } from '../../examples/fleet-sync/connections.ts'
import { openDatabase } from '../../examples/fleet-sync/database.ts'
import { mirror, type Organization } from '../../examples/fleet-sync/organizations.ts'

import { readSettings } from '../../examples/fleet-sync/settings.ts'
import { findPostgres, startPostgres } from '../../test/fleet/helpers/postgres-server.ts'
import { startRedis } from '../../test/fleet/helpers/redis-server.ts'
import { FleetProcess } from './fleet-process.ts'
import { baselineOf, compare, startService } from './service.ts'
import { startProxy } from './silent-proxy.ts'

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    organizations: { type: 'string' },
    seconds: { type: 'string' },
    workers: { type: 'string' },
    log: { type: 'string' },
  },
})
const short = options.short
const organizations = Number(options.organizations ?? (short ? 12 : 60))
const seconds = Number(options.seconds ?? (short ? 20 : 540))
const workers = Number(options.workers ?? (short ? 2 : 4))

/** The name of the socket in the folder that is the host of a Postgres URL. */
const socketName = '.s.PGSQL.5432'

const cleanUps: (() => unknown)[] = []

async function prove(): Promise<boolean> {
  const began = Date.now()
  const folder = mkdtempSync(join(tmpdir(), 'fleet-proof-'))
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }))
  const binaries = findPostgres()
  if (binaries === undefined) throw new Error('Install postgresql.')
  const postgres = await startPostgres(binaries)
  cleanUps.push(postgres.close)
  const redis = await startRedis()
  cleanUps.push(redis.close)
  const redisProxy = await startProxy(join(folder, 'redis.sock'), redis.url)
  cleanUps.push(redisProxy.close)
  const direct = await postgres.createDatabase()
  const postgresFolder = new URL(direct).searchParams.get('host') ?? ''
  const postgresProxy = await startProxy(join(folder, socketName), join(postgresFolder, socketName))
  cleanUps.push(postgresProxy.close)
  const service = await startService({ organizations, conversations: short ? 10 : 25 })
  cleanUps.push(() => service.sandbox.close())
  const environment = {
    BASE_URL: service.sandbox.url,
    REDIS_URL: redisProxy.path,
    DATABASE_URL: direct.replace(encodeURIComponent(postgresFolder), encodeURIComponent(folder)),
    STORE_SECRET: randomBytes(32).toString('base64'),
    SYNC_INTERVAL: short ? '2' : '5',
    PORT: '0',
    WORKERS: String(workers),
  }
  const settings = readSettings(environment)
  // What this process asks for is not disturbed by the proxy.
  const database = await openDatabase(direct)
  cleanUps.push(() => database.end())
  const store = await openConnections(settings, database)
  const counts = {
    kills: 0,
    stops: 0,
    'Redis killed': 0,
    'Redis silent': 0,
    'Postgres killed': 0,
    'Postgres paused': 0,
    'Postgres connections ended': 0,
    'Postgres connections silent for good': 0,
    'rows locked': 0,
    logins: 0,
    revocations: 0,
  }
  /** How many disturbances were tried. */
  let turn = 0
  const tokens = new Map<string, string>()
  const keys = new Map<string, string>()

  /** What a login handler does. While the database is away it fails, and the person tries again. */
  async function logIn(organization: string): Promise<void> {
    const token = service.login(organization)
    await untilItWorks(async () => {
      const { key } = await store.save(token)
      keys.set(key, organization)
      tokens.set(key, token)
      await mirror(database, store, key)
    })
    counts.logins += 1
  }

  for (const id of service.accounts.keys()) await logIn(id)
  let fleet = new FleetProcess(environment, options.log)
  cleanUps.push(() => fleet.stop())
  say(`${organizations} organizations are connected.`)
  await everyPass(() => 1)
  const baseline = await baselineOf(database)
  say('Each has completed its first pass. The chaos begins.')

  const chaos = new AbortController()
  const running = [
    repeat(short ? 60 : 30, service.change),
    repeat(300, async () => service.fault()),
    repeat(short ? 1_000 : 8_000, disturb),
    repeat(short ? 8_000 : 15_000, revoke),
  ]
  await setTimeout(seconds * 1_000)
  // A busy machine gets through them more slowly.
  for (let waited = 0; missed().length > 0 && waited < 120; waited += 1) await setTimeout(1_000)
  chaos.abort()
  await Promise.all(running)
  service.sandbox.faults.clear()
  say('The chaos is over. Waiting for every organization to be synced again.')
  const over = Date.now()
  const before = await rowsNow()
  await everyPass((key) => (before.get(key)?.passes ?? 0) + 1)
  const back = (Date.now() - over) / 1_000
  const { takeovers, events, unexpectedEnds: unexpected } = fleet
  const never = missed()
  await fleet.stop()

  say('Then two more passes, which read everything.')
  fleet = new FleetProcess({ ...environment, AUDIT_EVERY: '0.001' }, options.log)
  const last = await rowsNow()
  await everyPass((key) => (last.get(key)?.passes ?? 0) + 2)
  // Ctrl-C ends all processes, also while Redis does not respond.
  void redisProxy.silence(30_000)
  const code = await fleet.stop()

  const differences: Record<string, number> = {}
  const rows = [...(await rowsNow()).values()]
  for (const row of rows) {
    const account = service.accounts.get(keys.get(row.key) ?? '')
    if (account === undefined || row.ended !== null) throw new Error(`${row.key} is ${row.ended ?? 'unknown'}.`)
    const found = await compare(database, service.sandbox, row.key, account, baseline.get(row.key))
    for (const [name, count] of Object.entries(found)) differences[name] = (differences[name] ?? 0) + count
  }
  const count = async (table: string) => (await database.query(`SELECT count(*) FROM ${table}`)).rows[0].count
  const notices = await count('notices')
  const report = {
    organizations: rows.length,
    items: await count('items'),
    ...differences,
    'notices of revocations': `${notices} of ${counts.revocations}`,
    'processes that ended by themselves': unexpected,
    'exit code': code,
    'seconds until all were synced again': Math.round(back),
    ...counts,
    takeovers,
    'edits by others': service.counts.edits,
    'faulty responses': service.counts.faults,
    requests: service.counts.requests,
    '429s': service.counts.refused,
    'second pages of lists': service.counts.secondPages,
    'failures in the log': events.get('failed') ?? 0,
    seconds: Math.round((Date.now() - began) / 1_000),
  }
  for (const [name, value] of Object.entries(report)) console.log(`${name.padEnd(44)}${value}`)
  const problems = Object.entries(differences).filter(([, count]) => count > 0)
  if (notices !== counts.revocations) problems.push(['notices', notices])
  if (unexpected > 0) problems.push(['processes that ended by themselves', unexpected])
  if (code !== 0) problems.push(['exit code', code ?? 0])
  if (back > 60) problems.push(['seconds until all were synced again', back])
  if (rows.length !== organizations) problems.push(['organizations', rows.length])
  for (const name of never) problems.push([`never happened: ${name}`, 0])
  for (const [name, value] of problems) console.error(`Not as promised: ${name} ${value}`)
  return problems.length === 0

  /** Returns what has not happened yet. */
  function missed(): string[] {
    const { secondPages, faults, refused } = service.counts
    const { takeovers } = fleet
    const all = {
      ...counts,
      takeovers,
      'second pages of lists': secondPages,
      'faulty responses': faults,
      '429s': refused,
    }
    return Object.entries(all).flatMap(([name, count]) => (count === 0 ? [name] : []))
  }

  async function repeat(every: number, run: () => Promise<unknown>): Promise<void> {
    while (!chaos.signal.aborted) {
      await setTimeout(every * (0.5 + Math.random()), undefined, { signal: chaos.signal }).catch(() => {})
      if (!chaos.signal.aborted) await run()
    }
  }

  async function disturb(): Promise<void> {
    const worker = pick(fleet.workers())
    const kinds: [name: keyof typeof counts, run: () => unknown][] = [
      ['kills', () => worker !== undefined && fleet.kill(worker)],
      ['stops', () => worker !== undefined && void fleet.pause(worker, short ? 16_000 : 25_000)],
      ['rows locked', lockRow],
      ['Postgres paused', () => postgres.silence(short ? 6_000 : 30_000)],
      ['Postgres connections ended', postgres.terminate],
      ['Postgres killed', () => postgres.crash(short ? 2_000 : 5_000)],
      // Late, because a Redis that was killed has no job of the killed worker that another could take over.
      ['Redis killed', () => redis.crash(2_000)],
      // Last, because a server that is killed ends the connections that have gone silent.
      ['Postgres connections silent for good', () => postgresProxy.silence(short ? 2_000 : 10_000)],
      ['Redis silent', () => redisProxy.silence(short ? 2_000 : 10_000)],
    ]
    const [name, run] = kinds[turn % kinds.length]!
    turn += 1
    // What finds no worker has not happened.
    if ((await run()) !== false) counts[name] += 1
  }

  /** Holds the lock of a row, as a worker does that is stopped inside a transaction. */
  async function lockRow(): Promise<void> {
    const client = new pg.Client(settings.databaseUrl)
    client.on('error', () => {})
    await client.connect()
    await client.query('BEGIN')
    await client.query('UPDATE organizations SET lease = lease WHERE key = (SELECT key FROM organizations LIMIT 1)')
    await setTimeout(short ? 6_000 : 8_000)
    await client.end()
  }

  async function revoke(): Promise<void> {
    const [key, organization] = pick([...keys]) ?? []
    if (key === undefined || organization === undefined) return
    const token = tokens.get(key) ?? ''
    service.sandbox.revoke(token)
    counts.revocations += 1
    // A worker finds out. Then the organization logs in again.
    await untilItWorks(async () => {
      if ((await rowsNow()).get(key)?.ended === null) throw new Error('It is still connected.')
    })
    await logIn(organization)
  }

  async function rowsNow() {
    const { rows } = await untilItWorks(() => database.query<Organization>('SELECT * FROM organizations'))
    return new Map(rows.map((row) => [row.key, row]))
  }

  /** Waits until each organization has completed so many passes. */
  async function everyPass(wanted: (key: string) => number): Promise<void> {
    for (let waited = 0; ; waited += 1) {
      const late = [...(await rowsNow()).values()].filter(({ key, passes }) => passes < wanted(key))
      if (late.length === 0) return
      const [{ key, problem, ended }] = late as [(typeof late)[0]]
      if (waited === 180) throw new Error(`${late.length} organizations stand still: ${key} ${ended} ${problem}`)
      await setTimeout(500)
    }
  }
}

async function untilItWorks<Value>(run: () => Promise<Value>): Promise<Value> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run()
    } catch (error) {
      if (tries === 300) throw error
      await setTimeout(300)
    }
  }
}

function pick<Value>(values: readonly Value[]): Value | undefined {
  return values[Math.floor(Math.random() * values.length)]
}

function say(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`)
}

try {
  process.exitCode = (await prove()) ? 0 : 1
} finally {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
}
process.exit()
