import { expect, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts'
import { sendRaw, useSandboxes } from './helpers.ts'

const start = useSandboxes()

/** Sends a request over a socket and returns the status of the response. */
async function statusOf(sandbox: Sandbox, head: string, headers: Record<string, string>, body = ''): Promise<number> {
  const lines = Object.entries({ ...headers, 'content-length': body.length, connection: 'close' })
  const text = `${head} HTTP/1.1\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n${body}`
  return Number((await sendRaw(sandbox, text)).toString().slice(9, 12))
}

const paths = ['GET /', 'GET /_sandbox/style.css', 'GET /api/oauth/v1/me', 'GET /nowhere', 'POST /api/oauth/token']

test.each([
  ['localhost', false],
  ['localhost:1', false],
  ['app.localhost', false],
  ['127.1.2.3:8080', false],
  ['[::1]:4010', false],
  ['sandbox.example', false],
  ['SANDBOX.example:8443', false],
  ['10.0.0.5', false],
  ['evil.example', true],
  ['sandbox.example.evil.example', true],
  ['localhost.evil.example', true],
  ['127.0.0.1.evil.example', true],
  ['10.0.0.6', true],
])('a request to the host %s is refused everywhere: %s', async (host, isRefused) => {
  const sandbox = await start({ allowedHosts: ['sandbox.example', '10.0.0.5'] })
  for (const path of paths) expect((await statusOf(sandbox, path, { host })) === 403, path).toBe(isRefused)
  expect(sandbox.requests.length === 0).toBe(isRefused)
})

test('does not check the host in process, where the base URL stands for the service', async () => {
  const sandbox = createSandbox()
  expect((await sandbox.fetch('https://api.service.example/api/oauth/v1/me')).status).toBe(401)
})

test.each(['0.0.0.0', '0', '0x0', '0.0', '000.0.0.0', '::', '::0', '0:0:0:0:0:0:0:0', '::%lo', '::ffff:0.0.0.0'])(
  'a server for other machines, with the host %s, needs the names that they use',
  async (host) => {
    await expect(start({ host })).rejects.toMatchObject({ name: 'InvalidArgumentError', argument: 'host' })
  },
)
