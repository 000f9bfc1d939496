// What only a process of its own shows: signals, closed pipes, warnings of the runtime. Everything else runs in `run.ts`.
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

const cli = fileURLToPath(new URL('../../src/command/cli.ts', import.meta.url))
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
