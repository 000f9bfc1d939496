/**
 * Proves that a job survives: runs it once for each of its requests and each fault. For Node only.
 *
 * @module support-workspace-sdk/sweep
 */
import { SupportWorkspaceError } from '../shared/errors/index.ts'
import type { SweepOptions, SweptJob } from './options.ts'
import type { SweepReport } from './report.ts'

export type { FaultName, Strike } from './faults.ts'
export type { SweepEnd, SweepOptions, SweepOutcome, SweepWorld, SweptJob } from './options.ts'
export type { SweepReport, SweepRun } from './report.ts'
export type { Verdict, VerdictName } from './verdicts.ts'

/**
 * Runs a job without faults and counts its requests. Then runs it once for each request and each fault, each time in a fresh
 * sandbox with the same data, and repeats it after a failure as a queue would, by the `remedy` of the error. Reports writes
 * that were applied twice or are missing although the job said that it was done, and jobs that are stuck or never end.
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
 * @throws SupportWorkspaceError if the job sends nothing, fails without a fault, or differs between two runs without one.
 * @throws InvalidArgumentError if an option is invalid.
 * @throws TypeError if an option of `sandbox` is invalid.
 */
export async function sweepFaults<Context = undefined, Value = unknown, State extends object = Record<string, unknown>>(
  job: SweptJob<Context, Value, State>,
  options: SweepOptions<Context, Value> = {},
): Promise<SweepReport> {
  const { process } = globalThis as { process?: { versions?: Readonly<Record<string, string>> } }
  const { node, bun, deno } = process?.versions ?? {}
  if (node === undefined || bun !== undefined || deno !== undefined) {
    throw new SupportWorkspaceError('A sweep simulates time with hooks that only Node has.', {
      hint: 'Run it in Node 22 or later.',
    })
  }
  // Loaded now, so that importing this entry point fails nowhere.
  const { sweep } = await import('./sweep.ts')
  return sweep(job as SweptJob, options as object as SweepOptions)
}
