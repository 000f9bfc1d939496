// A worker process. You can start several, on all machines that can reach Redis and the database.
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type Job, Worker } from 'bullmq'
import { isSupportWorkspaceError, RateLimitError } from 'support-workspace-sdk'
import { openConnections } from './connections.ts'
import { createHealthSite, serveSite } from './health.ts'
import { log, messageOf } from './log.ts'
import { noteSkipped } from './notes.ts'
import { openDatabase, untilItWorks } from './open-database.ts'
import { countFailure } from './organizations.ts'
import { addJobs, connectToRedis, openQueue, queueName, type SyncJob } from './queue.ts'
import { mirrorOne } from './scheduler.ts'
import { readSettings, type Settings } from './settings.ts'
import { syncOrganization } from './sync-organization.ts'

/** Runs jobs until the process is told to end. */
export async function runWorker(settings: Settings): Promise<void> {
  const shutdown = new AbortController()
  const { signal } = shutdown
  const ended = untilToldToEnd()
  ended.then(() => shutdown.abort(new Error('The worker is shutting down.')))
  const opened = await untilItWorks('database', () => openDatabase(settings.databaseUrl), signal)
  const { database, storage, close } = opened
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const client = {
    // If a call would have to wait longer, it rejects, and the organization is due again after the wait.
    totalTimeout: settings.slice + 10_000,
    maxRetryAfter: settings.slice,
    timeout: 15_000,
  }
  const store = await untilItWorks('database', () => openConnections(settings, opened, client), signal)

  async function run({ data: { key } }: Job<SyncJob, string>): Promise<string> {
    const traffic = { requests: 0, refused: 0 }
    const hooks = {
      onAttemptEnd({ status }: { status: number | undefined }) {
        traffic.requests += 1
        if (status === 429) traffic.refused += 1
      },
    }
    try {
      const workspace = await store.workspace(key, { hooks })
      const result = await syncOrganization({ ...settings, workspace, database, key, signal, traffic })
      if (settings.addNotes && result === 'done' && workspace.actor === 'self') {
        await noteSkipped(workspace, { database, storage }, key)
      }
      return result
    } catch (error) {
      if (signal.aborted) return 'interrupted'
      // The database is down, for example. The job fails, and the scheduler adds another.
      if (!isSupportWorkspaceError(error)) throw error
      // A 429 only slows the sync pass down, and `traffic` counts it.
      if (error instanceof RateLimitError) return 'paced'
      log('failed', { organization: key, remedy: error.remedy, message: error.message })
      await countFailure(database, error.remedy)
      // Saves a revocation. If the token is lost or unreadable, `reconcile` decides, because it sees all organizations.
      const connection = await store.get(key).catch(() => undefined)
      if (connection?.revokedAt !== undefined) await mirrorOne(database, store, key)
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
  // Not a delayed job, because the clocks of workers differ. If this fails, the scheduler adds the job.
  worker.on('completed', ({ data }, result) => {
    if (result !== 'more') return
    addJobs(queue, [{ ...data, first: data.first - 1 }]).catch((error) => log('redis', { message: messageOf(error) }))
  })
  worker.on('failed', (job, error) => {
    log('failed', { organization: job?.data.key, remedy: 'unexpected', message: error.message })
    countFailure(database, 'unexpected').catch(() => {})
  })
  worker.on('stalled', async (id) => {
    const job = await queue.getJob(id).catch(() => undefined)
    log('stalled', { organization: job?.data.key, remedy: 'none: this worker continues' })
  })
  const { host, healthPort: port } = settings
  const site = createHealthSite({ database, queue })
  const server = port === undefined ? undefined : await serveSite(site, { host, port, name: 'HEALTH_PORT' })
  process.send?.('ready')

  await ended
  // Waits only briefly for Redis, which might be down. The scheduler adds jobs again that are not complete.
  await Promise.race([worker.close().then(() => queue.close()), setTimeout(5_000)])
  server?.close()
  redis.disconnect()
  await close()
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
