import { checkSignal } from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { type Check, checkOneOf, checkPlain } from '../shared/check-options.ts'
import { checkSelection, type Selection, selectionChecks } from './fault-selection.ts'
import type { InjectedFault } from './faults.ts'
import { judge } from './judgements.ts'
import type { FaultTestOptions } from './options.ts'
import { createReport, type FaultTestReport } from './report.ts'
import type { Run, RunPlan } from './run.ts'
import { readData, runWithoutFaults } from './run-without-faults.ts'

/** The checks of the options that jobs and programs share. */
export const sharedChecks = {
  ...selectionChecks,
  sandbox: optionsWithout<NonNullable<FaultTestOptions['sandbox']>>('now'),
  unseen: (name: string, value: unknown) => checkOneOf(name, value, ['allowed', 'reported']),
  signal: checkSignal,
}

/** A job or a program, and how to run it. */
interface Tested {
  readonly options: Selection & Pick<FaultTestOptions, 'sandbox' | 'signal' | 'unseen'>
  /** Number of runs at the same time. */
  readonly parallel: number
  /** @param ids the ids of the data that each sandbox starts with */
  run(plan: RunPlan, injected: InjectedFault | undefined, ids: ReadonlySet<string>): Promise<Run>
  /** Returns the faults of all runs. Throws if nothing can be compared with a run without faults. */
  select(clean: Run): InjectedFault[]
}

/** Makes the runs without faults, and then a run for each selected fault. */
export async function testAll(tested: Tested): Promise<FaultTestReport> {
  const { options } = tested
  const { sandbox, signal, unseen, only } = options
  try {
    const { ids, end: start } = readData(options)
    const plan = { sandbox, signal, unseen, start, maxRequests: 10_000, cleanRequests: [] }
    const baseline = await runWithoutFaults((delay) => tested.run({ ...plan, start: start + delay }, undefined, ids))
    const { run: clean } = baseline
    const selected = only ?? tested.select(clean)
    checkSelection(options, clean)
    const faultyPlan = { ...plan, cleanRequests: clean.requests, maxRequests: clean.requests.length * 20 + 1_000 }
    const runs: Run[] = []
    let [next, count] = [0, 0]
    const work = async (): Promise<void> => {
      for (let index = next++; index < selected.length; index = next++) {
        throwIfAborted(signal)
        runs[index] = await tested.run(faultyPlan, selected[index], ids)
        count += 1
        showProgress(`Fault test: ${count} of ${selected.length}`)
      }
    }
    await Promise.all(Array.from({ length: tested.parallel }, work))
    return createReport(
      clean,
      runs.map((run) => ({ run, judgements: judge(baseline, run) })),
    )
  } finally {
    showProgress('')
  }
}

/**
 * Returns the check of an object of options that must not have the names in `own`, because each run sets these itself.
 */
export function optionsWithout<Options extends object>(...own: readonly string[]): Check<Options> {
  return (name, options) => {
    // A promise without `await` would be ignored.
    const plain = checkPlain(name, options)
    const extra = own.find((each) => plain[each] !== undefined)
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
