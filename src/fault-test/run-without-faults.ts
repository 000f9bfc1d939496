import { SupportWorkspaceError } from '../errors/index.ts'
import { describeError } from './describe-error.ts'
import type { FaultTestOptions } from './options.ts'
import { createRunSandbox, type Run } from './run.ts'

/** The result of the runs without faults, to which the other runs are compared. */
export interface Baseline {
  readonly run: Run
  /**
   * Targets and outputs whose content differs between two runs without faults, for example because it has a time or a
   * random text. Only their number is compared.
   */
  readonly variable: ReadonlySet<string>
}

/** The next step after a failure of a job, by a text that the description of the failure contains. */
const jobHints: Readonly<Record<string, string>> = {
  'waiting for nothing': 'Settle every promise. Timers that a module kept, as with `promisify(setTimeout)`, stay real.',
  'real input': 'Use local files and databases, open connections in `setup`, and send requests to the sandbox only.',
  NetworkError: 'Pass `fetch: sandbox.fetch` to your client.',
}

/**
 * How much later the second run starts, in milliseconds. The first delay changes the day, the hour, the minute and the
 * second. If the runs then differ, perhaps because items have become old, the second delay changes only the minute and
 * the second.
 */
const delays = [93_784_005, 64_005]

/**
 * Runs a job or a program without a fault, and again at another time with other random numbers. Throws if the two runs
 * differ.
 *
 * @param runOnce receives the delay of the run's start, in milliseconds
 */
export async function runWithoutFaults(runOnce: (delay: number) => Promise<Run>): Promise<Baseline> {
  const run = checkDone(await runOnce(0))
  const differences: string[] = []
  for (const delay of delays) {
    const other = checkDone(await runOnce(delay))
    const targets = [...run.writes, ...other.writes].map(({ target }) => target)
    const different = ['Requests', ...targets].find((what) => countOf(what, run) !== countOf(what, other))
    if (different === undefined) {
      const contents = (each: Run, target: string) =>
        JSON.stringify(each.writes.flatMap((write) => (write.target === target ? write.content : [])).sort())
      const variable = new Set(targets.filter((target) => contents(run, target) !== contents(other, target)))
      const sorted = (lines: readonly string[] = []) => JSON.stringify([...lines].sort())
      for (const [name, lines] of run.outputs) if (sorted(lines) !== sorted(other.outputs.get(name))) variable.add(name)
      return { run, variable }
    }
    differences.push(
      `${different}: ${countOf(different, run)} in the first, ${countOf(different, other)} in the second`,
    )
  }
  const where = {
    job: 'Create in `setup` what the job keeps elsewhere: module variables, files and databases are not rolled back. If the job acts on what is old, make the age a parameter, and create what is old enough in `setup`.',
    program:
      'Let the program keep its files in SUPPORT_WORKSPACE_FOLDER: files and databases elsewhere are not rolled back. If it acts on what is old, make the age a parameter.',
  }
  throw refused(
    `Two runs of the ${run.what} without a fault differ. ${differences[0]}.`,
    `The second run is a day later, and then a minute. ${where[run.what]}`,
  )
}

/** Returns the number of a run's requests, or of its writes with a target. */
function countOf(what: string, { requests, writes }: Run): number {
  return what === 'Requests' ? requests.length : writes.filter(({ target }) => target === what).length
}

function checkDone(run: Run): Run {
  const { what, end, attempts, error, uncaught, checkError } = run
  if (uncaught.length > 0) {
    throw refused(
      `The ${what} leaves an error unhandled without a fault.`,
      'Await promises, and handle events.',
      uncaught[0],
    )
  }
  if (end !== 'done' || attempts.length > 1) {
    const ended = error !== undefined ? describeError(error).text : attempts.join(', ')
    const how = [`${ended}.`, ...run.output].join('\n') + (run.output.length > 0 ? '\n' : '')
    const known = Object.entries(jobHints).find(([words]) => how.includes(words))?.[1]
    const hint =
      what === 'job'
        ? (known ?? 'Correct the job, `setup` or `done`.')
        : 'Correct the program, or what it needs to run, such as the variables of its environment.'
    throw refused(`The ${what} is not done without a fault: ${how}`, hint, error)
  }
  if (checkError !== undefined) {
    const { text } = describeError(checkError.thrown)
    throw refused(
      `\`check\` failed without a fault: ${text}.`,
      `Fix the ${what} or \`check\` first.`,
      checkError.thrown,
    )
  }
  if (run.requests.length === 0) {
    const hint = {
      job: 'Use `workspace`, or a client with `sandbox.fetch`.',
      program:
        'Let it read SUPPORT_WORKSPACE_URL and SUPPORT_WORKSPACE_TOKEN, and keep its files in SUPPORT_WORKSPACE_FOLDER: what is left elsewhere may say that all is done.',
    }
    throw refused(`The ${what} sends no request to the sandbox.`, hint[what])
  }
  return run
}

/** The earliest start of a run, in milliseconds since the epoch. */
const beginning = Date.UTC(2026, 0, 5, 9)
const hour = 3_600_000

/**
 * Returns the ids of the data that each sandbox starts with, and the full hour after the newest time in it, in
 * milliseconds since the epoch. Runs start then, so all data is past.
 */
export function readData(options: Pick<FaultTestOptions, 'sandbox'>) {
  const { state } = createRunSandbox(options)
  const items = state.organizations.flatMap(({ id }) => {
    const { conversations, contacts, members, tasks, segments, messages } = state.of(id)
    const threads = conversations.flatMap((conversation) => messages(conversation.id))
    return [...conversations, ...contacts, ...members, ...tasks, ...segments, ...threads]
  })
  const times = Array.from(JSON.stringify(items).matchAll(/_at":(\d+)/g), ([, seconds]) => Number(seconds) * 1_000)
  const newest = times.reduce((one, other) => Math.max(one, other), beginning)
  return { ids: new Set(items.map(({ id }) => id)), end: (Math.floor(newest / hour) + 1) * hour }
}

function refused(message: string, hint: string, cause?: unknown): SupportWorkspaceError {
  return new SupportWorkspaceError(message, { hint, ...(cause !== undefined && { cause }) })
}
