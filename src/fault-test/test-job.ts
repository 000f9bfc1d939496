import { schemas } from '../client/index.ts'
import { type Check, checkFunction, readOptions } from '../shared/check-options.ts'
import { selectFaults } from './fault-selection.ts'
import type { FaultTestJob, FaultTestOptions } from './options.ts'
import type { FaultTestReport } from './report.ts'
import { runJob } from './run-job.ts'
import { simulateGlobals } from './simulated-globals.ts'
import { optionsWithout, sharedChecks, testAll } from './test-all.ts'

const checks = {
  setup: checkFunction<NonNullable<FaultTestOptions['setup']>>,
  check: checkFunction<NonNullable<FaultTestOptions['check']>>,
  done: checkFunction<NonNullable<FaultTestOptions['done']>>,
  client: optionsWithout<NonNullable<FaultTestOptions['client']>>(
    'baseUrl',
    'accessToken',
    'actor',
    'fetch',
    'rateLimiter',
  ),
  ...sharedChecks,
} satisfies Record<keyof FaultTestOptions, Check<unknown>>

/** Runs a job once for each of its requests and each fault. */
export async function testJob(givenJob: FaultTestJob, givenOptions: FaultTestOptions): Promise<FaultTestReport> {
  const job = checkFunction<FaultTestJob>('job', givenJob)
  const options = readOptions(givenOptions, checks, '`faultTest`')
  const { setup, check, done, client } = options
  // The first use of a schema or of a text loads a module. Do it now, because simulated time does not wait for it.
  await schemas.user['~standard'].validate({})
  await import('../html/index.ts')
  const restoreGlobals = simulateGlobals()
  try {
    return await testAll({
      options,
      parallel: 1,
      run: (plan, injected, ids) => runJob({ ...plan, job, setup, check, done, client, ids }, injected),
      select: (clean) => selectFaults(clean, options),
    })
  } finally {
    restoreGlobals()
  }
}
