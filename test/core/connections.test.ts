import { beforeEach, describe, expect, test } from 'vitest'
import { makeClient, rejection } from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'
import { rawResponse, respondJson, startRawServer } from '../helpers/raw-server.ts'
import { turns } from '../helpers/turns.ts'

beforeEach(() => jitter(0))

describe('connections', () => {
  test('are reused over many error responses, because every body is read', async () => {
    const statuses = [400, 401, 403, 404, 422, 429, 500, 503]
    const server = await startRawServer({
      onRequest(request) {
        const status = statuses[request.number % statuses.length] as number
        const headers = { 'retry-after': '0', 'x-large': 'x'.repeat(700) }
        const body = { error: 'some_code', error_description: 'x'.repeat(10_000) }
        const response = rawResponse({ status, headers, body: JSON.stringify(body) })
        // The rest comes when the client can already have the status.
        request.socket.write(response.subarray(0, 5_000), async () => {
          await turns(5)
          request.socket.write(response.subarray(5_000))
        })
      },
    })
    const workspace = makeClient({ baseUrl: server.url })
    for (let count = 0; count < 24; count += 1) await rejection(workspace.messages.create('c1', { body_html: 'x' }))
    for (let count = 0; count < 16; count += 1) await rejection(workspace.me())
    expect(server.requests.length).toBeGreaterThan(40)
    // A request may start before the platform has released the connection, but it does not open a new one each time.
    expect(server.connections).toBeLessThanOrEqual(3)
  })

  test('are closed when a response is not read to its end', async () => {
    let closed = 0
    const server = await startRawServer({
      onRequest(request) {
        if (request.target === '/probe') return respondJson(request, {})
        // The server closes no connection before the test ends.
        request.socket.once('close', () => {
          closed += 1
        })
        request.socket.write('HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 1000000\r\n\r\nsome of it')
      },
    })
    const workspace = makeClient({ baseUrl: server.url })
    for (let count = 0; count < 10; count += 1) await rejection(workspace.me())
    // A close that was sent before a probe arrives before the probe's response.
    for (let probe = 0; probe < 20 && closed < 10; probe += 1) await (await fetch(`${server.url}/probe`)).text()
    expect(closed, 'connections closed by the client').toBe(10)
  })
})
