import type { ConnectionStore } from 'support-workspace-sdk/oauth'
import type { Database } from './database.ts'
import { keep, type SyncQueue } from './queue.ts'

export interface SchedulerParts {
  readonly store: ConnectionStore
  readonly database: Database
  readonly queue: SyncQueue
  /** Time between the starts of two sweeps of a connection, in milliseconds. */
  readonly interval: number
}

/**
 * Gives each connection a job scheduler, and removes those of connections that are gone or revoked. Running it again
 * changes nothing, and several processes can run it at the same time. A connection that fails is reported on stderr, and
 * does not keep the others from their schedulers.
 */
export async function scheduleAll({ store, database, queue, interval }: SchedulerParts): Promise<void> {
  const schedulers = new Map((await queue.getJobSchedulers()).map(({ key, every }) => [key, every]))
  const { connections, unreadable } = await store.list()
  const kept = new Set(unreadable.map(({ key }) => key))
  for (const { key, organization, connectedAt, revokedAt } of connections) {
    if (revokedAt === undefined) kept.add(key)
    await reportFailure(key, async () => {
      // The worker that noticed may have been killed before it could say so.
      if (revokedAt !== undefined) return database.revoke(key, connectedAt)
      await database.connect({ key, organization: organization.name ?? organization.id, connectedAt })
      // An unchanged scheduler is left alone: to replace it would move its next run.
      if (schedulers.get(key) === interval) return
      await queue.upsertJobScheduler(key, { every: interval }, { name: 'due', data: { key }, opts: keep })
    })
  }
  for (const key of schedulers.keys()) {
    if (kept.has(key)) continue
    await reportFailure(key, async () => {
      // In this order, so that the next run repeats both if the database fails.
      await database.disconnect(key)
      await queue.removeJobScheduler(key)
    })
  }
}

async function reportFailure(key: string, run: () => Promise<void>): Promise<void> {
  await run().catch((error) => console.error(`The connection ${key} could not be scheduled: ${error}`))
}
