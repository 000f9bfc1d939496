import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { readArguments, UsageError } from '../../src/sandbox/command-line.ts'

const cli = fileURLToPath(new URL('../../src/sandbox/cli.ts', import.meta.url))
const running: ChildProcess[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

interface Run {
  child: ChildProcess
  output: { stdout: string; stderr: string }
  exit: Promise<number | null>
  /** Resolves when this text was printed. */
  printed(text: string): Promise<void>
}

function run(...args: string[]): Run {
  const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  running.push(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output.stderr += text
  })
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  const printed = async (text: string): Promise<void> => {
    while (!output.stdout.includes(text)) {
      if (child.exitCode !== null) throw new Error(output.stderr)
      await new Promise((resolve) => child.stdout.once('data', resolve))
    }
  }
  return { child, output, exit, printed }
}

describe('the command-line interface', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'starts a sandbox, prints working tokens, and closes on %s',
    async (signal) => {
      const { child, output, exit, printed } = run(
        ...['sandbox', '--port', '0', '--conversations', '3', '--auto-consent', 'deny'],
        ...['--redirect-uri', 'http://localhost:8080/back', '--no-cors'],
      )
      await printed('Ctrl+C')
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output.stdout)?.[0] ?? ''
      for (const text of ['app_sandbox', 'secret_sandbox', 'http://localhost:8080/back', `curl -H`]) {
        expect(output.stdout).toContain(text)
      }
      for (const actor of ['app', 'self']) {
        const token = new RegExp(`actor=${actor} +(swot_\\w+)`).exec(output.stdout)?.[1]
        const headers = { authorization: `Bearer ${token}`, origin: 'https://app.example' }
        const me = await fetch(`${url}/api/oauth/v1/me`, { headers })
        expect(await me.json()).toMatchObject({ actor })
        expect(me.headers.has('access-control-allow-origin')).toBe(false)
        const list = await fetch(`${url}/api/oauth/v1/conversations`, { headers })
        expect(((await list.json()) as { data: unknown[] }).data).toHaveLength(3)
      }
      child.kill(signal)
      expect(await exit).toBe(0)
      expect(output.stderr).toBe('')
    },
  )

  test('prints the options with --help', async () => {
    const { output, exit } = run('--help')
    expect(await exit).toBe(0)
    expect(output.stdout).toContain('--auto-consent')
  })

  test.each([
    [['sandbox', '--prot', '1'], "Unknown option '--prot'. Run with --help to list the options."],
    [['sandbox', '--port', '70000'], 'The sandbox option `port` must be an integer from 0 to 65535, not 70000.'],
  ])('reports an invalid option in %j and exits with 2', async (args, message) => {
    const { output, exit } = run(...args)
    expect(await exit).toBe(2)
    expect(output).toEqual({ stdout: '', stderr: `${message}\n` })
  })

  test('reports that the port is in use and exits with 1', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { output, exit } = run('sandbox', '--port', String(port))
    expect(await exit).toBe(1)
    expect(output.stderr).toBe(
      `Port ${port} on 127.0.0.1 is already in use. Choose another port, or 0 for any free one.\n`,
    )
    await new Promise((resolve) => server.close(resolve))
  })
})

describe('readArguments', () => {
  test.each([
    [[], 'A command is required. Run `support-workspace-sdk sandbox`.'],
    [['server'], 'Unknown command `server`. Run `support-workspace-sdk sandbox`.'],
    [['sandbox', 'now'], 'Unexpected argument `now`. Pass options only.'],
    [['sandbox', '--port'], "Option '--port <value>' argument missing. Run with --help to list the options."],
    [['sandbox', '--port', '--help'], "Option '--port' argument is ambiguous. Run with --help to list the options."],
    [['sandbox', '--port', 'abc'], '--port must be an integer of at least 0, not `abc`.'],
    [['sandbox', '--auto-consent', 'maybe'], '--auto-consent must be `allow` or `deny`, not `maybe`.'],
  ])('rejects %j', (args, message) => {
    expect(() => readArguments(args)).toThrow(new UsageError(message))
  })

  test('returns the options of the sandbox', () => {
    const redirectUris = ['http://localhost:3000/callback', 'http://127.0.0.1:3000/callback', 'a:b', 'c:d']
    expect(readArguments(['sandbox'])).toEqual({
      port: 4010,
      cors: true,
      app: { redirectUris: redirectUris.slice(0, 2) },
    })
    const all = ['--port', '0', '--host', '::1', '--conversations', '9', '--auto-consent', 'allow', '--no-cors']
    expect(readArguments(['sandbox', ...all, '--redirect-uri', 'a:b', '--redirect-uri', 'c:d'])).toEqual({
      port: 0,
      host: '::1',
      conversations: 9,
      autoConsent: 'allow',
      cors: false,
      app: { redirectUris },
    })
  })
})
