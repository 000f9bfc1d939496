import { inspect } from 'node:util'
import { untilAborted } from '../shared/abort.ts'
import { checkFlag } from '../shared/check-options.ts'
import type { InjectedFault } from './faults.ts'
import { type JobPlan, JobSandbox } from './job-sandbox.ts'
import type { Run } from './run.ts'

/** Simulated time at the end of a run for late effects and for work that the job left behind, in milliseconds. */
const afterwards = 300_000
const mostCalls = 10

/** Runs a job in a fresh sandbox, with a fault or without. Calls the job again like a queue. */
export async function runJob(plan: JobPlan, injected: InjectedFault | undefined): Promise<Run> {
  const { setup, done, check, signal, ids } = plan
  const jobSandbox = new JobSandbox(plan, injected)
  const { sandbox, durable, counts, uncaught } = jobSandbox
  const context = await untilAborted(Promise.resolve(setup?.(sandbox)), signal)
  jobSandbox.begin()
  let value: unknown
  const calls = await jobSandbox.repeat(mostCalls, async () => {
    const ending = await jobSandbox.call((world) => plan.job({ ...world, context }))
    if (ending.kind === 'killed') return { words: 'was killed', isKilled: true }
    if (ending.kind === 'stopped') return { words: `was stopped after ${ending.why}`, end: 'never-ends' }
    if (ending.kind === 'rejected') {
      const { name, remedy } = describeError(ending.error)
      const words = `rejected with ${name}${remedy === undefined ? '' : ` (${remedy})`}`
      return { words, remedy, error: ending.error }
    }
    value = ending.value
    const isDone = done === undefined || checkFlag('done', await untilAborted(Promise.resolve(done(value)), signal))
    return isDone ? { words: 'resolved', end: 'done' } : { words: 'resolved, but was not done', end: 'not-done' }
  })
  const unfinished = await jobSandbox.finish(afterwards)
  const attempts = unfinished === undefined ? calls.attempts : [...calls.attempts, `was stopped after ${unfinished}`]
  const end = unfinished === undefined ? calls.end : 'never-ends'
  const { state } = durable
  const { error, hasMetFault } = calls
  const ended = await jobSandbox.end(check, { end, value, error, state, context, attempts })
  return {
    ...ended,
    what: 'job',
    end,
    attempts,
    error,
    hasMetFault,
    counts: { assignment: counts.assignment, 'file write': 0, 'file cut': 0 },
    outputs: new Map([['`state`', textsIn(state).filter((text) => ids.has(text))]]),
    output: [],
    uncaught,
  }
}

/** Returns the name, the text and the remedy of a thrown value. The text has no full stop at the end. */
export function describeError(thrown: unknown): { name: string; text: string; remedy: string | undefined } {
  if (thrown instanceof Error) {
    const remedy: unknown = Reflect.get(thrown, 'remedy')
    const text = String(thrown).replace(/\.$/, '')
    return { name: String(thrown.name), text, remedy: typeof remedy === 'string' ? remedy : undefined }
  }
  const text = inspect(thrown, { customInspect: false })
  return { name: `a value of type ${typeof thrown}`, text, remedy: undefined }
}

/** Returns all strings in a value, including the names of properties. */
function textsIn(value: unknown, around: readonly unknown[] = []): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || around.includes(value)) return []
  const entries = value instanceof Map || value instanceof Set ? [...value] : Object.entries(value)
  return entries.flat().flatMap((inner) => textsIn(inner, [...around, value]))
}
