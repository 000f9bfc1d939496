/**
 * Keeps a replica of the conversations and messages of many organizations, with several worker processes.
 *
 *   npm start      starts it with a sandbox of 20 organizations, and prints the URL of the page
 *
 * It needs the Redis at REDIS_URL, or an installed redis-server, which it starts. To use the real service, set:
 *
 *   BASE_URL        base URL of the service, for example https://api.supportwire.app
 *   STORE_SECRET    at least 32 characters, for example from `openssl rand -base64 32`
 *   DATABASE_URL    a postgres:// URL, or the path of a SQLite file
 *   ACCESS_TOKENS   tokens to connect, separated by spaces. In your app, the login saves them (README.md).
 *
 * Optional: WORKERS (2 processes), HOST (127.0.0.1), PORT (3000), and the variables in settings.ts. It prints:
 *
 *   The local service runs at http://127.0.0.1:40011.
 *   Open http://127.0.0.1:3000. Ctrl-C ends all processes.
 */
import { fork, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openConnections } from './connections.ts'
import { serveSite } from './health.ts'
import { log, messageOf } from './log.ts'
import { openDatabase, untilItWorks } from './open-database.ts'
import { connectToRedis, openQueue } from './queue.ts'
import { mirrorOne, runScheduler } from './scheduler.ts'
import { readSettings } from './settings.ts'
import { createSite } from './site.ts'

const accessTokens = (process.env.ACCESS_TOKENS ?? '').split(' ').filter((token) => token !== '')
// Workers read the tokens from the store, and must not use the same port.
delete process.env.ACCESS_TOKENS
delete process.env.HEALTH_PORT
const folder = mkdtempSync(join(tmpdir(), 'fleet-sync-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const shutdown = new AbortController()
const { signal } = shutdown
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => shutdown.abort(new Error(name)))

await run().catch((error) => {
  // Ctrl-C during the start is a normal end.
  if (signal.aborted) return
  log('ended', { message: messageOf(error) })
  process.exitCode = 1
})
process.exit()

async function run(): Promise<void> {
  process.env.REDIS_URL ??= startRedis(folder)
  if (process.env.BASE_URL === undefined) await startService()
  const settings = readSettings()
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const opened = await untilItWorks('database', () => openDatabase(settings.databaseUrl), signal)
  const { database, close } = opened
  const store = await untilItWorks('database', () => openConnections(settings, opened), signal)
  let failures = 0
  const site = await serveSite(createSite({ ...settings, database, queue, failures: () => failures }), settings)
  const workers = Array.from({ length: settings.workers }, superviseWorker)
  void runScheduler({ ...settings, database, store, queue }, signal, () => failures++)
  for (const token of accessTokens) {
    const connect = async () => mirrorOne(database, store, (await store.save(token)).key)
    await untilItWorks('connection', connect, signal)
  }
  console.log(`Open ${site.url}. Ctrl-C ends all processes.`)

  await Promise.all(workers)
  site.close()
  // The scheduler might be waiting for a Redis that does not respond. The next start adds the jobs that are missing.
  redis.disconnect()
  await close()
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

/** Starts a Redis without a disk, because the database can replace all of its data. */
function startRedis(folder: string): string {
  const path = join(folder, 'redis.sock')
  const options = ['--port', '0', '--unixsocket', path, '--save', '', '--dir', folder]
  // In its own process group, so that Ctrl-C does not end it before the workers.
  const server = spawn('redis-server', options, { stdio: 'ignore', detached: true })
  server.once('error', (error) => {
    console.error(`Install redis-server, or set REDIS_URL. It did not start: ${messageOf(error)}`)
    process.exit(1)
  })
  process.once('exit', () => server.kill())
  return path
}

/** Starts a sandbox and connects its organizations. Its tokens are new at each start, so the data is not kept. */
async function startService(): Promise<void> {
  const { startSandbox } = await import('support-workspace-sdk/sandbox')
  const { url, state, issueToken } = await startSandbox({ organizations: 20 })
  process.env.BASE_URL = url
  process.env.STORE_SECRET = randomBytes(32).toString('base64')
  process.env.DATABASE_URL = join(folder, 'replica.sqlite')
  for (const { id } of state.organizations) accessTokens.push(issueToken({ organization: id, actor: 'self' }))
  console.log(`The local service runs at ${url}.`)
}
