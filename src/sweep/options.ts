import type { SupportWorkspace } from '../client/index.ts'
import type { ClientOptions } from '../core/index.ts'
import type { KeyValueStorage } from '../key-value/index.ts'
import type { Sandbox, SandboxOptions } from '../sandbox/index.ts'
import type { WebAbortSignal } from '../shared/web-types.ts'
import type { FaultName } from './faults.ts'

/**
 * A job under test. It is called again after each failure and after each kill, as a queue would call it, with what survives
 * one.
 */
export type SweptJob<Context = undefined, Value = unknown, State extends object = Record<string, unknown>> = (
  world: SweepWorld<Context, State>,
) => Promise<Value>

/** What a job gets for one run. */
export interface SweepWorld<Context = undefined, State extends object = Record<string, unknown>> {
  /** A client of the sandbox that acts as a person. After a run that ended with `reconnect` it has a new token. */
  readonly workspace: SupportWorkspace<'self'>
  /** The sandbox, for jobs that create their own client: pass `sandbox.url`, `sandbox.fetch` and a token of `issueToken`. */
  readonly sandbox: Sandbox
  /**
   * A plain object that survives kills. A value is cloned when it is assigned to a property, and what changes inside it later
   * survives only if it is assigned again. The job is killed before each assignment, and before each `delete`.
   */
  readonly state: State
  /** A compare-and-set storage that survives kills. The job is killed before each write to it. */
  readonly storage: KeyValueStorage
  /** What `setup` returned. It survives kills. */
  readonly context: Context
}

/** How the last run of a job ended. */
export interface SweepOutcome<Context = undefined, Value = unknown> {
  /**
   * - `done`: the job resolved, and `done` did not object.
   * - `not-done`: the job resolved, but `done` returned false.
   * - `verify`, `fix`: the job rejected with an error of this remedy, which a queue does not repeat.
   * - `gave-up`: the job failed ten times.
   * - `never-ends`: the job was stopped.
   */
  readonly end: SweepEnd
  /** What the job resolved with. */
  readonly value: Value | undefined
  /** What the job rejected with. */
  readonly error: unknown
  /** The state at the end. */
  readonly state: Readonly<Record<string, unknown>>
  /** What `setup` returned. */
  readonly context: Context
  /** How each run of the job ended, in a few words. */
  readonly attempts: readonly string[]
}

/** How a job ended. See {@link SweepOutcome}. */
export type SweepEnd = 'done' | 'not-done' | 'verify' | 'fix' | 'gave-up' | 'never-ends'

/** Options of `sweepFaults`. */
export interface SweepOptions<Context = undefined, Value = unknown> {
  /** Prepares a sandbox before the job first runs in it, and opens what the job uses: files, databases, connections. */
  readonly setup?: ((sandbox: Sandbox) => Context | Promise<Context>) | undefined
  /**
   * Checks the data after the job has ended. It throws if the data is wrong. What it throws does not count in a run in which
   * somebody else has changed the data, because the job may have seen what was there before.
   */
  readonly check?: ((sandbox: Sandbox, outcome: SweepOutcome<Context, Value>) => void | Promise<void>) | undefined
  /**
   * Whether the job has done everything, for a job that resolves although something failed.
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
   * The numbers of the requests to inject them into, from 1.
   *
   * @default all
   */
  readonly requests?: readonly number[] | undefined
  /** The ids of the runs to repeat, as a report names them, such as `reset-after-effect@3`. Others are left out. */
  readonly only?: readonly string[] | undefined
  /**
   * With 2, pairs of faults follow the single ones.
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
  /** Ends the sweep early. It rejects with the reason of the signal. */
  readonly signal?: WebAbortSignal | undefined
}
