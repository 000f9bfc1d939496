import { inspect } from 'node:util'
import { InvalidArgumentError, SupportWorkspaceError } from '../errors/index.ts'
import type { RecordedRequest } from '../sandbox/index.ts'
import { untilAborted } from '../shared/abort.ts'
import { kindOf } from '../shared/json.ts'
import { definitionOf, type FaultTestChange, type InjectedFault, idOf, type Place } from './faults.ts'
import { JobSandbox, type JobSandboxOptions } from './job-sandbox.ts'
import type { FaultTestEnd, FaultTestJob, FaultTestOptions, FaultTestOutcome } from './options.ts'
import { type Effects, effectsOf, type NamedWrite } from './writes.ts'

/** Whether the fault test runs a job or a program. */
export type Subject = 'job' | 'program'

/** The job and the options that all runs share. */
export interface Plan extends Pick<FaultTestOptions, 'setup' | 'check' | 'done'>, JobSandboxOptions {
  readonly job: FaultTestJob
  /** Ids of the data that each sandbox starts with. */
  readonly ids: ReadonlySet<string>
}

/** The result of a run. */
export interface Run extends Effects {
  readonly what: Subject
  /** Undefined in a run without faults. */
  readonly injected: InjectedFault | undefined
  readonly outcome: FaultTestOutcome<unknown, unknown>
  /** The requests that the job sent. Requests of `setup` and `check` are left out. */
  readonly requests: readonly RecordedRequest[]
  /** Number of places where a fault can be injected, for each kind except requests. */
  readonly counts: Readonly<Record<Exclude<Place, 'request'>, number>>
  /** The writes that had been applied when the fault was injected. */
  readonly appliedBefore: readonly NamedWrite[]
  /** Whether the last call of the job met a fault. */
  readonly hasMetFault: boolean
  /** The error of each call of the job that rejected. */
  readonly errors: readonly unknown[]
  /** Unhandled errors of the job. */
  readonly uncaught: readonly unknown[]
  /** The tokens and cursors of the run. */
  readonly secrets: readonly string[]
  /** The item ids in the state of a job, or the lines of each file in the option `outputs` of a program. */
  readonly outputs: ReadonlyMap<string, readonly string[]>
  /** The last lines that a program has printed. */
  readonly output: readonly string[]
  /** The change that the customer or a colleague made. */
  readonly change: FaultTestChange | undefined
  /** The paths of messages that were sent without having read what somebody else had written. */
  readonly unseen: readonly string[]
  /** Whether `check` takes the change into account, because it declares the parameter. */
  readonly checksChange: boolean
  /** The error of `check`, in an object, because `check` can throw any value. */
  readonly checkError: { readonly thrown: unknown } | undefined
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
  const { sandbox } = jobSandbox
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
  const before = { requests: sandbox.requests.length, writes: sandbox.state.writes.length }
  jobSandbox.begin()
  const attempts: string[] = []
  const errors: unknown[] = []
  // A change by a colleague or the customer stays in the data, so each later call of the job meets the fault.
  const isChanged = definitionOf(injected).change !== undefined
  const { pause = 0 } = definitionOf(injected)
  let accessToken = sandbox.issueToken({ actor: 'self' })
  let [end, value, hasMetFault]: [FaultTestEnd?, unknown?, boolean?] = []
  while (end === undefined) {
    const firstRequest = sandbox.requests.length
    const ending = await jobSandbox.call((world) => plan.job({ ...world, context }), accessToken)
    hasMetFault =
      isChanged ||
      sandbox.requests.slice(firstRequest).some(({ fault, status }) => fault !== undefined || status === 401)
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
  const requests = sandbox.requests.slice(before.requests)
  const effects = effectsOf(sandbox, before.writes)
  const error = end === 'done' ? undefined : errors.at(-1)
  const outcome = { end, value, error, state: jobSandbox.durable.state, context, attempts }
  const checking = Promise.resolve().then(() => plan.check?.(sandbox, outcome, jobSandbox.change))
  const checkError = await untilAborted(
    checking.then(
      () => undefined,
      (thrown: unknown) => ({ thrown }),
    ),
    plan.signal,
  )
  return {
    what: 'job',
    injected,
    outcome,
    requests,
    counts: { assignment: jobSandbox.counts.assignments, 'file write': 0, 'file cut': 0 },
    outputs: new Map([['`state`', textsIn(jobSandbox.durable.state).filter((text) => plan.ids.has(text))]]),
    output: [],
    ...effects,
    appliedBefore: effects.writes.slice(0, (jobSandbox.writesBefore ?? before.writes) - before.writes),
    hasMetFault: hasMetFault ?? false,
    errors,
    uncaught: jobSandbox.uncaught,
    change: jobSandbox.change,
    unseen: plan.unseen === 'allowed' ? [] : jobSandbox.lastLook.unseen,
    checksChange: (plan.check?.length ?? 0) > 2,
    secrets: [...jobSandbox.tokens, ...requests.flatMap(({ query }) => [query.after ?? [], query.before ?? []].flat())],
    checkError,
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
