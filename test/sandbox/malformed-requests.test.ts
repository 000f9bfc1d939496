import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { sendRaw, useSandboxes } from './helpers.ts'

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
  ['TRACE', request('TRACE', me, 'x'), 400, invalid],
])('responds to %s with an error of the service', async (_, text, status, error) => {
  const response = (await sendRaw(sandbox, text)).toString()
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(JSON.parse(response.split('\r\n\r\n')[1] ?? '')).toEqual({ error, error_description: expect.any(String) })
})
