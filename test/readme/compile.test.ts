import { rm } from 'node:fs/promises'
import ts from 'typescript'
import { expect, onTestFinished, test } from 'vitest'
import { commentExamples } from './comment-examples.ts'
import { examplesFolder, examplesOf, guides, readmeExamples, root, writeExamples } from './examples.ts'

test('every example of the README, the guides and the docs comments compiles in strict mode', async () => {
  const examples = [...readmeExamples(), ...guides.flatMap(examplesOf), ...commentExamples()]
  expect(examples.length).toBeGreaterThan(40)
  const folder = `${examplesFolder}/compile`
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeExamples(folder, examples)
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const files = examples.map(({ path }) => `${folder}/${path}`)
  const globals = ['globals.d.ts', 'comment-globals.d.ts'].map((name) => `${root}test/readme/${name}`)
  const program = ts.createProgram([...files, ...globals], { ...options, noUnusedLocals: false })
  const problems = ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file?.fileName.startsWith(folder))
    .map(({ file, messageText }) => {
      return `${file?.fileName.slice(folder.length + 1)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    })
  expect(problems).toEqual([])
}, 180_000)
