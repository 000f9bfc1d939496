// The BullMQ queue, which has a job for each pass of an organization.
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { log } from './log.ts'

export const queueName = 'fleet-sync'

/** A job runs one pass of the organization with this key. The database can replace every job that Redis loses. */
export type SyncJob = { readonly key: string }

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
