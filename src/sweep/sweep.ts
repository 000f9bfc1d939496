import { schemas } from '../client/index.ts'
import { checkSignal } from '../core/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import {
  type Check,
  checkFunction,
  checkInteger,
  checkObject,
  checkText,
  mustBe,
  readOptions,
} from '../shared/check-options.ts'
import { InvalidArgumentError } from '../shared/errors/index.ts'
import { randomFrom } from '../shared/random.ts'
import { readData, runCleanly } from './clean-runs.ts'
import { type FaultName, faultNames, faults, idOf, isAtAssignment, type Strike } from './faults.ts'
import type { SweepOptions, SweptJob } from './options.ts'
import { createReport, type SweepReport } from './report.ts'
import { type Run, runJob } from './run.ts'
import { simulateGlobals } from './simulated-globals.ts'
import { judge, type Verdict } from './verdicts.ts'

const everything = 'Leave it out to sweep everything.'

const checks = {
  setup: checkFunction<NonNullable<SweepOptions['setup']>>,
  check: checkFunction<NonNullable<SweepOptions['check']>>,
  done: checkFunction<NonNullable<SweepOptions['done']>>,
  sandbox: optionsWithout<NonNullable<SweepOptions['sandbox']>>('now'),
  client: optionsWithout<NonNullable<SweepOptions['client']>>(
    'baseUrl',
    'accessToken',
    'actor',
    'fetch',
    'rateLimiter',
  ),
  faults: listOf(checkFault),
  requests: listOf((name, at) => checkInteger(name, at, 1, 'Requests count from 1.')),
  only: listOf(checkId),
  depth(name, value) {
    if (value === 1 || value === 2) return value
    throw mustBe('the number 1 or 2', name, value, 'Pass 2 for pairs.')
  },
  budget: (name, value) => checkInteger(name, value, 0, 'Leave it out for 100.'),
  seed: (name, value) => checkInteger(name, value, 0, 'Leave it out for 1.'),
  signal: checkSignal,
} satisfies Record<keyof SweepOptions, Check<unknown>>

/** Runs a job once for each of its requests and each fault. */
export async function sweep(givenJob: SweptJob, givenOptions: SweepOptions): Promise<SweepReport> {
  const job = checkFunction<SweptJob>('job', givenJob)
  const options = readOptions(givenOptions, checks, '`sweepFaults`')
  const { seed = 1, budget = 100 } = options
  // Loading a module takes real time, which the clock does not see.
  await schemas.user['~standard'].validate({})
  const restoreGlobals = simulateGlobals()
  try {
    const data = readData(options)
    const plan = { ...options, job, seed, start: data.end, maxRequests: 10_000 }
    const baseline = await runCleanly(plan, data)
    const { requests } = baseline.run
    const swept = { ...plan, maxRequests: requests.length * 20 + 50 }
    const runs: { readonly run: Run; readonly verdicts: readonly Verdict[] }[] = []
    const add = async (strikes: readonly Strike[], count: number): Promise<void> => {
      throwIfAborted(options.signal)
      const run = await runJob(swept, strikes)
      runs.push({ run, verdicts: judge(baseline, run) })
      showProgress(`Sweeping: ${runs.length} of ${count}`)
    }
    if (options.only !== undefined) {
      for (const strikes of options.only) await add(strikes, options.only.length)
      for (const { run, verdicts } of runs) if (verdicts.length === 0) checkStruck('only', run.strikes, run)
    } else {
      const fault = options.faults?.find((name) => !isAtAssignment({ fault: name })) ?? 'unavailable'
      for (const at of options.requests ?? []) checkStruck('requests', [{ fault, at }], baseline.run)
      for (const chosen of options.faults ?? []) checkStruck('faults', [{ fault: chosen, at: 1 }], baseline.run)
      const singles = singlesOf(baseline.run, options)
      for (const strike of singles) await add([strike], singles.length)
      const firsts = runs.filter(({ verdicts }) => verdicts.length === 0).map(({ run }) => run)
      const total = singles.length + (options.depth === 2 ? budget : 0)
      for (const pair of pairsOf(firsts, options, seed)) {
        if (runs.length >= total) break
        await add(pair, total)
      }
    }
    return createReport({ clean: baseline.run, runs, seed })
  } finally {
    showProgress('')
    restoreGlobals()
  }
}

/** Returns each fault at each request, and the kills before each assignment. */
function singlesOf({ requests, assignments }: Run, options: Pick<SweepOptions, 'faults' | 'requests'>): Strike[] {
  const chosen = faultNames.filter((name) => options.faults?.includes(name) ?? true)
  return chosen.flatMap((fault) => {
    const length = isAtAssignment({ fault }) ? assignments : requests.length
    const all = Array.from({ length }, (_, index) => ({ fault, at: index + 1 }))
    return all.filter((strike) => isAtAssignment(strike) || (options.requests?.includes(strike.at) ?? true))
  })
}

/** Yields every pair once, in random order: a fault that does no harm by itself, and a later one. */
function* pairsOf(firsts: readonly Run[], options: Pick<SweepOptions, 'faults'>, seed: number): Generator<Strike[]> {
  const random = randomFrom(seed)
  function* pairsAfter(first: Run): Generator<Strike[], undefined> {
    const [strike] = first.strikes
    if (strike === undefined || faults[strike.fault].lasts) return
    const seconds = singlesOf(first, options).filter((each) => canFollow(strike, each))
    while (seconds.length > 0) yield [strike, ...seconds.splice(Math.floor(random() * seconds.length), 1)]
  }
  const sources = firsts.map(pairsAfter)
  while (sources.length > 0) {
    const index = Math.floor(random() * sources.length)
    const pair = sources[index]?.next().value
    if (pair === undefined) sources.splice(index, 1)
    else yield pair
  }
}

/** Whether a strike can follow another: each request and each assignment is struck once, in order. */
function canFollow(first: Strike, second: Strike): boolean {
  return isAtAssignment(first) !== isAtAssignment(second) || second.at > first.at
}

/** Refuses strikes that did not happen in a run, because it proved nothing. */
function checkStruck(option: keyof SweepOptions, strikes: readonly Strike[], { requests, assignments }: Run): void {
  for (const strike of strikes) {
    const [count, what] = isAtAssignment(strike) ? [assignments, 'assignment'] : [requests.length, 'request']
    if (strike.at <= count) continue
    throw new InvalidArgumentError(
      option,
      `${idOf([strike])} never struck: the job made ${count} ${what}${count === 1 ? '' : 's'}.`,
      `Mend \`${option}\`, or leave it out to sweep everything.`,
    )
  }
}

/** Checks a list that leaves runs out. */
function listOf<Item>(checkItem: Check<Item>): Check<readonly Item[]> {
  return (name, list) => {
    if (!Array.isArray(list)) throw mustBe('an array', name, list, everything)
    if (list.length === 0)
      throw new InvalidArgumentError(name, `\`${name}\` is empty, so nothing is swept.`, everything)
    return Array.from(list, (item, index) => checkItem(`${name}[${index}]`, item))
  }
}

/** Reads the id of a run. */
function checkId(name: string, id: unknown): readonly Strike[] {
  const hint = 'Pass the ids of runs, as a report names them: their faults strike one after another.'
  const parts = checkText(name, id).split('+')
  const strikes = parts.map((part) => {
    const [fault, at] = part.split('@')
    return { fault: checkFault(name, fault), at: checkInteger(name, Number(at), 1, hint) }
  })
  const isInOrder = strikes.every((each, index) => strikes.slice(0, index).every((first) => canFollow(first, each)))
  if (isInOrder && idOf(strikes) === id) return strikes
  throw new InvalidArgumentError(name, `"${id}" is not the id of a run.`, hint)
}

function checkFault(name: string, fault: unknown): FaultName {
  if (faultNames.includes(fault as FaultName)) return fault as FaultName
  const text = checkText(name, fault)
  throw new InvalidArgumentError(name, `There is no fault "${text}".`, `Use one of: ${faultNames.join(', ')}.`)
}

/** Checks options of which each run gets some from the sweep. */
function optionsWithout<Options extends object>(...own: readonly string[]): Check<Options> {
  return (name, options) => {
    checkObject(name, options, `Pass an object, or leave it out.`)
    const extra = own.find((each) => Reflect.get(options, each) !== undefined)
    if (extra === undefined) return options as Options
    throw new InvalidArgumentError(
      name,
      `\`${name}\` has \`${extra}\`, which each run gets from the sweep.`,
      `Leave it out, or create a client of your own in the job, with \`sandbox.url\` and \`sandbox.fetch\`.`,
    )
  }
}

/** Shows on a terminal how many runs there have been. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`)
}
