import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq'
import { ApiError, isSupportWorkspaceError } from 'support-workspace-sdk'
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
    switch (error.remedy) {
      case 'retry':
        return delay(failed, Date.now() + waitAfter(error, job.attemptsStarted), error.message)
      case 'verify':
        // `addNotes` looks for the note before it sends it again.
        return delay(failed, Date.now() + waitAfter(error, job.attemptsStarted), error.message)
      case 'reconnect':
        return endConnection(error, failed)
      case 'fix':
        await database.interrupt(claim, 'failed', { problem: error.message })
        throw new UnrecoverableError(error.message)
    }
  }
  // Not a failed call, for example a lost database: the queue repeats the job as often as its `attempts` allow.
  await database.interrupt(claim, 'failed', { problem: String(error) }).catch(() => {})
  throw error
}

/** Moves the job to a later time. Unlike a failure, this does not count as one of its attempts. */
async function delay({ job, token, claim, database }: FailedSync, until: number, problem: string): Promise<never> {
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

/** The token no longer works. The organization has to connect again, and is told so once. */
async function endConnection(error: Error, { claim, database, store }: FailedSync): Promise<never> {
  const connection = await store.get(claim.key)
  if (connection === undefined) await database.disconnect(claim.key)
  else if (connection.revokedAt !== undefined) await database.revoke(claim.key, connection.connectedAt)
  // There is a new login already, or the service rejected the token only once. The next attempt tells.
  else throw error
  throw new UnrecoverableError(error.message)
}
