/**
 * Fault tests: runs a job once for each of its requests and each fault. For Node only.
 *
 * @module support-workspace-sdk/sweep
 */
import { SupportWorkspaceError } from '../shared/errors/index.ts'
import type { SweepOptions, SweptJob } from './options.ts'
import type { ProgramOptions } from './program/program-options.ts'
import type { SweepReport } from './report.ts'

export type { FaultName, Strike } from './faults.ts'
export type { SweepEnd, SweepOptions, SweepOutcome, SweepWorld, SweptJob } from './options.ts'
export type { ProgramExit, ProgramOptions, ProgramOutcome, ProgramRun } from './program/program-options.ts'
export type { SweepReport, SweepRun } from './report.ts'
export type { Verdict, VerdictName } from './verdicts.ts'

/**
 * Tests a job with faults. It first runs the job without faults and counts its requests. Then it runs the job once for
 * each request and each fault, each time in a fresh sandbox with the same data. After a failure it repeats the job as a
 * queue would, by the `remedy` of the error. The report has writes that were applied twice, writes that are missing
 * although the job said that it was done, and jobs that are stuck or do not end.
 *
 * Time is simulated for the job, so waits take no time. Only Node can do this.
 *
 * @example
 * const report = await sweepFaults(async ({ workspace }) => {
 *   const [newest] = (await workspace.conversations.list({ limit: 1 })).data
 *   if (newest !== undefined) await workspace.conversations.update(newest.id, { pinned: true })
 * })
 * report.assert()
 *
 * @throws SupportWorkspaceError if the job fails before any fault, sends no request, or behaves differently in a second
 *   run.
 * @throws InvalidArgumentError if an option is invalid.
 * @throws TypeError if an option of `sandbox` is invalid.
 */
export async function sweepFaults<Context = undefined, Value = unknown, State extends object = Record<string, unknown>>(
  job: SweptJob<Context, Value, State>,
  options: SweepOptions<Context, Value> = {},
): Promise<SweepReport> {
  requireNode()
  // Loaded now, so that importing this entry point fails nowhere.
  const { sweep } = await import('./sweep.ts')
  return sweep(job as SweptJob, options as object as SweepOptions)
}

/**
 * Tests a whole program with faults: its exit codes, its files and its database. It starts the program once for each
 * request and each fault, and kills it before and in the middle of each of its file writes. Each run has a sandbox over
 * HTTP and a copy of the folder. The exit code decides what happens next: 0 is done, 65 `verify`, 70 `fix`, 75 `retry`
 * and 77 `reconnect`. Every other code is a crash, after which the program is started again, four times in all.
 *
 * Waits of a Node program take no time. Other programs wait in real time. For Linux and macOS.
 *
 * [A whole program](docs/fault-tests.md#a-whole-program) has an example.
 *
 * @throws SupportWorkspaceError if the program fails before any fault, writes neither data nor `outputs`, or behaves
 *   differently in a second run.
 * @throws InvalidArgumentError if an option is invalid, or the program cannot be started.
 */
export async function sweepProgram(command: readonly string[], options: ProgramOptions = {}): Promise<SweepReport> {
  requireNode()
  const { sweepCommand } = await import('./program/runs.ts')
  return sweepCommand(command, options)
}

function requireNode(): void {
  const { process } = globalThis as { process?: { versions?: Readonly<Record<string, string>> } }
  const { node, bun, deno } = process?.versions ?? {}
  if (node !== undefined && bun === undefined && deno === undefined) return
  throw new SupportWorkspaceError('A sweep simulates time with hooks that only Node has.', {
    hint: 'Run it in Node 22 or later.',
  })
}
