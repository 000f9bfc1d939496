import type { RecordedRequest } from '../sandbox/index.ts'
import { type FaultName, faultNames, faults, type InjectedFault, idOf, placeOf } from './faults.ts'
import type { Judgement } from './judgements.ts'
import type { FaultTestEnd } from './options.ts'
import type { Run, Subject } from './run.ts'
import { operationOf } from './writes.ts'

/** One run of a fault test. */
export interface FaultTestRun {
  /** The id of the run, for example `reset-after-effect@3`. Pass `only: [id]` to repeat the run. */
  readonly id: string
  /** The name of the fault, for example `reset-after-effect`. */
  readonly fault: FaultName
  /** The number of the request, assignment or file write that met the fault, counted from 1. */
  readonly at: number
  /** How the job or program ended. */
  readonly end: FaultTestEnd
  /** How each call of the job ended, in a few words, for example `['was killed', 'resolved']`. */
  readonly attempts: readonly string[]
  /** The writes that had been applied when the fault was injected, as operation and path. */
  readonly appliedBefore: readonly string[]
  /** The problems of the run. Empty if the run passed. */
  readonly judgements: readonly Judgement[]
  /** The last lines that a program has printed, up to five. Empty for a job. */
  readonly output: readonly string[]
}

/** The result of a fault test. Prints as a table and a bug report for each cause. */
export interface FaultTestReport {
  /** All runs with faults, in the order in which they were made. */
  readonly runs: readonly FaultTestRun[]
  /** One failed run for each cause: the run with the earliest request and the simplest fault. */
  readonly failures: readonly FaultTestRun[]
  /** The operation ids of the writes in a run without faults, oldest first, for example `['messages.create']`. */
  readonly writes: readonly string[]
  /** Throws an `Error` with the bug reports if a run failed. */
  assert(): void
  /** Prints the report to stdout, and sets the exit code of the process to 1 if a run failed. */
  print(): void
  /** Returns the report as plain text. */
  toString(): string
}

/** @param clean a run without faults */
export function createReport(
  clean: Run,
  judged: readonly { readonly run: Run; readonly judgements: readonly Judgement[] }[],
): FaultTestReport {
  const { what, requests } = clean
  const writes = clean.writes.map(({ target }) => target.split(' ')[0] ?? '')
  const runs = judged.flatMap(({ run, judgements }) =>
    run.injected === undefined ? [] : toTestRun(run.injected, run, judgements),
  )
  const groups = groupByCause(runs)
  const reports = groups.map((group) => describeGroup(group, requests, what))
  const failed = runs.filter(({ judgements }) => judgements.length > 0).length
  const counts = `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}, ${failed} failed${failed === 0 ? '' : ` (causes: ${groups.length})`}.`
  const summary = `${counts} ${describeWrites(what, writes)}`
  return {
    runs,
    failures: groups.flatMap((group) => group.slice(0, 1)),
    writes,
    assert() {
      if (failed > 0) throw new Error([summary, ...reports].join('\n\n'))
    },
    print() {
      process.stdout.write(`${this.toString()}\n`)
      if (failed > 0) process.exitCode = 1
    },
    toString: () => [describeTable(runs, requests), summary, ...reports].join('\n\n'),
  }
}

function describeWrites(what: Subject, writes: readonly string[]): string {
  if (writes.length === 0) return `The ${what} sent no write.`
  return `Without a fault, ${writes.length} ${writes.length === 1 ? 'write' : 'writes'}: ${countWords(writes)}.`
}

function toTestRun(injected: InjectedFault, run: Run, judgements: readonly Judgement[]): FaultTestRun {
  const { end, attempts, output } = run
  const appliedBefore = run.appliedBefore.map(({ target }) => target)
  return { id: idOf(injected), ...injected, end, attempts, appliedBefore, judgements, output }
}

/**
 * Groups the failed runs by their first judgement. Each group begins with the earliest request and the simplest fault.
 */
function groupByCause(runs: readonly FaultTestRun[]): FaultTestRun[][] {
  const rank = ({ fault, at }: FaultTestRun): number =>
    Number(placeOf(fault) !== 'request') * 1e9 + at * 1e3 + faultNames.indexOf(fault)
  const failed = runs.filter(({ judgements }) => judgements.length > 0).sort((a, b) => rank(a) - rank(b))
  return [...Map.groupBy(failed, ({ judgements: [first] }) => `${first?.name} ${first?.subject}`).values()]
}

function describeGroup(group: readonly FaultTestRun[], requests: readonly RecordedRequest[], what: Subject): string {
  const [run, ...others] = group
  if (run === undefined) return ''
  const [first] = run.judgements
  return [
    `${first?.name.toUpperCase()}: ${describeFault(run, requests)}`,
    ...run.judgements.slice(0, 5).map(({ text }) => `  ${text}`),
    `  Applied before: ${run.appliedBefore.join(', ') || 'nothing'}`,
    `  The ${what} ${run.attempts.join(', then ')}.`,
    ...(run.output.length > 0 ? ['  It printed last:', ...run.output.map((line) => `    ${line}`)] : []),
    ...(others.length > 0 ? [`  The same in ${others.length} more: ${listOf(others.map(({ id }) => id))}`] : []),
    ...howToRepeat(what, run.id),
  ].join('\n')
}

function howToRepeat(what: Subject, id: string): string[] {
  if (what === 'program')
    return [`  To repeat it, pass \`only: ['${id}']\` to \`faultTestProgram\`, or --only ${id} in a shell.`]
  return [
    '  To repeat it:',
    `    test('survives ${id}', async () => {`,
    `      (await faultTest(job, { ...options, only: ['${id}'] })).assert()`,
    '    })',
  ]
}

function listOf(texts: readonly string[]): string {
  return texts.length > 6 ? `${texts.slice(0, 6).join(', ')}, …` : texts.join(', ')
}

function describeFault({ fault, at }: InjectedFault, requests: readonly RecordedRequest[]): string {
  const { text } = faults[fault]
  if (placeOf(fault) !== 'request') return `${text} (number ${at} of the run)`
  const request = requests[at - 1]
  const what = request === undefined ? '' : ` (${operationOf(request)}, ${request.method} ${request.path})`
  return `${text} at request ${at} of ${requests.length}${what}`
}

/** Returns the word for a run without judgements in the table. */
function describeEnd({ end, attempts }: FaultTestRun): string {
  if (end !== 'done') return end
  return attempts.length > 1 ? 'retried' : 'ok'
}

/** The explanation of a word in the table that looks like a failure, although the run has passed. */
const gaveUp = 'gave-up: the fault lasted for every repeat, so it could not be done. That is no failure.'

/**
 * Returns a table with a row for each fault and a column for each request, and lines for assignments and file writes.
 */
function describeTable(runs: readonly FaultTestRun[], requests: readonly RecordedRequest[]): string {
  const words = new Map(runs.map((run) => [run.id, run.judgements[0]?.name ?? describeEnd(run)]))
  const elsewhere = runs.filter(({ fault }) => placeOf(fault) !== 'request')
  const rows = faultNames
    .filter((fault) => placeOf(fault) === 'request')
    .map((fault) => [fault, ...requests.map((_, index) => words.get(`${fault}@${index + 1}`) ?? '')])
    .filter(([, ...cells]) => cells.some((cell) => cell !== ''))
  return [
    ...(rows.length > 0 ? [toTable([['', ...requests.map((_, index) => String(index + 1))], ...rows])] : []),
    requests.map((request, index) => `${index + 1} ${operationOf(request)}`).join(', '),
    ...([...words.values()].includes('gave-up') ? [gaveUp] : []),
    ...[...Map.groupBy(elsewhere, ({ fault }) => fault)].map(
      ([fault, all]) => `${faults[fault].text}: ${countWords(all.map(({ id }) => words.get(id) ?? ''))}`,
    ),
  ].join('\n\n')
}

function countWords(words: readonly string[]): string {
  const groups = Map.groupBy(words, (word) => word)
  return [...groups].map(([word, all]) => `${all.length} ${word}`).join(', ')
}

function toTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}
