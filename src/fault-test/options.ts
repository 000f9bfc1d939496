import type { SupportWorkspace } from '../client/index.ts'
import type { ClientOptions } from '../core/index.ts'
import type { Sandbox, SandboxOptions } from '../sandbox/index.ts'
import type { KeyValueStorage } from '../storage/interface.ts'
import type { FaultName, FaultTestChange } from './faults.ts'

/**
 * The job to test. The fault test calls it again after a failure or a kill, like a queue, with the same `state`,
 * `storage` and `context`.
 */
export type FaultTestJob<Context = undefined, Value = unknown, State extends object = Record<string, unknown>> = (
  world: FaultTestWorld<Context, State>,
) => Promise<Value>

/** The argument of a job in one run. */
export interface FaultTestWorld<Context = undefined, State extends object = Record<string, unknown>> {
  /**
   * A client of the sandbox that acts as a person. After a call that ended with `reconnect`, the client has a new
   * token.
   */
  readonly workspace: SupportWorkspace<'self'>
  /**
   * The sandbox. A job that creates its own client passes `sandbox.url`, `sandbox.fetch` and a token of `issueToken`.
   */
  readonly sandbox: Sandbox
  /**
   * A plain object that survives kills. Assigning a value to a property clones the value, so assign it again after you
   * have changed something inside it. The fault test kills the job before each assignment and before each `delete`.
   */
  readonly state: State
  /** A compare-and-set storage that survives kills. The fault test kills the job before each write to the storage. */
  readonly storage: KeyValueStorage
  /** The value that `setup` returned. Survives kills. */
  readonly context: Context
}

/** How the last call of a job ended. */
export interface FaultTestOutcome<Context = undefined, Value = unknown> {
  /**
   * Why the fault test called the job no more:
   *
   * - `done`: the job resolved, and the option `done` returned true or is not set.
   * - `not-done`: the job resolved, but the option `done` returned false.
   * - `verify`, `fix`: the job rejected with an error of this remedy, after which a queue must not repeat the job.
   * - `gave-up`: the job was called ten times.
   * - `never-ends`: the fault test stopped the job.
   */
  readonly end: FaultTestEnd
  /** The value that the job resolved with. */
  readonly value: Value | undefined
  /** The error that the last call of the job rejected with. Undefined if it did not reject. */
  readonly error: unknown
  /** The job's `state` at the end. */
  readonly state: Readonly<Record<string, unknown>>
  /** The value that `setup` returned. */
  readonly context: Context
  /** How each call of the job ended, in a few words, for example `['was killed', 'resolved']`. */
  readonly attempts: readonly string[]
}

/** How a job ended. See {@link FaultTestOutcome}. */
export type FaultTestEnd = 'done' | 'not-done' | 'verify' | 'fix' | 'gave-up' | 'never-ends'

/** Options of `faultTest`. */
export interface FaultTestOptions<Context = undefined, Value = unknown> {
  /**
   * Prepares the sandbox of a run before the first call of the job, and opens files, databases and connections for the
   * job.
   */
  readonly setup?: ((sandbox: Sandbox) => Context | Promise<Context>) | undefined
  /**
   * Checks the data after the job has ended, and throws if the data is wrong. In a run in which a colleague or the
   * customer changes the data, `change` says what was changed and when. A function without this third parameter cannot
   * know that change, so its errors are ignored in these runs.
   */
  readonly check?:
    | ((
        sandbox: Sandbox,
        outcome: FaultTestOutcome<Context, Value>,
        change: FaultTestChange | undefined,
      ) => void | Promise<void>)
    | undefined
  /**
   * Whether the job is allowed to send a message although the customer or a colleague has written, and the job has not
   * read it. A message right after the response in which the job looked is never reported.
   *
   * @default 'reported'
   */
  readonly unseen?: 'allowed' | 'reported' | undefined
  /**
   * Returns whether the job has done everything. Set it for a job that resolves although a part of its work failed.
   *
   * @default a job that resolves is done
   */
  readonly done?: ((value: Value) => boolean | Promise<boolean>) | undefined
  /**
   * Options of the sandbox of each run, for example its data.
   *
   * @default one organization with 12 conversations and 12 contacts, or 3 of each for a program
   */
  readonly sandbox?: Omit<SandboxOptions, 'now'> | undefined
  /** Options of the job's client, for example `{ maxRetries: 0 }`. */
  readonly client?: Omit<ClientOptions, 'baseUrl' | 'accessToken' | 'actor' | 'fetch' | 'rateLimiter'> | undefined
  /**
   * The names of the faults to inject, for example `['reset-after-effect']`.
   *
   * @default all
   */
  readonly faults?: readonly FaultName[] | undefined
  /**
   * The numbers of the requests to inject the faults into. The first request of a run has the number 1.
   *
   * @default all
   */
  readonly requests?: readonly number[] | undefined
  /** The ids of the only runs to make, as the report names them, for example `['reset-after-effect@3']`. */
  readonly only?: readonly string[] | undefined
  /** Ends the fault test early. `faultTest` then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}
