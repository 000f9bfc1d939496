import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
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

describe('a folder that cannot be copied leaves nothing behind', () => {
  /** Runs a fault test with the folder, and returns what it has left among the temporary files. */
  async function runWith(folder: string, temporary: string) {
    vi.stubEnv('TMPDIR', temporary)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { code, stderr } = await run(['fault-test', '--folder', folder, '--', process.execPath, '--version'])
    return { code, stderr, left: readdirSync(temporary) }
  }

  test.each<[string, (path: string) => unknown]>([
    ['a named pipe', (path) => execFileSync('mkfifo', [path])],
    [
      'a socket',
      (path) => {
        const server = createServer().listen(path)
        onTestFinished(() => void server.close())
        return new Promise((resolve) => server.once('listening', resolve))
      },
    ],
  ])('because of %s, which is named', async (_, create) => {
    const folder = createFolder()
    mkdirSync(join(folder, 'inner'))
    await create(join(folder, 'inner', 'special'))
    const { code, stderr, left } = await runWith(folder, createFolder())
    expect({ code, left }).toEqual({ code: 2, left: [] })
    expect(stderr).toContain('is no file, folder or link: inner/special.')
  })
})
