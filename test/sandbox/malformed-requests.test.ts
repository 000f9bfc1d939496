import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { call, sendRaw, useSandboxes } from './helpers.ts'

const start = useSandboxes()
let sandbox: Sandbox
const onUnhandled = vi.fn()

beforeEach(async () => {
  process.on('unhandledRejection', onUnhandled)
  sandbox = await start()
})
afterEach(() => {
  process.off('unhandledRejection', onUnhandled)
  expect(onUnhandled).not.toHaveBeenCalled()
})

function request(method: string, target: string, host: string): string {
  return `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
}

const me = '/api/oauth/v1/me'

const invalid = 'invalid_request'

test.each([
  ['a Host with user information', request('GET', me, 'a:b@c'), 400, invalid],
  ['an empty Host', request('GET', me, ''), 400, invalid],
  ['a Host with a path', request('GET', me, 'x/../y'), 400, invalid],
  ['an absolute target with user information', request('GET', `http://user@localhost${me}`, 'x'), 400, invalid],
  ['an absolute target that is not a URL', request('GET', 'http://[', 'x'), 400, invalid],
  ['an asterisk as target', request('OPTIONS', '*', 'x'), 400, invalid],
  ['a target that starts with two slashes', request('GET', `//user@host${me}`, 'localhost'), 404, 'not_found'],
  ['a broken percent sign', request('GET', '/api/oauth/v1/conversations/%', 'localhost'), 401, 'invalid_token'],
  ['TRACE', request('TRACE', me, 'x'), 405, 'method_not_allowed'],
])('responds to %s with an error of the service', async (_, text, status, error) => {
  const response = (await sendRaw(sandbox, text)).toString()
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(JSON.parse(response.split('\r\n\r\n')[1] ?? '')).toEqual({ error, error_description: expect.any(String) })
})

test('uses the path of an absolute target', async () => {
  const response = await sendRaw(sandbox, request('GET', `http://localhost${me}`, 'x'))
  expect(response.toString()).toMatch(/^HTTP\/1.1 401 /)
  expect(sandbox.requests[0]?.path).toBe(me)
})

test('records an upload that is aborted, without a status', async () => {
  const sent = httpRequest(`${sandbox.url}${me}`, { method: 'POST', headers: { 'content-length': 100 } })
  sent.on('error', () => {})
  sent.write('half')
  await expect.poll(() => sandbox.requests.length).toBe(1)
  sent.destroy()
  expect((await call(sandbox, sandbox.issueToken(), 'GET', me)).status).toBe(200)
  expect(sandbox.requests.map(({ status }) => status)).toEqual([undefined, 200])
})

test('closes the connection of a CONNECT request whose client stays', async () => {
  const { hostname, port } = new URL(sandbox.url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  const closed = once(socket, 'close')
  // The connection may be reset.
  socket.on('error', () => {})
  socket.write(request('CONNECT', 'host:443', 'host:443'))
  const [received] = await once(socket, 'data')
  expect(received.toString()).toMatch(/^HTTP\/1.1 405 /)
  await sandbox.close()
  socket.end()
  await closed
})
