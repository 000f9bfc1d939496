import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import { expect, onTestFinished, test } from 'vitest'
import { startProxy } from '../helpers/proxy.ts'

const program = fileURLToPath(new URL('../helpers/print-actor.ts', import.meta.url))

test("the client uses the proxy from Node's environment variables without any configuration", async () => {
  const sandbox = await startSandbox()
  const proxy = await startProxy()
  onTestFinished(async () => {
    await proxy.close()
    await sandbox.close()
  })
  const env = {
    PATH: process.env.PATH,
    NODE_USE_ENV_PROXY: '1',
    HTTP_PROXY: proxy.url,
    BASE_URL: sandbox.url,
    ACCESS_TOKEN: sandbox.issueToken({ actor: 'app' }),
  }

  const { stdout } = await promisify(execFile)(process.execPath, [program], { env })

  expect(stdout.trim()).toBe('app')
  expect(proxy.hosts).toEqual([new URL(sandbox.url).host])
})
