/**
 * Keeps a replica of the conversations and messages of many organizations, with several worker processes.
 *
 *   docker compose up -d     starts a Postgres and a Redis, if you have none
 *   npm start                starts it with a sandbox of 20 organizations, and prints the URL of the page
 *
 * To use the real service, set BASE_URL, STORE_SECRET, DATABASE_URL and REDIS_URL: see settings.ts. ACCESS_TOKENS are
 * tokens to connect, separated by spaces. In your app, the login saves them.
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openConnections } from './connections.ts'
import { openDatabase, untilItWorks } from './database.ts'
import { log, messageOf } from './log.ts'
import { mirror } from './organizations.ts'
import { connectToRedis, openQueue } from './queue.ts'
import { runScheduler } from './scheduler.ts'
import { readSettings } from './settings.ts'
import { createSite, serveSite } from './site.ts'

const accessTokens = (process.env.ACCESS_TOKENS ?? '').split(' ').filter((token) => token !== '')
// Workers read the tokens from the store.
delete process.env.ACCESS_TOKENS
const shutdown = new AbortController()
const { signal } = shutdown
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => shutdown.abort(new Error(name)))

await run().catch((error) => {
  // Ctrl-C during the start is a normal end.
  if (signal.aborted) return
  log('ended', { message: messageOf(error) })
  process.exitCode = 1
})
// The scheduler might be waiting for a Redis that does not respond.
process.exit()

async function run(): Promise<void> {
  if (process.env.BASE_URL === undefined) await startService()
  const settings = readSettings()
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const database = await untilItWorks('database', () => openDatabase(settings.databaseUrl), signal)
  const store = await untilItWorks('database', () => openConnections(settings, database), signal)
  const url = await serveSite(createSite({ ...settings, database, queue }), settings)
  const workers = Array.from({ length: settings.workers }, superviseWorker)
  void runScheduler({ ...settings, database, store, queue }, signal)
  for (const token of accessTokens) {
    const connect = async () => mirror(database, store, (await store.save(token)).key)
    await untilItWorks('connection', connect, signal)
  }
  console.log(`Open ${url}. Ctrl-C ends all processes.`)
  await Promise.all(workers)
}

/** Keeps a worker process running until the shutdown. */
async function superviseWorker(): Promise<void> {
  while (!signal.aborted) {
    const worker = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), { execArgv: [] })
    const stop = () => void worker.kill('SIGTERM')
    signal.addEventListener('abort', stop)
    const [code, killed] = await once(worker, 'exit')
    signal.removeEventListener('abort', stop)
    if (signal.aborted) return
    log('worker ended', { code, signal: killed })
    await setTimeout(1_000)
  }
}

/** Starts a sandbox and connects its organizations. Its tokens are new at each start, so the database is new as well. */
async function startService(): Promise<void> {
  const { startSandbox } = await import('support-workspace-sdk/sandbox')
  const url = new URL(process.env.DATABASE_URL ?? 'postgres://postgres:fleet@127.0.0.1/postgres')
  const client = new pg.Client(url.href)
  await client.connect()
  await client.query('DROP DATABASE IF EXISTS fleet_demo WITH (FORCE)')
  await client.query('CREATE DATABASE fleet_demo')
  await client.end()
  url.pathname = '/fleet_demo'
  const sandbox = await startSandbox({ organizations: 20 })
  process.env.BASE_URL = sandbox.url
  process.env.STORE_SECRET = randomBytes(32).toString('base64')
  process.env.DATABASE_URL = url.href
  process.env.REDIS_URL ??= 'redis://127.0.0.1'
  for (const { id } of sandbox.state.organizations) accessTokens.push(sandbox.issueToken({ organization: id }))
  console.log(`The local service runs at ${sandbox.url}.`)
}
