// What only a terminal shows. `script` of util-linux runs the command on a pseudo-terminal, and passes on what is typed.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import type { Sandbox, SandboxOptions } from 'support-workspace-sdk/sandbox'
import { expect, test, vi } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { run } from './run.ts'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const startSandbox = useSandboxes()
const createFolder = useFolder()

async function setUp(options: SandboxOptions = {}) {
  const sandbox = await startSandbox({ autoConsent: 'allow', ...options })
  const env = { SUPPORT_WORKSPACE_URL: sandbox.url, XDG_DATA_HOME: createFolder() }
  return { sandbox, env, withToken: { ...env, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }) } }
}

/** Runs a command on a terminal. */
function inTerminal(args: readonly string[], env: Readonly<Record<string, string>>) {
  const line = [process.execPath, cli, ...args].map((part) => `'${part}'`).join(' ')
  const { CI: _, ...inherited } = process.env
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null'], {
    env: { ...inherited, TERM: 'xterm', ...env },
  })
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    screen += text
  })
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    exit,
    type: (text: string) => child.stdin.write(text),
    raw: () => screen,
    screen: () => stripVTControlCharacters(screen).replaceAll('\r', ''),
    shows: (text: string) =>
      vi.waitFor(() => expect(stripVTControlCharacters(screen)).toContain(text), { timeout: 30_000 }),
  }
}

const ctrlC = '\x03'

/** Logs in with the address in a port that something else uses, so that it has to be pasted. */
async function loginArguments(sandbox: Sandbox): Promise<string[]> {
  const uri = `http://127.0.0.1:${await freePort()}/callback`
  sandbox.registerRedirectUri(uri)
  return ['login', '--for', 'contacts.list', '--client-id', 'app_sandbox', '--redirect-uri', uri, '--no-browser']
}

test('login asks for the secret without showing it, and takes the pasted address', async () => {
  const { sandbox, env } = await setUp()
  const terminal = inTerminal(await loginArguments(sandbox), env)
  await terminal.shows('Client secret (Enter for that of a sandbox): ')
  terminal.type('secret_sandbox\r')
  await terminal.shows('landed on.')
  const address = /http\S+authorize\S+/.exec(terminal.screen())?.[0] ?? ''
  const landing = (await fetch(address, { redirect: 'manual' })).headers.get('location')
  terminal.type(`${landing}\r`)
  expect(await terminal.exit).toBe(0)
  expect(terminal.screen()).toContain('as the app')
  expect(terminal.screen()).not.toContain('secret_sandbox')
  expect((await run(['whoami'], { env })).code).toBe(0)
})

test.each(['Client secret (Enter for that of a sandbox): ', 'landed on.'])(
  'Ctrl-C ends a login that shows "%s" with 130',
  async (text) => {
    const { sandbox, env } = await setUp()
    const secret = text === 'landed on.' ? { SUPPORT_WORKSPACE_CLIENT_SECRET: 'secret_sandbox' } : {}
    const terminal = inTerminal(await loginArguments(sandbox), { ...env, ...secret })
    await terminal.shows(text)
    terminal.type(ctrlC)
    expect(await terminal.exit).toBe(130)
    expect(terminal.screen()).toContain('Interrupted.')
  },
)

test('the browser that login opens inherits no secret', async () => {
  const { sandbox, env } = await setUp()
  const seen = join(createFolder(), 'environment')
  const browser = join(createFolder(), 'browser')
  writeFileSync(browser, `#!/bin/sh\nenv > ${seen}.new && mv ${seen}.new ${seen}\n`, { mode: 0o700 })
  const secrets = { SUPPORT_WORKSPACE_CLIENT_SECRET: 'secret_sandbox', SUPPORT_WORKSPACE_TOKEN: 'swot_inherited' }
  const args = (await loginArguments(sandbox)).filter((part) => part !== '--no-browser')
  const terminal = inTerminal(args, { ...env, ...secrets, BROWSER: browser })
  await vi.waitFor(() => expect(existsSync(seen)).toBe(true), { timeout: 30_000 })
  expect(readFileSync(seen, 'utf8')).toContain(`XDG_DATA_HOME=${env.XDG_DATA_HOME}`)
  expect(readFileSync(seen, 'utf8')).not.toMatch(/secret_sandbox|swot_inherited/)
  terminal.type(ctrlC)
  expect(await terminal.exit).toBe(130)
})

test('an export shows how far it is, and Ctrl-C leaves what the next run goes on with', async () => {
  const { sandbox, withToken } = await setUp({ conversations: 30 })
  const out = join(createFolder(), 'out.ndjson')
  const args = ['export', 'conversations', '--limit', '5', '--out', out]
  sandbox.faults.add({ path: /conversations$/, latency: 600_000, after: 4 })
  const terminal = inTerminal(args, { ...withToken, NO_COLOR: '1' })
  await terminal.shows('20 conversations, 4 pages,')
  // The colour of the spinner.
  expect(terminal.raw()).not.toContain('\x1b[36m')
  terminal.type(ctrlC)
  expect(await terminal.exit).toBe(130)
  expect(terminal.screen()).toContain(`${out}.checkpoint has how far it came.`)
  sandbox.faults.clear()
  const again = inTerminal(args, { ...withToken, CI: 'true' })
  expect(await again.exit).toBe(0)
  expect(again.screen()).toContain(`${out} has 30 conversations.`)
  expect(again.screen()).not.toContain('pages,')
})
