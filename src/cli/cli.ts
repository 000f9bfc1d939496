#!/usr/bin/env node
import { createWriteStream, fstatSync } from 'node:fs'
import process from 'node:process'
import type { Io } from './terminal.ts'

// Node writes to a file in one step, and does not notice if there is space for a part only. This stream does.
const stdout: Io['stdout'] = fstatSync(1).isFile() ? createWriteStream('', { fd: 1, autoClose: false }) : process.stdout

// The command sees errors of stdout where it writes. Without a listener, they would end the process before.
stdout.on('error', () => {})
// A lost message must not end an import. Without a listener, it would.
process.stderr.on('error', () => {})
// Node prints one about `node:sqlite`, for which a program that reads stderr has no use.
process.removeAllListeners('warning')

if (Number(process.versions.node.split('.')[0]) < 22) {
  process.stderr.write(`This command needs Node 22 or later, and this is Node ${process.versions.node}. Update Node.\n`)
  process.exitCode = 70
} else {
  process.exitCode = await run()
  // A pipe that stays open does not keep the command waiting.
  process.stdin.destroy()
}

async function run(): Promise<number> {
  // Loaded now, because an older Node cannot.
  const [{ interrupted }, { runCommand }] = await Promise.all([import('./errors.ts'), import('./main.ts')])
  const interrupt = new AbortController()
  const stop = () => interrupt.abort(interrupted(process.argv.slice(2).find((each) => !each.startsWith('-'))))
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.once(signal, stop)
  const env = { ...process.env }
  // A process that is started, such as the browser, must not inherit them.
  for (const name of ['SUPPORT_WORKSPACE_TOKEN', 'SUPPORT_WORKSPACE_CLIENT_SECRET']) delete process.env[name]
  const exitCode = await runCommand({
    args: process.argv.slice(2),
    env,
    stdin: process.stdin,
    stdout,
    stderr: process.stderr,
    platform: process.platform,
    signal: interrupt.signal,
    interrupt: stop,
    openBrowser: async (address) => (await import('open')).default(address),
  })
  // After the work, a signal ends the process at once, as it does without a listener.
  for (const signal of signals) process.off(signal, stop)
  return exitCode
}
