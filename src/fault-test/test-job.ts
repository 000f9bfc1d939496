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
  readOptions,
} from '../shared/check-options.ts'
import { checkInjected, checkSelection, selectFaults, selectionChecks } from './fault-selection.ts'
import { type Judgement, judge } from './judgements.ts'
import type { FaultTestJob, FaultTestOptions } from './options.ts'
import { createReport, type FaultTestReport } from './report.ts'
import { type Run, runJob } from './run-job.ts'
import { readData, runWithoutFaults } from './run-without-faults.ts'
import { simulateGlobals } from './simulated-globals.ts'

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
  seed: (name, value) => checkInteger(name, value, 0, 'Leave it out for 1.'),
  signal: checkSignal,
} satisfies Record<keyof FaultTestOptions, Check<unknown>>

/** Runs a job once for each of its requests and each fault. */
export async function testJob(givenJob: FaultTestJob, givenOptions: FaultTestOptions): Promise<FaultTestReport> {
  const job = checkFunction<FaultTestJob>('job', givenJob)
  const options = readOptions(givenOptions, checks, '`faultTest`')
  const { seed = 1 } = options
  // The first use of a schema or of a text loads a module. Do it now, because simulated time does not wait for it.
  await schemas.user['~standard'].validate({})
  await import('../html/index.ts')
  const restoreGlobals = simulateGlobals()
  try {
    const data = readData(options)
    const plan = { ...options, ...data, job, seed, start: data.end, maxRequests: 10_000, cleanRequests: [] }
    const runOnce = (delay: number) =>
      runJob({ ...plan, start: data.end + delay, seed: delay > 0 ? seed + 1 : seed }, undefined)
    const baseline = await runWithoutFaults('job', runOnce)
    const { requests } = baseline.run
    const faultyPlan = { ...plan, maxRequests: requests.length * 20 + 50, cleanRequests: requests }
    const runs: { readonly run: Run; readonly judgements: readonly Judgement[] }[] = []
    if (options.only === undefined) checkSelection(options, baseline.run)
    const selected = options.only ?? selectFaults(baseline.run, options)
    for (const injected of selected) {
      throwIfAborted(options.signal)
      const run = await runJob(faultyPlan, injected)
      runs.push({ run, judgements: judge(baseline, run) })
      showProgress(`Fault test: ${runs.length} of ${selected.length}`)
    }
    if (options.only !== undefined) {
      for (const { run, judgements } of runs) if (judgements.length === 0) checkInjected(run)
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

let lastLine = performance.now()

/** Shows the progress in one line if stderr is a terminal, and otherwise in a line each half minute. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\u001b[2K${text}`)
  } else if (text !== '' && performance.now() - lastLine > 30_000) {
    lastLine = performance.now()
    process.stderr.write(`${text}\n`)
  }
}
