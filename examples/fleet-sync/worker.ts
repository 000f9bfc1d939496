// A worker process. You can start several, on all machines that can reach Redis and the database.
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type Job, Worker } from 'bullmq'
import { isSupportWorkspaceError } from 'support-workspace-sdk'
import { openConnections } from './connections.ts'
import { closeDatabase, openDatabase, untilItWorks } from './database.ts'
import { log, messageOf } from './log.ts'
import { countFailure, mirror } from './organizations.ts'
import { connectToRedis, openQueue, queueName, type SyncJob } from './queue.ts'
import { readSettings, type Settings } from './settings.ts'
import { syncOrganization } from './sync-organization.ts'

/** Runs jobs until the process is told to end. */
export async function runWorker(settings: Settings): Promise<void> {
  const shutdown = new AbortController()
  const { signal } = shutdown
  const ended = untilToldToEnd()
  ended.then(() => shutdown.abort(new Error('The worker is shutting down.')))
  const database = await untilItWorks('database', () => openDatabase(settings.databaseUrl), signal)
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const store = await untilItWorks('database', () => openConnections(settings, database), signal)

  async function run({ data: { key } }: Job<SyncJob, string>): Promise<string> {
    try {
      return await syncOrganization({ ...settings, database, store, key, signal })
    } catch (error) {
      if (signal.aborted) return 'interrupted'
      // The database is down, for example. The job fails, and the scheduler adds another.
      if (!isSupportWorkspaceError(error)) throw error
      log('failed', { organization: key, remedy: error.remedy, message: error.message })
      await countFailure(database, error.remedy)
      // Stops a revoked organization. If the token is lost, `reconcile` does it.
      const connection = await store.get(key).catch(() => undefined)
      if (connection?.revokedAt !== undefined) await mirror(database, store, key)
      return error.remedy
    }
  }

  const worker = new Worker<SyncJob, string>(queueName, run, {
    connection: redis,
    concurrency: settings.slots,
    // When a worker was killed, another worker takes over its jobs after their locks have expired.
    lockDuration: 15_000,
    stalledInterval: 5_000,
    // If several workers in turn were killed during a job, the scheduler adds the job again.
    maxStalledCount: 100,
  })
  worker.on('error', (error) => log('worker', { message: error.message }))
  worker.on('failed', (job, error) => {
    log('failed', { organization: job?.data.key, remedy: 'unexpected', message: error.message })
    countFailure(database, 'unexpected').catch(() => {})
  })
  worker.on('stalled', (job) => log('stalled', { job, remedy: 'none: another worker continues' }))
  process.send?.('ready')

  await ended
  // Waits only briefly for Redis, which might be down. The scheduler adds jobs again that are not complete.
  await Promise.race([worker.close().then(() => queue.close()), setTimeout(5_000)])
  redis.disconnect()
  await closeDatabase(database)
}

/** Resolves at SIGTERM, and when the parent process has ended. */
async function untilToldToEnd(): Promise<void> {
  // Ctrl-C reaches every process of the terminal. The parent decides when its workers end.
  process.on('SIGINT', () => {})
  const waiting = new AbortController()
  await Promise.race(['SIGTERM', 'disconnect'].map((event) => once(process, event, waiting)))
  // With a listener for `disconnect` the process would not end.
  waiting.abort()
}

if (import.meta.main) {
  await runWorker(readSettings()).catch((error) => {
    log('ended', { message: messageOf(error) })
    process.exitCode = 1
  })
  // Otherwise the process would run for as long as BullMQ waits for Redis.
  process.exit()
}
