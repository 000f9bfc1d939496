import { rm } from 'node:fs/promises'
import { afterAll, describe } from 'vitest'
import { examplesFolder, examplesOf, writeExamples } from '../readme/examples.ts'

const folder = `${examplesFolder}/prove-your-job`
const examples = examplesOf('prove-your-job.md')

afterAll(() => rm(folder, { recursive: true, force: true }))

// The examples are tests themselves. They run in this process, because a sweep is slow in one that has just started.
await writeExamples(folder, examples)
for (const { title, path } of examples) {
  describe(title, () => import(/* @vite-ignore */ `${folder}/${path}`))
}
