import { type Job, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { RateLimiter } from 'support-workspace-sdk'
import { actOnError } from './act-on-error.ts'
import { openConnections } from './connections.ts'
import { openDatabase } from './database.ts'
import { addSync, connectToRedis, openQueue, queueName, type SyncJobData } from './queue.ts'
import type { Settings } from './settings.ts'
import { SharedRateLimiter } from './shared-rate-limiter.ts'
import { syncConnection } from './sync-connection.ts'
import { addNotes } from './write-once.ts'

/** Runs jobs until the process is told to end. */
export async function runWorker(
  settings: Settings,
  createRateLimiter: (redis: Redis) => RateLimiter = (redis) => new SharedRateLimiter(redis),
): Promise<void> {
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const database = await openDatabase(settings.databaseUrl)
  // A worker waits a short time for a rate limit. The queue waits longer ones, so that other connections get their turn.
  const connections = openConnections(settings, { maxRetryAfter: 5_000, rateLimiter: createRateLimiter(redis) })
  const { store } = connections
  const shutdown = new AbortController()
  const { signal } = shutdown

  async function run(job: Job<SyncJobData, void>, token?: string): Promise<void> {
    const { key } = job.data
    if (job.name === 'due') return addSync(queue, key)
    const claim = await database.claim(key)
    // The connection was revoked since the job was added.
    if (claim === undefined) return
    try {
      const parts = { workspace: await store.workspace(key), database, claim, signal }
      await syncConnection(parts)
      if (settings.addNotes) await addNotes(parts)
      await database.finishSweep(claim, (await queue.getJobScheduler(key))?.next)
    } catch (error) {
      await actOnError(error, { job, token, claim, database, store, signal })
    }
  }

  const worker = new Worker<SyncJobData, void>(queueName, run, {
    connection: redis,
    concurrency: settings.concurrency,
    // Another worker takes over the jobs of one that was killed, once their locks have expired.
    lockDuration: 5_000,
    stalledInterval: 2_000,
    // Many workers may be killed during a long sweep, which is no reason to give it up.
    maxStalledCount: 1_000,
  })
  worker.on('error', (error) => console.error(error.message))

  async function close(): Promise<void> {
    // With this listener the process would not end.
    process.off('disconnect', close)
    shutdown.abort(new Error('The worker shuts down.'))
    await worker.close()
    await Promise.all([queue.close(), connections.close(), database.close()])
    redis.disconnect()
  }
  process.once('SIGTERM', close)
  // Ctrl-C reaches every process of the terminal. The parent decides when its workers end.
  process.on('SIGINT', () => {})
  // If the parent is killed, its workers end as well.
  process.once('disconnect', close)
}
