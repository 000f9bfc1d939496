/**
 * Fault tests for jobs and programs: run the job once for each of its requests and each fault. For Node only.
 *
 * @module support-workspace-sdk/fault-test
 */
import { SupportWorkspaceError } from '../errors/index.ts'
import type { FaultTestJob, FaultTestOptions } from './options.ts'
import type { ProgramOptions } from './program/program-options.ts'
import type { FaultTestReport } from './report.ts'

export type { FaultName, FaultTestChange } from './faults.ts'
export type { Judgement, JudgementName } from './judgements.ts'
export type { FaultTestEnd, FaultTestJob, FaultTestOptions, FaultTestOutcome, FaultTestWorld } from './options.ts'
export type { ProgramExit, ProgramOptions, ProgramOutcome, ProgramRun } from './program/program-options.ts'
export type { FaultTestReport, FaultTestRun } from './report.ts'

/**
 * Runs a job without faults and counts its requests. Then runs the job once for each request and each fault. Each run
 * has a fresh sandbox with the same data. After a failure, the `remedy` of the error decides whether the job is called
 * again, like in a queue. Reports writes that were applied twice, writes that are missing although the job was done,
 * and jobs that are stuck or never end.
 *
 * The job runs in simulated time, so its waits end at once. Simulated time requires Node.
 *
 * @example
 * const report = await faultTest(async ({ workspace }) => {
 *   const [newest] = (await workspace.conversations.list({ limit: 1 })).data
 *   if (newest !== undefined) await workspace.conversations.update(newest.id, { pinned: true })
 * })
 * report.assert()
 *
 * @throws SupportWorkspaceError if the job sends no request, or if its two runs without faults fail or differ.
 * @throws InvalidArgumentError if an option is invalid.
 * @throws TypeError if an option of `sandbox` is invalid.
 */
export async function faultTest<Context = undefined, Value = unknown, State extends object = Record<string, unknown>>(
  job: FaultTestJob<Context, Value, State>,
  options: FaultTestOptions<Context, Value> = {},
): Promise<FaultTestReport> {
  requireNode()
  // Loaded here, so that other runtimes than Node can import this entry point.
  const { testJob } = await import('./test-job.ts')
  return testJob(job as FaultTestJob, options as object as FaultTestOptions)
}

/**
 * Tests a whole program like `faultTest` tests a job, including its exit codes, its files and its database. Starts
 * the program once for each request and each fault. Also kills the program before each of its file writes, and in the
 * middle of them. Each run has a sandbox over HTTP and a copy of the folder.
 *
 * The exit code decides what follows: 0 means done, 65 `verify`, 70 `fix`, 75 `retry` and 77 `reconnect`. After
 * `retry`, `reconnect` or any other code, which counts as a crash, the program is started again, up to four times in
 * all.
 *
 * Waits of a Node program end at once. Other programs wait in real time. For Linux and macOS.
 *
 * [A whole program](docs/fault-tests.md#a-whole-program) has an example.
 *
 * @throws SupportWorkspaceError if the program sends or writes nothing, or if its two runs without faults fail or
 *   differ.
 * @throws InvalidArgumentError if an option is invalid, or the program cannot be started.
 */
export async function faultTestProgram(
  command: readonly string[],
  options: ProgramOptions = {},
): Promise<FaultTestReport> {
  requireNode()
  const { testProgram } = await import('./program/test-program.ts')
  return testProgram(command, options)
}

function requireNode(): void {
  const { process } = globalThis as { process?: { versions?: Readonly<Record<string, string>> } }
  const { node, bun, deno } = process?.versions ?? {}
  if (node !== undefined && bun === undefined && deno === undefined) return
  throw new SupportWorkspaceError('A fault test simulates time with hooks that only Node has.', {
    hint: 'Run it in Node 22 or later.',
  })
}
