import type { SupportWorkspace } from '../client/index.ts'
import type { ClientOptions } from '../core/index.ts'
import type { KeyValueStorage } from '../key-value/index.ts'
import type { Sandbox, SandboxOptions } from '../sandbox/index.ts'
import type { WebAbortSignal } from '../shared/web-types.ts'
import type { FaultName } from './faults.ts'

/**
 * The job to test. As a queue would, the fault test calls it again after a failure or a kill, with the same `state`,
 * `storage` and `context`.
 */
export type SweptJob<Context = undefined, Value = unknown, State extends object = Record<string, unknown>> = (
  world: SweepWorld<Context, State>,
) => Promise<Value>

/** The argument of a job. */
export interface SweepWorld<Context = undefined, State extends object = Record<string, unknown>> {
  /** A client of the sandbox that acts as a person. After a run that ended with `reconnect` it has a new token. */
  readonly workspace: SupportWorkspace<'self'>
  /** The sandbox, for jobs that create a client. Pass it `sandbox.url`, `sandbox.fetch` and a token of `issueToken`. */
  readonly sandbox: Sandbox
  /**
   * A plain object that survives kills. A value is cloned when you assign it to a property. Assign it again after you
   * change something inside it, because otherwise the change does not survive. The fault test kills the job before each
   * assignment and each `delete`.
   */
  readonly state: State
  /** A compare-and-set storage that survives kills. The fault test kills the job before each write to it. */
  readonly storage: KeyValueStorage
  /** The result of `setup`. It survives kills. */
  readonly context: Context
}

/** How the last run of a job ended. */
export interface SweepOutcome<Context = undefined, Value = unknown> {
  /**
   * - `done`: The job resolved, and `done` returned true or is not set.
   * - `not-done`: The job resolved, but `done` returned false.
   * - `verify`, `fix`: The job rejected with an error of this remedy. A queue does not repeat such a job.
   * - `gave-up`: The job failed ten times.
   * - `never-ends`: The job ran too long and was stopped.
   */
  readonly end: SweepEnd
  /** The value that the job resolved with. */
  readonly value: Value | undefined
  /** The error that the job rejected with. */
  readonly error: unknown
  /** The state at the end. */
  readonly state: Readonly<Record<string, unknown>>
  /** The result of `setup`. */
  readonly context: Context
  /** How each run of the job ended, in a few words. */
  readonly attempts: readonly string[]
}

/** How a job ended. See {@link SweepOutcome}. */
export type SweepEnd = 'done' | 'not-done' | 'verify' | 'fix' | 'gave-up' | 'never-ends'

/** Options of `sweepFaults`. */
export interface SweepOptions<Context = undefined, Value = unknown> {
  /** Prepares a sandbox before the job first runs in it. Open the files, databases and connections of the job here. */
  readonly setup?: ((sandbox: Sandbox) => Context | Promise<Context>) | undefined
  /**
   * Checks the data after the job has ended. Throw an error if the data is wrong. The error is ignored in runs in which
   * a colleague has changed the data, because the job might have read the data before the change.
   */
  readonly check?: ((sandbox: Sandbox, outcome: SweepOutcome<Context, Value>) => void | Promise<void>) | undefined
  /**
   * Returns whether the job has done everything. For jobs that resolve although something failed.
   *
   * @default a job that resolves is done
   */
  readonly done?: ((value: Value) => boolean | Promise<boolean>) | undefined
  /**
   * The data of each sandbox.
   *
   * @default one organization with 12 conversations and 12 contacts
   */
  readonly sandbox?: Omit<SandboxOptions, 'now'> | undefined
  /** Options of the client, for example `maxRetries: 0`. */
  readonly client?: Omit<ClientOptions, 'baseUrl' | 'accessToken' | 'actor' | 'fetch' | 'rateLimiter'> | undefined
  /**
   * The faults to inject.
   *
   * @default all
   */
  readonly faults?: readonly FaultName[] | undefined
  /**
   * The requests to inject faults into, by their number in the run, from 1.
   *
   * @default all
   */
  readonly requests?: readonly number[] | undefined
  /** The ids of the runs to repeat, as a report names them, such as `reset-after-effect@3`. Others are left out. */
  readonly only?: readonly string[] | undefined
  /**
   * Number of faults in one run. With 2, the test injects each fault alone first, and then pairs of faults.
   *
   * @default 1
   */
  readonly depth?: 1 | 2 | undefined
  /**
   * Maximum number of pairs, which are chosen at random.
   *
   * @default 100
   */
  readonly budget?: number | undefined
  /**
   * Selects the random numbers of the job and the pairs. The same seed repeats the same runs.
   *
   * @default 1
   */
  readonly seed?: number | undefined
  /** Ends the fault test early, which then rejects with the reason of the signal. */
  readonly signal?: WebAbortSignal | undefined
}
