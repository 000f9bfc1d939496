import { SupportWorkspaceError } from '../errors/index.ts'
import type { SweepOptions } from './options.ts'
import { describeError, type Plan, type Run, runJob } from './run.ts'
import { createData } from './stage.ts'

/** What runs without a fault show. */
export interface Baseline {
  readonly run: Run
  /** Targets whose content differs between two clean runs: a time, or a random text. Only their number is compared. */
  readonly variable: ReadonlySet<string>
  /** Ids of the data that each sandbox starts with. */
  readonly ids: ReadonlySet<string>
}

/** The next step, by what the words of a failure hold. */
const hints: Readonly<Record<string, string>> = {
  'waiting for nothing': 'Settle every promise. Timers that a module kept, as with `promisify(setTimeout)`, stay real.',
  'real input': 'Use local files and databases, open connections in `setup`, and send requests to the sandbox only.',
  NetworkError: 'Pass `fetch: sandbox.fetch` to a client of your own.',
}

/** Runs the job twice without a fault, at another time and with other random numbers. Refuses a job that differs. */
export async function runCleanly(plan: Plan): Promise<Baseline> {
  const run = await runJob(plan, [])
  const { end, attempts } = run.outcome
  const [error] = run.errors
  const [uncaught] = run.uncaught
  if (uncaught !== undefined) {
    throw refused('The job leaves an error unhandled without a fault.', 'Await promises, and handle events.', uncaught)
  }
  if (end !== 'done' || attempts.length > 1) {
    const how = run.errors.length > 0 ? describeError(error).text : attempts.join(', ')
    const hint = Object.entries(hints).find(([words]) => how.includes(words))?.[1] ?? 'Mend the job, `setup` or `done`.'
    throw refused(`The job is not done without a fault: ${how.replace(/\.$/, '')}.`, hint, error)
  }
  if (run.checkError !== undefined) {
    const { thrown } = run.checkError
    throw refused(
      `\`check\` throws a ${describeError(thrown).name} without a fault.`,
      'Mend the job or it first.',
      thrown,
    )
  }
  if (run.requests.length === 0) {
    throw refused('The job sends no request to the sandbox.', 'Use `workspace`, or a client with `sandbox.fetch`.')
  }
  const other = await runJob({ ...plan, start: plan.start + 5_000_000_123, seed: plan.seed + 1 }, [])
  const outline = (each: Run) => JSON.stringify([each.requests.length, each.writes.map(({ target }) => target).sort()])
  if (outline(run) !== outline(other)) {
    throw refused(
      'Two runs of the job without a fault do not send the same requests and writes.',
      'Create in `setup` what the job keeps elsewhere: module variables, files and databases are not rolled back.',
    )
  }
  const contents = (each: Run, target: string) =>
    JSON.stringify(each.writes.flatMap((write) => (write.target === target ? write.content : [])).sort())
  const targets = run.writes.map(({ target }) => target)
  const variable = new Set(targets.filter((target) => contents(run, target) !== contents(other, target)))
  return { run, variable, ids: idsOf(plan) }
}

/** Returns the ids of the data that each sandbox starts with. */
function idsOf(options: Pick<SweepOptions, 'sandbox'>): Set<string> {
  const { state } = createData(options)
  const items = state.organizations.flatMap(({ id }) => {
    const { conversations, contacts, members, tasks, segments, messages } = state.of(id)
    const threads = conversations.flatMap((conversation) => messages(conversation.id))
    return [...conversations, ...contacts, ...members, ...tasks, ...segments, ...threads]
  })
  return new Set(items.map(({ id }) => id))
}

function refused(message: string, hint: string, cause?: unknown): SupportWorkspaceError {
  return new SupportWorkspaceError(message, { hint, ...(cause !== undefined && { cause }) })
}
