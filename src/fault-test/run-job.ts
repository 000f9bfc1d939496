import { untilAborted } from '../shared/abort.ts'
import { checkFlag } from '../shared/check-options.ts'
import type { InjectedFault } from './faults.ts'
import { type JobPlan, JobSandbox } from './job-sandbox.ts'
import type { Run } from './run.ts'

const mostCalls = 10

/** Runs a job in a fresh sandbox, with a fault or without. Calls the job again like a queue. */
export async function runJob(plan: JobPlan, injected: InjectedFault | undefined): Promise<Run> {
  const { setup, done, check, signal, ids } = plan
  const jobSandbox = new JobSandbox(plan, injected)
  const { sandbox, durable, counts, uncaught } = jobSandbox
  const context = await untilAborted(Promise.resolve(setup?.(sandbox)), signal)
  jobSandbox.begin()
  const calls = await jobSandbox.repeat(mostCalls, async () => {
    const ending = await jobSandbox.call((world) => plan.job({ ...world, context }))
    if (ending.end !== 'done' || done === undefined) return ending
    const isDone = checkFlag('done', await untilAborted(Promise.resolve(done(ending.value)), signal))
    return isDone ? ending : { ...ending, words: 'resolved, but was not done', end: 'not-done' }
  })
  jobSandbox.stop()
  const { end, value, error, attempts } = calls
  const { state } = durable
  return {
    ...(await jobSandbox.end(check, { end, value, error, state, context, attempts })),
    ...calls,
    what: 'job',
    counts: { assignment: counts.assignment, 'file write': 0, 'file cut': 0 },
    outputs: new Map([['`state`', textsIn(state).filter((text) => ids.has(text))]]),
    output: [],
    uncaught,
  }
}

/** Returns all strings in a value, including the names of properties. */
function textsIn(value: unknown, around: readonly unknown[] = []): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || around.includes(value)) return []
  const entries = value instanceof Map || value instanceof Set ? [...value] : Object.entries(value)
  return entries.flat().flatMap((inner) => textsIn(inner, [...around, value]))
}
