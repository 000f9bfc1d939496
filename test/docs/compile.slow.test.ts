import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { commentExamples, writeExamples } from './comment-examples.ts'
import { examplesFolder, root } from './page.ts'
import { problemsIn } from './problems.ts'

test('every example of the docs comments compiles in strict mode', async () => {
  const examples = commentExamples()
  expect(examples.length).toBeGreaterThan(30)
  const folder = `${examplesFolder}/compile`
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeExamples(folder, examples)
  const files = examples.map(({ path }) => `${folder}/${path}`)
  const globals = `${root}test/docs/comment-globals.d.ts`
  expect(problemsIn([...files, globals], folder)).toEqual([])
}, 180_000)
