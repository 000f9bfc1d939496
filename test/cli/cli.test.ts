// What only a separate process shows: signals, closed pipes, warnings of the runtime. Everything else runs in `run.ts`.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'

const cli = fileURLToPath(new URL('../../src/cli/cli.ts', import.meta.url))
const startSandbox = useSandboxes()
const createFolder = useFolder()
const running: ChildProcess[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

/** Starts the sandbox as a process, and returns it when it listens. */
async function serve() {
  const child = spawn(process.execPath, [cli, 'sandbox', '--port', '0', '--log'])
  running.push(child)
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  }
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  while (!output.stdout.includes('Ctrl+C')) await new Promise((resolve) => child.stdout.once('data', resolve))
  return { child, output, exit, url: /http:\/\/127\.0\.0\.1:\d+/.exec(output.stdout)?.[0] ?? '' }
}

test.each(['SIGINT', 'SIGTERM'] as const)('the sandbox closes on %s', async (signal) => {
  const { child, output, exit } = await serve()
  child.kill(signal)
  expect(await exit).toBe(0)
  expect(output.stderr).toBe('')
})

test('a command exits quietly if the reader of its output is gone', async () => {
  const { child, output, exit, url } = await serve()
  child.stdout.destroy()
  await fetch(`${url}/api/oauth/v1/me`).catch(() => {})
  expect(await exit).toBe(0)
  expect(output.stderr).toBe('')
})

test('a warning of the runtime is not printed', async () => {
  const warn = "process.once('beforeExit',()=>process.emitWarning('of-the-runtime'))"
  const env = { ...process.env, NODE_OPTIONS: `--import="data:text/javascript,${warn}"` }
  const stderr = await new Promise((resolve) => {
    execFile(process.execPath, [cli, 'commands', '--json'], { env }, (_error, _stdout, text) => resolve(text))
  })
  expect(stderr).toBe('')
})

test('logins of two processes at once are both there', async () => {
  const sandbox = await startSandbox()
  const env = { ...process.env, SUPPORT_WORKSPACE_URL: sandbox.url, XDG_DATA_HOME: createFolder() }
  const start = (...args: string[]) =>
    new Promise<string>((resolve) => {
      const child = execFile(process.execPath, [cli, ...args, '--json'], { env }, (_error, stdout) => resolve(stdout))
      child.stdin?.end(sandbox.issueToken())
    })
  await Promise.all(['one', 'two'].map((name) => start('login', '--with-token', '--profile', name)))
  const lines = (await start('logins')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).name).sort()).toEqual(['one', 'two'])
})

describe.skipIf(process.platform !== 'linux')('where space ends', () => {
  /** Runs a line of a shell, in which `$command` is the command, in a new folder with access to a sandbox. */
  async function setUp() {
    const sandbox = await startSandbox({ conversations: 35 })
    const folder = createFolder()
    const env = {
      ...process.env,
      command: `${process.execPath} ${cli}`,
      SUPPORT_WORKSPACE_URL: sandbox.url,
      SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }),
    }
    const shell = (line: string) =>
      new Promise<{ code: number; stderr: string }>((resolve) => {
        const child = execFile('/bin/sh', ['-c', line], { env, cwd: folder }, (_error, _stdout, stderr) =>
          resolve({ code: child.exitCode ?? 0, stderr }),
        )
      })
    return { sandbox, shell, read: (name: string) => readFileSync(join(folder, name), 'utf8') }
  }

  test('an export fails, and goes on later without a gap', async () => {
    const { shell, read } = await setUp()
    const line = '$command export conversations --limit 10 --out out.ndjson'
    const { code, stderr } = await shell(`ulimit -f 16; ${line}`)
    expect({ code, stderr }).toEqual({
      code: 70,
      stderr: expect.stringMatching(/^A file could not be written \(EFBIG: /),
    })
    expect(read('out.ndjson')).toHaveLength(16 * 512)
    expect((await shell(line)).code).toBe(0)
    await shell('$command export conversations --out whole.ndjson')
    expect(read('out.ndjson')).toBe(read('whole.ndjson'))
  })

  test.each([
    ['a file', '(ulimit -f 4; $command list conversations --all > out.ndjson)', 'EFBIG'],
    ['a device', '$command --help > /dev/full', 'ENOSPC'],
  ])('output that does not fit into %s is an error', async (_, line, cause) => {
    const { shell } = await setUp()
    const { code, stderr } = await shell(line)
    expect({ code, stderr }).toEqual({ code: 70, stderr: expect.stringMatching(`^The output could not be .*${cause}`) })
  })

  test.each(['2> /dev/full', '2>&1 > /dev/null | true'])(
    'a message that is lost to %s does not stop a write',
    async (redirection) => {
      const { shell, sandbox } = await setUp()
      const { code } = await shell(`$command call contacts.create -f email=a@example.com ${redirection}`)
      expect(code).toBe(0)
      expect(sandbox.requests.map(({ method }) => method)).toEqual(['GET', 'POST'])
    },
  )
})
