/**
 * Keeps a replica of the conversations and messages of many organizations, with several worker processes.
 *
 *   npm run example:fleet-sync      starts it with a local sandbox of 20 organizations
 *
 * It needs a Redis: the one at REDIS_URL or at 127.0.0.1:6379, or an installed redis-server, which it starts. To use the
 * real service, set these variables:
 *
 *   BASE_URL        base URL of the service, for example https://api.supportwire.app
 *   STORE_SECRET    at least 32 characters, for example from `openssl rand -base64 32`
 *   DATABASE_URL    a postgres:// URL, or the path of a SQLite file
 *   ACCESS_TOKENS   tokens to connect, separated by spaces. In your app, the login saves them: see connections.ts.
 *
 * These are optional, with both:
 *
 *   SYNC_INTERVAL   seconds between two sweeps of a connection, 60 by default
 *   FLEET_NOTES     1 adds a note to each new conversation of a connection with actor=self
 *   WORKERS         number of worker processes, 2 by default
 *   CONCURRENCY     sweeps at a time in each worker process, 20 by default
 *   PORT            port of the status page, 3000 by default
 */
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { openConnections } from './connections.ts'
import { openDatabase } from './database.ts'
import { serveSite } from './page/site.ts'
import { connectToRedis, openQueue } from './queue.ts'
import { findRedis } from './redis-server.ts'
import { scheduleAll } from './scheduler.ts'
import { readSettings } from './settings.ts'
import { startWorker } from './start-worker.ts'

const accessTokens = (process.env.ACCESS_TOKENS ?? '').split(' ').filter((token) => token !== '')
// Workers read the tokens from the store, so no process that is started here gets them.
delete process.env.ACCESS_TOKENS
// Unlike by default, a signal during the start also stops what this process has started.
const exit = () => process.exit(1)
process.once('SIGINT', exit).once('SIGTERM', exit)
const redisServer = await findRedis().catch((error: Error) => {
  console.error(error.message)
  process.exit(1)
})
process.env.REDIS_URL = redisServer.url
const folder = mkdtempSync(join(tmpdir(), 'fleet-sync-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const sandbox = process.env.BASE_URL ? undefined : await startSandbox({ organizations: 20 })
if (sandbox !== undefined) {
  // A local service starts with new tokens each time, so nothing needs to outlive it.
  process.env.BASE_URL = sandbox.url
  process.env.STORE_SECRET = randomBytes(32).toString('base64')
  process.env.DATABASE_URL ??= join(folder, 'replica.sqlite')
}
const settings = readSettings()

const database = await openDatabase(settings.databaseUrl)
const redis = connectToRedis(settings.redisUrl)
const queue = openQueue(redis)
const { store, close: closeConnections } = openConnections(settings)
for (const token of sandbox ? tokensOf(sandbox) : accessTokens) await store.save(token)

const shutdown = new AbortController()
const { signal } = shutdown
// First, because the port may be in use.
const site = await serveSite({ database, queue }, Number(process.env.PORT ?? 3000))
const workers = Array.from({ length: Number(process.env.WORKERS ?? 2) }, runWorker)
const scheduling = runScheduler()
console.log(
  `Open ${site.url}${sandbox ? `\nThe local service runs at ${sandbox.url}` : ''}\nCtrl-C ends all processes.`,
)

process.off('SIGINT', exit).off('SIGTERM', exit)
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
console.log('Shutting down.')
shutdown.abort()
await Promise.all([...workers, scheduling])
await Promise.all([site.close(), queue.close(), closeConnections(), database.close()])
redis.disconnect()
await redisServer.close()
await sandbox?.close()

function tokensOf({ state, issueToken }: Sandbox): string[] {
  return state.organizations.map(({ id }) => issueToken({ organization: id, actor: 'self' }))
}

/** Keeps a worker process running until the shutdown. */
async function runWorker(): Promise<void> {
  while (!signal.aborted) {
    const worker: ChildProcess = await startWorker(settings)
    const ended = once(worker, 'exit')
    const stop = () => void worker.kill('SIGTERM')
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    await ended
    signal.removeEventListener('abort', stop)
  }
}

/** Looks for new logins and revoked connections every few seconds. */
async function runScheduler(): Promise<void> {
  while (!signal.aborted) {
    await scheduleAll({ store, database, queue, interval: settings.interval }).catch((error) => console.error(error))
    await setTimeout(5_000, undefined, { signal }).catch(() => {})
  }
}
