import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { exampleOf } from '../../scripts/site/methods.ts'
import { operations } from '../../src/client/resources/operations.ts'
import { commentExamples } from './comment-examples.ts'
import { examplesFolder, examplesOf, guides, needsEngine, readmeExamples, writeExamples } from './examples.ts'
import { problemsIn } from './problems.ts'

test('every example of the README, the guides, the docs comments and the reference compiles in strict mode', async () => {
  const reference = operations.map((operation) => ({
    title: operation.id,
    path: `reference/${operation.id}.ts`,
    code: exampleOf(operation),
  }))
  const agents = readmeExamples('AGENTS.md').map((example) => ({ ...example, path: `agents/${example.path}` }))
  const all = [...readmeExamples(), ...agents, ...guides.flatMap(examplesOf), ...commentExamples(), ...reference]
  const examples = all.filter((example) => !needsEngine(example))
  expect(examples.length).toBeGreaterThan(40)
  const folder = `${examplesFolder}/compile`
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeExamples(folder, examples)
  const files = examples.map(({ path }) => `${folder}/${path}`)
  expect(problemsIn(files, folder)).toEqual([])
}, 180_000)
