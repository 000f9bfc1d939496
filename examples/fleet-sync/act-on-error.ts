import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq'
import { ApiError, InsufficientScopeError, isSupportWorkspaceError } from 'support-workspace-sdk'
import type { ConnectionStore } from 'support-workspace-sdk/oauth'
import { type Claim, type Database, LostLeaseError } from './database.ts'
import { NoteInFlightError } from './write-once.ts'

export interface FailedSync {
  readonly job: Job
  /** The token of the job's lock. */
  readonly token: string | undefined
  readonly claim: Claim
  readonly database: Database
  readonly store: ConnectionStore
  /** Aborted when the worker shuts down. */
  readonly signal: AbortSignal
}

/**
 * Decides what becomes of a job whose sweep failed. In each case but the last the sweep later continues from its position.
 */
export async function actOnError(error: unknown, failed: FailedSync): Promise<void> {
  const { job, token, claim, database, signal } = failed
  // The new owner continues the sweep, so this job has nothing left to do.
  if (error instanceof LostLeaseError) return
  if (signal.aborted) {
    await database.interrupt(claim, 'waiting')
    await job.moveToWait(token)
    throw new WaitingError()
  }
  if (error instanceof NoteInFlightError) return delay(failed, error.until, error.message)
  if (isSupportWorkspaceError(error)) {
    switch (error instanceof InsufficientScopeError ? 'fix' : error.remedy) {
      case 'retry':
      // `addNotes` looks for the note before it sends it again.
      case 'verify':
        return delay(failed, Date.now() + waitAfter(error, job.attemptsStarted), error.message)
      case 'reconnect':
        if (await isDisconnected(failed)) throw new UnrecoverableError(error.message)
        break
      case 'fix':
        await database.interrupt(claim, 'failed', { problem: error.message })
        throw new UnrecoverableError(error.message)
    }
  }
  // Anything else, such as a database that is down: the queue runs the job again as often as its `attempts` allow.
  await database.interrupt(claim, 'failed', { problem: String(error) }).catch(() => {})
  throw error
}

/**
 * The longest delay, in milliseconds. While a job is delayed, no other sweep of its connection is added, so a mistake in a
 * `Retry-After` could stop the connection for years. After a longer one that is meant, a request each hour does no harm.
 */
const longestDelay = 3_600_000

/** Moves the job to a later time. Unlike a failure, this does not count as one of its attempts. */
async function delay({ job, token, claim, database }: FailedSync, wanted: number, problem: string): Promise<never> {
  const until = Math.round(Math.min(wanted, Date.now() + longestDelay))
  await database.interrupt(claim, 'delayed', { problem, nextRunAt: until })
  await job.moveToDelayed(until, token)
  throw new DelayedError()
}

const longestBackoff = 60_000

/** Returns the delay that the service asked for, or else an exponential backoff with jitter, in milliseconds. */
function waitAfter(error: Error, attempt: number): number {
  if (error instanceof ApiError && error.retryAfter !== undefined) return error.retryAfter * 1000
  return Math.min(longestBackoff, 1000 * 2 ** attempt) * (0.5 + Math.random() / 2)
}

/**
 * Marks a connection whose token no longer works, and leaves a notice for its organization. Returns false if the connection
 * is still in the store: there is a new login already, or the service rejected the token only once.
 */
async function isDisconnected({ claim: { key }, database, store }: FailedSync): Promise<boolean> {
  const connection = await store.get(key)
  if (connection === undefined) await database.disconnect(key)
  else if (connection.revokedAt !== undefined) await database.revoke(key, connection.connectedAt)
  else return false
  return true
}
