import { rm } from 'node:fs/promises'
import { afterAll, describe } from 'vitest'
import { examplesFolder, examplesOf, writeExamples } from '../readme/examples.ts'

const folder = `${examplesFolder}/fault-tests`
const examples = examplesOf('fault-tests.md')

const { NODE_OPTIONS } = process.env
// The programs of the guide load the source, as the tests do.
process.env.NODE_OPTIONS = `--import=${new URL('../../scripts/from-source.js', import.meta.url)}`

afterAll(async () => {
  if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS
  else process.env.NODE_OPTIONS = NODE_OPTIONS
  await rm(folder, { recursive: true, force: true })
})

// The examples are tests themselves. They run in this process, because a sweep is slow in one that has just started.
await writeExamples(folder, examples)
for (const { title, path } of examples.filter((example) => example.path.endsWith('.test.ts'))) {
  describe(title, () => import(/* @vite-ignore */ `${folder}/${path}`))
}
