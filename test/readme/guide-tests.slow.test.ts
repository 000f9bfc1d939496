import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { examplesFolder, examplesOf, root, writeExamples } from './examples.ts'

test.each([['testing.md', 6]])('the tests in %s pass', async (guide, count) => {
  const folder = `${examplesFolder}/tests-of-${guide}`
  const data = await mkdtemp(join(tmpdir(), 'guide-'))
  onTestFinished(async () => {
    for (const path of [folder, data]) await rm(path, { recursive: true, force: true })
  })
  await writeExamples(folder, examplesOf(guide))
  const config = `import base from '${root}vitest.config.ts'
    export default { ...base, root: '${folder}', test: { include: ['**/*.test.ts'] } }`
  await writeFile(`${folder}/vitest.config.ts`, config)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [`${root}node_modules/vitest/vitest.mjs`, 'run', '--root', folder],
    { env: { ...process.env, NO_COLOR: '1', STORAGE_PATH: `${data}/connections.db` } },
  )
  expect(stdout).toMatch(new RegExp(`Tests +${count} passed`))
})
