import { type JobsOptions, Queue, type QueueOptions } from 'bullmq'
import { Redis } from 'ioredis'

export const queueName = 'fleet-sync'

/** The data of both kinds of job: `due`, which the scheduler of a connection makes, and `sync`, which runs a sweep. */
export interface SyncJobData {
  readonly key: string
}
export type SyncQueue = Queue<SyncJobData, void>

/** Connects to Redis in the way that BullMQ needs. */
export function connectToRedis(redisUrl: string): Redis {
  // BullMQ waits for jobs without a limit, and repeats a command until Redis is back.
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  redis.on('error', (error) => console.error(`Redis: ${error.message}`))
  return redis
}

export function openQueue(connection: QueueOptions['connection']): SyncQueue {
  return new Queue(queueName, { connection })
}

/** Finished jobs to keep for the board. */
export const keep: JobsOptions = { removeOnComplete: { count: 200 }, removeOnFail: { count: 200 } }

/**
 * Adds a sweep of a connection. While one waits, runs or is delayed, another is not added: a sweep that takes longer than
 * the interval must not run twice at the same time.
 */
export async function addSync(queue: SyncQueue, key: string): Promise<void> {
  await queue.add(
    'sync',
    { key },
    { ...keep, deduplication: { id: key }, attempts: 5, backoff: { type: 'exponential', delay: 1000, jitter: 0.5 } },
  )
}
