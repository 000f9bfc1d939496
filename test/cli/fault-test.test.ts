import { expect, test } from 'vitest'
import { run } from './run.ts'

test.each([
  ['without a program', ['fault-test'], 2, 'command'],
  ['with a program that there is not', ['fault-test', '--', './missing'], 2, 'missing'],
])('%s it says so', async (_, args, exit, text) => {
  const { code, stdout, stderr } = await run(args)
  expect({ code, stdout }).toEqual({ code: exit, stdout: '' })
  expect(stderr).toContain(text)
})
