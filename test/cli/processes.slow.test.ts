// What only a separate process shows: signals, closed pipes, warnings of the runtime. Everything else runs in `run.ts`.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
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

describe('after its work', () => {
  /** Runs a command with an empty stdin, in a new folder with access to a sandbox, until its process ends. */
  async function end(line: string, preload = '') {
    const sandbox = await startSandbox()
    const folder = createFolder()
    writeFileSync(join(folder, 'one.csv'), 'email,name\na@example.com,A\nb@example.com,B\n')
    const env = {
      ...process.env,
      ...(preload !== '' && { NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(preload)}"` }),
      SUPPORT_WORKSPACE_URL: sandbox.url,
      SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }),
      XDG_DATA_HOME: folder,
    }
    const child = spawn(process.execPath, [cli, ...line.split(' ')], { cwd: folder, env, stdio: 'ignore' })
    running.push(child)
    const [code, signal] = await once(child, 'exit')
    return signal ?? code
  }

  test.each([
    ['import contacts one.csv --dry-run', 0],
    ['import contacts one.csv --dry-run --no-check', 0],
    ['import contacts one.csv --state state --dry-run', 0],
    ['import contacts one.csv --state state', 0],
    ['journal list --state state', 3],
    ['export conversations --with messages --out all.csv', 0],
    ['list conversations', 0],
    ['call contacts.create -f email=a@example.com --dry-run', 0],
    ['call contacts.create -f email=a@example.com', 0],
    ['whoami', 0],
    ['doctor', 0],
    ['login --with-token', 2],
    ['logins', 0],
  ])('`%s` ends', async (line, code) => {
    expect(await end(line)).toBe(code)
  })

  test.each(['SIGINT', 'SIGTERM'])('%s ends a process that something keeps alive', async (signal) => {
    const preload = `setInterval(() => {}, 1000); process.stdin.once('close', () => process.kill(process.pid, '${signal}'))`
    expect(await end('commands', preload)).toBe(signal)
  })
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
    return {
      sandbox,
      shell,
      token: env.SUPPORT_WORKSPACE_TOKEN,
      read: (name: string) => readFileSync(join(folder, name), 'utf8'),
    }
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

  test('the reader of a pipe can end before a list does, and a write says that it was applied', async () => {
    const { shell } = await setUp()
    // The code of the command instead of that of its reader.
    const codeOf = async (line: string) => (await shell(`{ $command ${line}; echo $? >&2; } | true`)).stderr.trim()
    expect(await codeOf('list conversations --all')).toBe('0')
    expect(await codeOf('call contacts.create -f email=a@example.com')).toMatch(/The write was applied.*\n65$/s)
  })

  test('a login whose file does not fit names the path and the way out', async () => {
    const { shell, token } = await setUp()
    const login = `echo ${token} | SUPPORT_WORKSPACE_TOKEN= XDG_DATA_HOME=$PWD $command login --with-token`
    const { code, stderr } = await shell(`ulimit -f 1; ${login}`)
    expect({ code, stderr }).toEqual({
      code: 70,
      stderr: expect.stringMatching(/logins\.db cannot be used: .*Set XDG_DATA_HOME .*SUPPORT_WORKSPACE_TOKEN/),
    })
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
