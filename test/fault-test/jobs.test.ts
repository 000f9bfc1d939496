import { test } from 'vitest'
import { expectFoundAndMended, plantedJobs } from './jobs.ts'

// `proofs/fault-test/planted-jobs.test.ts` has the others.
test.each(plantedJobs.slice(0, 1))('a job that $title is found, and clean when mended', async (job) => {
  await expectFoundAndMended(job)
})
