import { describe, test } from 'vitest'
import { expectFoundAndMended, plantedJobs } from './jobs.ts'

describe.each([1, 2, 3])('with seed %i', (seed) => {
  test.each(plantedJobs)('a job that $title is found, and clean when mended', async (job) => {
    await expectFoundAndMended(job, seed)
  })
})
