import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { commandLineOptions, help, readArguments, UsageError } from '../../src/sandbox/command-line.ts'
import { parseFault } from '../../src/sandbox/faults/fault-text.ts'
import type { FaultRule } from '../../src/sandbox/index.ts'
import { defaultRedirectUris } from '../../src/sandbox/sandbox-options.ts'
import { version } from '../../src/shared/version.ts'

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
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  }
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  const printed = async (text: string): Promise<void> => {
    while (!output.stdout.includes(text)) {
      if (child.exitCode !== null) throw new Error(output.stderr)
      await new Promise((resolve) => child.stdout.once('data', resolve))
    }
  }
  return { child, output, exit, printed }
}

const urlIn = (text: string): string => /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? ''

describe('the command-line interface', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('prints working tokens, and closes on %s', async (signal) => {
    const { child, output, exit, printed } = run(
      ...['sandbox', '--port', '0', '--conversations', '3', '--auto-consent', 'deny'],
      ...['--redirect-uri', 'http://localhost:8080/back', '--no-cors'],
    )
    await printed('Ctrl+C')
    const url = urlIn(output.stdout)
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
  })

  test.each([
    ['-h', help],
    ['-v', `${version}\n`],
  ])('prints what %s asks for', async (flag, stdout) => {
    const { output, exit } = run(flag)
    expect(await exit).toBe(0)
    expect(output).toEqual({ stdout, stderr: '' })
  })

  test('uses fixed tokens, limits the rate, injects faults and prints a line for each request', async () => {
    const { output, printed } = run(
      ...['sandbox', '--port', '0', '--self-token', 'swot_self', '--app-token', 'swot_app', '--log'],
      ...['--fault', 'status=503,path=/contacts', '--rate-limit', '3/h'],
    )
    await printed('Ctrl+C')
    const url = urlIn(output.stdout)
    expect(output.stdout).toContain(`console            ${url}/\n`)
    const statusOf = async (path: string, token: string) =>
      (await fetch(`${url}/api/oauth/v1/${path}`, { headers: { authorization: `Bearer ${token}` } })).status
    expect(await statusOf('me', 'swot_self')).toBe(200)
    expect(await statusOf('contacts?limit=1', 'swot_app')).toBe(503)
    expect(await statusOf('conversations', 'swot_other')).toBe(401)
    expect(await statusOf('me', 'swot_self')).toBe(429)
    await printed('rate limit')
    const lines = output.stdout.split('Ctrl+C to stop.\n')[1]?.replaceAll(/^\d\d:\d\d:\d\d {2}/gm, '')
    expect(lines?.split('\n')).toEqual([
      '200  GET     /api/oauth/v1/me  self',
      '503  GET     /api/oauth/v1/contacts  app  contacts:read  [status=503]',
      '401  GET     /api/oauth/v1/conversations  conversations:read',
      '429  GET     /api/oauth/v1/me  self  [rate limit]',
      '',
    ])
  })

  test('reports an invalid option and exits with 2', async () => {
    const { output, exit } = run('sandbox', '--port', '70000')
    expect(await exit).toBe(2)
    expect(output).toEqual({ stdout: '', stderr: '--port must be an integer from 0 to 65535, not 70000.\n' })
  })

  test('escapes the control characters of an argument', async () => {
    const { output, exit } = run('\x1b[31mred\x9b\u202e')
    expect(await exit).toBe(2)
    expect(output.stderr).toMatch(/^Unknown command `\\u\{1b\}\[31mred\\u\{9b\}\\u\{202e\}`\./)
  })

  test('exits quietly if the reader of its output is gone', async () => {
    const { child, output, exit, printed } = run('sandbox', '--port', '0', '--log')
    await printed('Ctrl+C')
    const url = urlIn(output.stdout)
    child.stdout?.destroy()
    await fetch(`${url}/api/oauth/v1/me`).catch(() => {})
    expect(await exit).toBe(0)
    expect(output.stderr).toBe('')
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
    [['--help'], 'help'],
    [['help'], 'help'],
    [['sandbox', 'help'], 'help'],
    [['sandbox', '-h'], 'help'],
    [['--version'], 'version'],
  ])('reads %j as %s', (args, kind) => {
    expect(readArguments(args)).toEqual({ kind })
  })

  test('explains every option in the help', () => {
    expect(Object.keys(commandLineOptions).filter((name) => !help.includes(`--${name} `))).toEqual([])
  })

  test.each([
    [[], 'A command is required. Run `support-workspace-sdk sandbox`.'],
    [['server'], 'Unknown command `server`. Run `support-workspace-sdk sandbox`.'],
    [['sandbox', 'now'], 'Unexpected argument after `sandbox`. Pass options only.'],
    [['sandbox', '--port', '--help'], "Option '--port' argument is ambiguous. Run with --help to list the options."],
    [['sandbox', '--conversation=1'], "Unknown option '--conversation'. Did you mean `--conversations`?"],
    [['sandbox', '--redirect-url=a:b'], "Unknown option '--redirect-url'. Did you mean `--redirect-uri`?"],
    [['sandbox', '--verbose'], "Unknown option '--verbose'. Run with --help to list the options."],
  ])('rejects %j', (args, message) => {
    expect(() => readArguments(args)).toThrow(new UsageError(message))
  })

  test('returns the defaults of the sandbox', () => {
    expect(readArguments(['sandbox'])).toEqual({
      kind: 'sandbox',
      options: { port: 4010, tokens: {}, app: { redirectUris: defaultRedirectUris } },
      faults: [],
      log: false,
    })
  })

  test('returns every option of the sandbox', () => {
    expect(readArguments(['sandbox', '--cors'])).toMatchObject({ options: { cors: true } })
    const args = [
      ...['--port', '0', '--host', '::1', '--conversations', '9', '--seed', '7', '--auto-consent', 'allow'],
      ...['--self-token', 'swot_self', '--app-token', 'swot_app', '--rate-limit', '5/s', '--no-cors', '--log'],
      ...['--redirect-uri', 'a:b', '--redirect-uri', 'c:d', '--client-id', 'app_x', '--client-secret', 'secret_x'],
      ...['--organizations', '3', '--messages-per-conversation', '4', '--allowed-host', 'one', '--allowed-host', '::1'],
      ...['--fault', 'status=503,times=2,path=/messages', '--fault', 'drip=16/500, latency=10, method=post'],
    ]
    expect(readArguments(['sandbox', ...args])).toEqual({
      kind: 'sandbox',
      options: {
        port: 0,
        host: '::1',
        allowedHosts: ['one', '::1'],
        organizations: 3,
        conversations: 9,
        messagesPerConversation: 4,
        seed: 7,
        autoConsent: 'allow',
        tokens: { self: 'swot_self', app: 'swot_app' },
        rateLimit: '5/s',
        cors: false,
        app: { clientId: 'app_x', clientSecret: 'secret_x', redirectUris: [...defaultRedirectUris, 'a:b', 'c:d'] },
      },
      faults: [
        { status: 503, times: 2, path: /\/messages/ },
        { drip: { bytes: 16, interval: 500 }, latency: 10, method: 'post' },
      ],
      log: true,
    })
  })
})

test.each<[string, FaultRule]>([
  ['status=429,retry-after=30', { status: 429, retryAfter: 30 }],
  ['status=503,retry-after=soon,effect', { status: 503, retryAfter: 'soon', effect: true }],
  ['drop=after-effect,after=3', { drop: 'after-effect', after: 3 }],
  ['truncate', { truncate: true }],
  ['garbage=true', { garbage: true }],
  ['latency=1.5,times=all', { latency: 1.5, times: Infinity }],
  ['status=500,path=/a.b', { status: 500, path: /\/a\.b/ }],
])('reads the fault %s', (text, rule) => {
  expect(parseFault(text)).toEqual(rule)
})
