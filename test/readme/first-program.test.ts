import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { root } from './examples.ts'

/** Returns a project as `npm init` makes it, whose files are CommonJS by default, with this package in it. */
async function createProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'first-program-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'package.json'), '{ "type": "commonjs" }')
  const installed = join(folder, 'node_modules/support-workspace-sdk')
  await mkdir(installed, { recursive: true })
  const exports = { '.': './index.js', './sandbox': './sandbox.js' }
  await writeFile(join(installed, 'package.json'), JSON.stringify({ type: 'module', exports }))
  for (const name of ['index', 'sandbox']) {
    const source = pathToFileURL(`${root}src/${name === 'index' ? '' : `${name}/`}index.ts`).href
    await writeFile(join(installed, `${name}.js`), `export * from '${source}'`)
  }
  return folder
}

test.each(['README.md', 'docs/quickstart.md'])(
  'the first program of %s runs under the name that the page gives it',
  async (page) => {
    const text = await readFile(root + page, 'utf8')
    const [, name = '', command, code = ''] =
      /Save this as `([^`]+)` and run\s`node ([^`]+)`[\s\S]*?```ts\n([\s\S]+?)```/.exec(text) ?? []
    expect(command).toBe(name)
    const folder = await createProject()
    await writeFile(join(folder, name), code.replace('startSandbox()', 'startSandbox({ conversations: 3 })'))
    const { stdout } = await promisify(execFile)(process.execPath, [name], { cwd: folder, timeout: 30_000 })
    expect(stdout).toMatch(/^\S.+ of .+\n(cnv_.+\n){3}/)
  },
)
