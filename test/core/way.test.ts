import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

let counts: Record<string, { readonly functions: number; readonly files: number }>

beforeAll(async () => {
  const program = fileURLToPath(new URL('way.program.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [program])
  counts = JSON.parse(stdout)
})

test.each([
  ['a call that succeeds at once', 87, 21],
  ['a call that is repeated once', 134, 29],
  ['a list of three pages', 98, 22],
])('%s runs at most %i functions of %i files', (name, functions, files) => {
  expect(counts[name]?.functions).toBeLessThanOrEqual(functions)
  expect(counts[name]?.files).toBeLessThanOrEqual(files)
})
