import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { useFolder } from './folder.ts'
import { run } from './run.ts'

const createFolder = useFolder()

test.each([
  ['without a program', ['fault-test'], 2, 'command'],
  ['with a program that there is not', ['fault-test', '--', './missing'], 2, 'missing'],
])('%s it says so', async (_, args, exit, text) => {
  const { code, stdout, stderr } = await run(args)
  expect({ code, stdout }).toEqual({ code: exit, stdout: '' })
  expect(stderr).toContain(text)
})

test('a folder with a named pipe cannot be copied, and nothing is left behind', async () => {
  const [folder, temporary] = [createFolder(), createFolder()]
  vi.stubEnv('TMPDIR', temporary)
  onTestFinished(() => void vi.unstubAllEnvs())
  mkdirSync(join(folder, 'inner'))
  execFileSync('mkfifo', [join(folder, 'inner', 'special')])
  const { code, stderr } = await run(['fault-test', '--folder', folder, '--', process.execPath, '--version'])
  expect({ code, left: readdirSync(temporary) }).toEqual({ code: 2, left: [] })
  expect(stderr).toContain('is no file, folder or link: inner/special.')
})
