import type { Sandbox } from '../../sandbox/index.ts'
import type { FaultTestChange } from '../faults.ts'
import type { FaultTestEnd, FaultTestOptions } from '../options.ts'

/** The sandbox and the folder of one run of a program. */
export interface ProgramRun {
  /** Base URL of the sandbox, for example `http://127.0.0.1:40000`. */
  readonly url: string
  /** A token of the sandbox that acts as a person. After exit code 77, the next start gets a new token. */
  readonly token: string
  /** The path of the run's folder. The folder survives kills. */
  readonly folder: string
}

/** How a program ended. */
export interface ProgramOutcome {
  /**
   * Why the fault test started the program no more. See `FaultTestOutcome`, except that `gave-up` means four starts.
   */
  readonly end: FaultTestEnd
  /** The path of the run's folder. */
  readonly folder: string
  /** How each start of the program ended, in a few words, for example `['was killed', 'ended with code 0 (done)']`. */
  readonly attempts: readonly string[]
  /** The text that the program has printed to stdout and stderr, in all its starts. */
  readonly output: string
}

/** The meaning of an exit code: the program is done, or has the remedy of an error. */
export type ProgramExit = 'done' | 'verify' | 'fix' | 'retry' | 'reconnect'

/** Options of `faultTestProgram`. */
export interface ProgramOptions
  extends Pick<FaultTestOptions, 'sandbox' | 'faults' | 'requests' | 'only' | 'unseen' | 'signal'> {
  /**
   * Returns the environment variables that the program gets in addition to SUPPORT_WORKSPACE_URL,
   * SUPPORT_WORKSPACE_TOKEN, SUPPORT_WORKSPACE_FOLDER and the environment of this process.
   *
   * @default no others
   */
  readonly env?: ((run: ProgramRun) => Readonly<Record<string, string>>) | undefined
  /**
   * The path of a folder with the files that the program reads and writes. Each run gets a copy. A link to
   * a file outside the folder is refused, except below `node_modules`.
   *
   * @default an empty folder
   */
  readonly folder?: string | undefined
  /**
   * Files below the folder that must have the same lines as after a run without faults, for example `['contacts.csv']`.
   *
   * @default none
   */
  readonly outputs?: readonly string[] | undefined
  /**
   * The meanings of exit codes, in addition to the default. Any other code is a crash, after which the program is
   * started again.
   *
   * @default { 0: 'done', 65: 'verify', 70: 'fix', 75: 'retry', 77: 'reconnect' }
   */
  readonly exits?: Readonly<Record<number, ProgramExit>> | undefined
  /**
   * The working directory of the program.
   *
   * @default the working directory of this process
   */
  readonly cwd?: string | undefined
  /** Prepares the sandbox and the folder of a run before the program first starts. */
  readonly setup?: ((sandbox: Sandbox, run: ProgramRun) => void | Promise<void>) | undefined
  /**
   * Checks the data and the folder after the program has ended, and throws if they are wrong. The third parameter is as
   * in `FaultTestOptions`.
   */
  readonly check?:
    | ((sandbox: Sandbox, outcome: ProgramOutcome, change: FaultTestChange | undefined) => void | Promise<void>)
    | undefined
  /**
   * Whether to inject only the six faults that find most, for a test that runs at every change.
   *
   * @default false
   */
  readonly quick?: boolean | undefined
  /**
   * Number of runs at the same time.
   *
   * @default the number of cores
   */
  readonly parallel?: number | undefined
}
