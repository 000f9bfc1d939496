import { inspect } from 'node:util'
import { InvalidArgumentError, SupportWorkspaceError } from '../errors/index.ts'
import { untilAborted } from '../shared/abort.ts'
import { kindOf } from '../shared/json.ts'
import { definitionOf, type InjectedFault, idOf } from './faults.ts'
import { JobSandbox, type JobSandboxOptions } from './job-sandbox.ts'
import type { FaultTestEnd, FaultTestJob, FaultTestOptions } from './options.ts'
import type { Run } from './run.ts'

/** The job and the options that all runs share. */
export interface Plan extends Pick<FaultTestOptions, 'setup' | 'check' | 'done'>, JobSandboxOptions {
  readonly job: FaultTestJob
  /** Ids of the data that each sandbox starts with. */
  readonly ids: ReadonlySet<string>
}

/** Simulated time at the end of a run for late effects and for work that the job left behind, in milliseconds. */
const afterwards = 300_000
const maxFailures = 10
/** Simulated time until the job is called again, in milliseconds. Doubles after each failure, like in a queue. */
const pauseAfter = (failures: number): number => Math.min(10_000 * 2 ** failures, 600_000)

/**
 * Runs a job in a fresh sandbox, with a fault or without. Calls the job again like a queue, until it is done or cannot be
 * repeated.
 */
export async function runJob(plan: Plan, injected: InjectedFault | undefined): Promise<Run> {
  const jobSandbox = new JobSandbox(plan, injected)
  const { sandbox, record } = jobSandbox
  const ask = async <Answer>(name: 'setup' | 'done', given: () => Answer | PromiseLike<Answer>): Promise<Answer> => {
    const asking = Promise.resolve().then(given)
    const failing = asking.catch((cause: unknown) => {
      const where = injected === undefined ? 'a run without a fault' : `the run ${idOf(injected)}`
      const hint = `Fix \`${name}\`, which must not throw in any run.`
      throw new SupportWorkspaceError(`\`${name}\` failed in ${where}: ${describeError(cause).text}.`, { hint, cause })
    })
    return untilAborted(failing, plan.signal)
  }
  const context = await ask('setup', () => plan.setup?.(sandbox))
  jobSandbox.begin()
  const attempts: string[] = []
  const errors: unknown[] = []
  const { pause = 0 } = definitionOf(injected)
  let accessToken = sandbox.issueToken({ actor: 'self' })
  let [end, value]: [FaultTestEnd?, unknown?] = []
  let hasMetFault = false
  while (end === undefined) {
    const firstRequest = sandbox.requests.length
    const ending = await jobSandbox.call((world) => plan.job({ ...world, context }), accessToken)
    hasMetFault = record.hasMetFault(firstRequest)
    if (ending.kind === 'killed') {
      attempts.push('was killed')
      await jobSandbox.pause(Math.max(pauseAfter(0), pause))
    } else if (ending.kind === 'stopped') {
      attempts.push(`was stopped after ${ending.why}`)
      end = 'never-ends'
    } else if (ending.kind === 'resolved') {
      value = ending.value
      const isDone: unknown = plan.done === undefined || (await ask('done', () => plan.done?.(value)))
      if (typeof isDone !== 'boolean') {
        const hint = 'Return true if the job did everything, and false if it did not.'
        throw new InvalidArgumentError('done', `\`done\` must return a boolean, not ${kindOf(isDone)}.`, hint)
      }
      end = isDone ? 'done' : 'not-done'
      attempts.push(end === 'done' ? 'resolved' : 'resolved, but was not done')
    } else {
      errors.push(ending.error)
      const { name, remedy } = describeError(ending.error)
      attempts.push(`rejected with ${name}${remedy === undefined ? '' : ` (${remedy})`}`)
      if (remedy === 'verify' || remedy === 'fix') end = remedy
      else if (errors.length === maxFailures) end = 'gave-up'
      else await jobSandbox.pause(pauseAfter(errors.length - 1))
      if (remedy === 'reconnect') accessToken = sandbox.issueToken({ actor: 'self' })
    }
  }
  const unfinished = await jobSandbox.finish(afterwards)
  if (unfinished !== undefined) {
    attempts.push(`was stopped after ${unfinished}`)
    end = 'never-ends'
  }
  const error = end === 'done' ? undefined : errors.at(-1)
  const outcome = { end, value, error, state: jobSandbox.durable.state, context, attempts }
  const { check } = plan
  const ended = await record.end(() => check?.(sandbox, outcome, record.change), (check?.length ?? 0) > 2)
  return {
    ...ended,
    what: 'job',
    outcome,
    counts: { assignment: jobSandbox.counts.assignments, 'file write': 0, 'file cut': 0 },
    outputs: new Map([['`state`', textsIn(jobSandbox.durable.state).filter((text) => plan.ids.has(text))]]),
    output: [],
    hasMetFault,
    errors,
    uncaught: jobSandbox.uncaught,
  }
}

/** Returns the name, the text and the remedy of a thrown value. The text has no full stop at the end. */
export function describeError(thrown: unknown): { name: string; text: string; remedy: string | undefined } {
  try {
    if (thrown instanceof Error) {
      const remedy: unknown = Reflect.get(thrown, 'remedy')
      const text = String(thrown).replace(/\.$/, '')
      return { name: String(thrown.name), text, remedy: typeof remedy === 'string' ? remedy : undefined }
    }
  } catch {
    // If a getter of the error throws, the error is described like any other value.
  }
  return { name: `a value of type ${typeof thrown}`, text: print(thrown), remedy: undefined }
}

/** Returns a value as `console.log` would print it, but whole, even if the value's custom inspect function throws. */
export function print(value: unknown): string {
  const options = { depth: 8, maxStringLength: null, maxArrayLength: null }
  try {
    return inspect(value, options)
  } catch {
    return inspect(value, { ...options, customInspect: false })
  }
}

/** Returns all strings in a value, including the names of properties. */
function textsIn(value: unknown, around: readonly unknown[] = []): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || around.includes(value)) return []
  const entries = value instanceof Map || value instanceof Set ? [...value] : Object.entries(value)
  return entries.flat().flatMap((inner) => textsIn(inner, [...around, value]))
}
