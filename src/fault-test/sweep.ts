import { schemas } from '../client/index.ts'
import { checkSignal } from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import {
  type Check,
  checkFunction,
  checkInteger,
  checkObject,
  checkOneOf,
  mustBe,
  readOptions,
} from '../shared/check-options.ts'
import { readData, runCleanly } from './clean-runs.ts'
import type { Strike } from './faults.ts'
import type { FaultTestOptions, SweptJob } from './options.ts'
import { createReport, type FaultTestReport } from './report.ts'
import { type Run, runJob } from './run.ts'
import { simulateGlobals } from './simulated-globals.ts'
import { checkSelection, checkStruck, pairsOf, selectionChecks, singlesOf } from './strikes.ts'
import { judge, type Verdict } from './verdicts.ts'

const checks = {
  setup: checkFunction<NonNullable<FaultTestOptions['setup']>>,
  check: checkFunction<NonNullable<FaultTestOptions['check']>>,
  unseen: checkUnseen,
  done: checkFunction<NonNullable<FaultTestOptions['done']>>,
  sandbox: optionsWithout<NonNullable<FaultTestOptions['sandbox']>>('now'),
  client: optionsWithout<NonNullable<FaultTestOptions['client']>>(
    'baseUrl',
    'accessToken',
    'actor',
    'fetch',
    'rateLimiter',
  ),
  ...selectionChecks,
  depth(name, value) {
    if (value === 1 || value === 2) return value
    throw mustBe('the number 1 or 2', name, value, 'Pass 2 for pairs.')
  },
  budget: (name, value) => checkInteger(name, value, 0, 'Leave it out for 100.'),
  seed: (name, value) => checkInteger(name, value, 0, 'Leave it out for 1.'),
  signal: checkSignal,
} satisfies Record<keyof FaultTestOptions, Check<unknown>>

/** Runs a job once for each of its requests and each fault. */
export async function sweep(givenJob: SweptJob, givenOptions: FaultTestOptions): Promise<FaultTestReport> {
  const job = checkFunction<SweptJob>('job', givenJob)
  const options = readOptions(givenOptions, checks, '`faultTest`')
  const { seed = 1, budget = 100 } = options
  // The first use of a schema or of a text loads a module. Do it now, because simulated time does not wait for it.
  await schemas.user['~standard'].validate({})
  await import('../html/index.ts')
  const restoreGlobals = simulateGlobals()
  try {
    const data = readData(options)
    const plan = { ...options, ...data, job, seed, start: data.end, maxRequests: 10_000, cleanRequests: [] }
    const runOnce = (delay: number) =>
      runJob({ ...plan, start: data.end + delay, seed: delay > 0 ? seed + 1 : seed }, [])
    const baseline = await runCleanly('job', runOnce)
    const { requests } = baseline.run
    const swept = { ...plan, maxRequests: requests.length * 20 + 50, cleanRequests: requests }
    const runs: { readonly run: Run; readonly verdicts: readonly Verdict[] }[] = []
    const add = async (strikes: readonly Strike[], count: number): Promise<void> => {
      throwIfAborted(options.signal)
      const run = await runJob(swept, strikes)
      runs.push({ run, verdicts: judge(baseline, run) })
      showProgress(`Fault test: ${runs.length} of ${count}`)
    }
    if (options.only !== undefined) {
      for (const strikes of options.only) await add(strikes, options.only.length)
      for (const { run, verdicts } of runs) if (verdicts.length === 0) checkStruck(run)
    } else {
      checkSelection(options, baseline.run)
      const singles = singlesOf(baseline.run, options)
      for (const strike of singles) await add([strike], singles.length)
      const firsts = runs.filter(({ verdicts }) => verdicts.length === 0).map(({ run }) => run)
      const total = singles.length + (options.depth === 2 ? budget : 0)
      for (const pair of pairsOf(firsts, options, seed)) {
        if (runs.length >= total) break
        await add(pair, total)
      }
    }
    return createReport({ what: 'job', clean: baseline.run, runs, seed, notes: [] })
  } finally {
    showProgress('')
    restoreGlobals()
  }
}

export function checkUnseen(name: string, value: unknown): 'allowed' | 'reported' {
  return checkOneOf(name, value, ['allowed', 'reported'])
}

/**
 * Returns the check of an object of options that must not have the names in `own`, because each run sets these itself.
 */
export function optionsWithout<Options extends object>(...own: readonly string[]): Check<Options> {
  return (name, options) => {
    checkObject(name, options, `Pass an object, or leave it out.`)
    const extra = own.find((each) => Reflect.get(options, each) !== undefined)
    if (extra === undefined) return options as Options
    throw new InvalidArgumentError(
      name,
      `\`${name}\` has \`${extra}\`, which each run gets from the fault test.`,
      `Leave it out, or create a client in the job, with \`sandbox.url\` and \`sandbox.fetch\`.`,
    )
  }
}

/** Shows the progress in one line, if stderr is a terminal. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`)
}
