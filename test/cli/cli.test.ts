// The command as a process. What else only a process shows is in `processes.slow.test.ts`, and the rest runs in `run.ts`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

test('the sandbox listens, and closes on SIGTERM', async () => {
  const cli = fileURLToPath(new URL('../../src/cli/cli.ts', import.meta.url))
  const child = spawn(process.execPath, [cli, 'sandbox', '--port', '0'])
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const stderr = text(child.stderr)
  let stdout = ''
  for await (const chunk of child.stdout) {
    stdout += chunk
    if (stdout.includes('Ctrl+C')) child.kill('SIGTERM')
  }
  expect(stdout).toMatch(/export SUPPORT_WORKSPACE_URL=http:/)
  expect([await exit, await stderr]).toEqual([[0, null], ''])
})
