import type { Sandbox } from '../../sandbox/index.ts'
import type { SweepEnd, SweepOptions } from '../options.ts'

/** The sandbox, the token and the folder of a run of a program. */
export interface ProgramRun {
  /** Base URL of the sandbox of the run. */
  readonly url: string
  /** A token of the sandbox that acts as a person. After exit code 77, the next start gets a new token. */
  readonly token: string
  /** The folder of the run, which survives kills. */
  readonly folder: string
}

/** How a program ended. */
export interface ProgramOutcome {
  /** How the last start of the program ended. */
  readonly end: SweepEnd
  /** The folder of the run. */
  readonly folder: string
  /** How each start of the program ended, in a few words. */
  readonly attempts: readonly string[]
  /** All that the program has printed. */
  readonly output: string
}

/** The meaning of an exit code: the program is done, or the remedy of its error. */
export type ProgramExit = 'done' | 'verify' | 'fix' | 'retry' | 'reconnect'

/** Options of `sweepProgram`. */
export interface ProgramOptions extends Pick<SweepOptions, 'sandbox' | 'faults' | 'requests' | 'only' | 'signal'> {
  /**
   * Returns environment variables for the program, which are added to the variables of this process.
   *
   * @default SUPPORT_WORKSPACE_URL, SUPPORT_WORKSPACE_TOKEN and SUPPORT_WORKSPACE_FOLDER
   */
  readonly env?: ((run: ProgramRun) => Readonly<Record<string, string>>) | undefined
  /**
   * Folder with the files that the program reads and writes. Each run gets a copy.
   *
   * @default an empty folder
   */
  readonly folder?: string | undefined
  /** Files below the folder. Their lines are compared with the lines after a run without faults. */
  readonly outputs?: readonly string[] | undefined
  /**
   * The meanings of exit codes. All other codes are crashes, after which the program is started again.
   *
   * @default { 0: 'done', 65: 'verify', 70: 'fix', 75: 'retry', 77: 'reconnect' }
   */
  readonly exits?: Readonly<Record<number, ProgramExit>> | undefined
  /**
   * The directory that the program runs in.
   *
   * @default the directory of this process
   */
  readonly cwd?: string | undefined
  /** Prepares the sandbox and the folder of a run. */
  readonly setup?: ((sandbox: Sandbox, run: ProgramRun) => void | Promise<void>) | undefined
  /** Checks the data and the folder after the program has ended. Throw an error if they are wrong. */
  readonly check?: ((sandbox: Sandbox, outcome: ProgramOutcome) => void | Promise<void>) | undefined
  /** Whether to inject only a few faults, for a test that runs at every change. */
  readonly quick?: boolean | undefined
  /**
   * Number of runs at the same time.
   *
   * @default the number of cores
   */
  readonly parallel?: number | undefined
}
