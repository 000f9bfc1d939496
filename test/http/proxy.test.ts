import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import { expect, onTestFinished, test } from 'vitest'

const program = fileURLToPath(new URL('../helpers/print-actor.ts', import.meta.url))

test("goes through the proxy that Node's environment names, without a line of code", async () => {
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
  expect(proxy.tunnels).toEqual([new URL(sandbox.url).host])
})

/** A proxy that opens the tunnels it is asked for, and keeps a list. */
async function startProxy() {
  const tunnels: string[] = []
  const server = createServer((_request, response) => response.writeHead(405).end())
  server.on('connect', (request, client, head) => {
    const [host, port] = (request.url ?? '').split(':')
    tunnels.push(request.url ?? '')
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [client, upstream]) socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    tunnels,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
