import { test } from 'vitest'
import { expectFoundAndMended, plantedJobs } from '../../test/fault-test/jobs.ts'
import { isFull } from '../is-full.ts'

// `npm test` has one of them.
test.runIf(isFull).each(plantedJobs)('a job that $title is found, and clean when mended', async (job) => {
  await expectFoundAndMended(job)
})
