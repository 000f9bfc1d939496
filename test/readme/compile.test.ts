import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { commentExamples } from './comment-examples.ts'
import { examplesFolder, examplesOf, guides, needsEngine, readmeExamples, writeExamples } from './examples.ts'
import { problemsIn } from './problems.ts'

test('every example of the README, the guides and the docs comments compiles in strict mode', async () => {
  const all = [...readmeExamples(), ...guides.flatMap(examplesOf), ...commentExamples()]
  const examples = all.filter((example) => !needsEngine(example))
  expect(examples.length).toBeGreaterThan(40)
  const folder = `${examplesFolder}/compile`
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeExamples(folder, examples)
  const files = examples.map(({ path }) => `${folder}/${path}`)
  expect(problemsIn(files, folder)).toEqual([])
}, 180_000)
