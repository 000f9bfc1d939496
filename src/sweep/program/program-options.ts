import type { Sandbox } from '../../sandbox/index.ts'
import type { SweepEnd, SweepOptions } from '../options.ts'

/** What a run of a program is told. */
export interface ProgramRun {
  /** Base URL of the sandbox of the run. */
  readonly url: string
  /** A token of the sandbox that acts as a person. After exit code 77, another one. */
  readonly token: string
  /** The folder of the run, which survives kills. */
  readonly folder: string
}

/** How a program ended. */
export interface ProgramOutcome {
  readonly end: SweepEnd
  /** The folder of the run. */
  readonly folder: string
  /** How each start of the program ended, in a few words. */
  readonly attempts: readonly string[]
  /** All that the program has printed. */
  readonly output: string
}

/** What an exit code says: the program has done everything, or one of the remedies of an error. */
export type ProgramExit = 'done' | 'verify' | 'fix' | 'retry' | 'reconnect'

/** Options of `sweepProgram`. */
export interface ProgramOptions extends Pick<SweepOptions, 'sandbox' | 'faults' | 'requests' | 'only' | 'signal'> {
  /**
   * The environment of the program, besides that of this process.
   *
   * @default SUPPORT_WORKSPACE_URL, SUPPORT_WORKSPACE_TOKEN and SUPPORT_WORKSPACE_FOLDER
   */
  readonly env?: ((run: ProgramRun) => Readonly<Record<string, string>>) | undefined
  /**
   * A folder that is copied for each run: what the program keeps, and what it reads.
   *
   * @default an empty folder
   */
  readonly folder?: string | undefined
  /** Files below the folder whose lines are compared with those of a run without faults. */
  readonly outputs?: readonly string[] | undefined
  /**
   * What exit codes mean. All others are crashes, after which the program is started again.
   *
   * @default { 0: 'done', 65: 'verify', 70: 'fix', 75: 'retry', 77: 'reconnect' }
   */
  readonly exits?: Readonly<Record<number, ProgramExit>> | undefined
  /**
   * The directory that the program runs in.
   *
   * @default that of this process
   */
  readonly cwd?: string | undefined
  /** Prepares the sandbox and the folder of a run. */
  readonly setup?: ((sandbox: Sandbox, run: ProgramRun) => void | Promise<void>) | undefined
  /** Checks the data and the folder after the program has ended. It throws if they are wrong. */
  readonly check?: ((sandbox: Sandbox, outcome: ProgramOutcome) => void | Promise<void>) | undefined
  /** Whether only a few faults are injected, for a test that runs at every change. */
  readonly quick?: boolean | undefined
  /**
   * Number of runs at the same time.
   *
   * @default the number of cores
   */
  readonly parallel?: number | undefined
}
