// The BullMQ queue, which has a job for each slice of a sync pass.
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { log } from './log.ts'

export const queueName = 'fleet-sync'

/** A job runs a slice of an organization's sync pass. The database can replace every job that Redis loses. */
export interface SyncJob {
  /** The key of the organization's connection. */
  readonly key: string
  /** Number of further slices that go before the slices of other organizations. */
  readonly first: number
}

export type SyncQueue = Queue<SyncJob, string>

/** Connects to Redis in the way that BullMQ needs. */
export function connectToRedis(redisUrl: string): Redis {
  // BullMQ waits for jobs without a limit, and repeats a command until Redis is back. A connection that has gone silent
  // is replaced, after more than the 10 seconds that BullMQ lets Redis wait for a job.
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null, socketTimeout: 15_000 })
  redis.on('error', (error) => log('redis', { message: error.message }))
  return redis
}

export function openQueue(connection: Redis): SyncQueue {
  const queue: SyncQueue = new Queue(queueName, { connection })
  queue.on('error', (error) => log('redis', { message: error.message }))
  return queue
}

/** Adds jobs to the back of the queue. Organizations that have a job already are skipped. */
export async function addJobs(queue: SyncQueue, jobs: readonly SyncJob[]): Promise<void> {
  await queue.addBulk(
    jobs.map((data) => ({
      name: 'sync',
      data,
      opts: {
        deduplication: { id: data.key },
        // The smaller number goes first.
        priority: data.first > 0 ? 1 : 2,
        removeOnComplete: { count: 200 },
        removeOnFail: { count: 200 },
      },
    })),
  )
}
