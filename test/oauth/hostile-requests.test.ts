import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createLoginHandlers, OAuthApp, toNodeListener } from '../../src/oauth/index.ts'
import { Random } from '../helpers/random.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

const count = 600

const app = new OAuthApp({
  baseUrl: 'https://api.example',
  clientId: 'app_abc123',
  clientSecret: 'secret',
  redirectUri: 'https://app.example/callback?tenant=1',
  fetch: () => Promise.reject(new Error('no callback is good enough to send anything')),
})
const login = createLoginHandlers(app, {
  secret: 'a secret of this app, 32 characters or more',
  scope: ['conversations:read'],
  onConnected: () => {},
})
const site = (request: Request) =>
  new URL(request.url).pathname.includes('callback') ? login.callback(request) : login.start(request)

const methods = ['GET', 'GET', 'GET', 'POST', 'HEAD', 'CONNECT', 'OPTIONS', 'PROPFIND', 'get', '']
const targets = [
  '/login',
  '/callback',
  '//user@host/login',
  '//',
  'http://a:b@c/',
  'http://a:b',
  'https://evil.example:99999/callback',
  'evil.example:443',
  '*',
  '?x',
  'javascript:alert(1)',
  '/\\evil.example',
  '/.//evil.example/../callback',
  '/%00%ff%zz/login',
  '/\u00ff\u0080callback',
  `/${'a'.repeat(7_000)}`,
  'http://[::1',
  'http://[fe80::1%25eth0]/login',
  '/login#fragment',
  '',
]
const queries = [
  '',
  '?return_to=//evil.example',
  '?return_to=/a&return_to=/b',
  '?return_to=%E0%A4%A',
  `?return_to=/${'%E6%BC%A2'.repeat(300)}`,
  '?state=&code=&iss=&error=',
  '?code=1&state=2&tenant=1',
  '?state=%ED%A0%80&code=%',
  '?state=a&state=b',
  `?${'x&'.repeat(1_500)}`,
  '?\u0000',
  '??&&==',
]
const hosts = ['a:b@c', 'localhost', '', ' ', ':', 'x/../', '[::1', 'evil.example', '\u00ff', 'h:99999999']
const cookies = [
  '',
  '=',
  ';;;',
  '__Host-support_login.=x',
  `${'__Host-support_login.0123456789abcdef=x; '.repeat(100)}`,
  '__Host-support_login.d4735e3a265e16ee=eyJhbGciOiJkaXIifQ..a.b.c',
  '\u00ff\u0080=\u0001',
  `a=${'"'.repeat(3_000)}`,
]
const headerLines = [
  'Sec-Purpose: prefetch',
  'Content-Length: 5',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 3',
  'Expect: 100-continue',
  'Expect: nonsense',
  'Upgrade: h2c\r\nConnection: Upgrade',
  'Bad Header: x',
  ': empty',
  ' folded: x',
  'X-Odd: \u0001\u007f\u00ff',
  'Host: second.example',
  '__proto__: x',
  'constructor: x',
]

/** Sends one request over HTTP/1.1 as bytes. Resolves with the status, or undefined if the connection was closed. */
function sendHttp1(port: number, text: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(text, 'latin1')))
    const finish = (status?: number) => {
      socket.destroy()
      resolve(status)
    }
    socket.on('data', (chunk: Buffer) => {
      const status = Number([...chunk.toString('latin1').matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].at(-1)?.[1])
      // 100 Continue is not the final response, which may come with it.
      if (status !== 100) finish(status)
    })
    socket.on('error', () => finish())
    socket.on('close', () => finish())
  })
}

test(`responds to or closes each of ${count} hostile requests over HTTP/1.1`, async () => {
  const failures: unknown[] = []
  // The server soon ends a request that never ends.
  const limits = { headersTimeout: 300, requestTimeout: 300, connectionsCheckingInterval: 100 }
  const server = createServer(limits, toNodeListener(site, { onError: (error) => void failures.push(error) }))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const random = new Random(1)
  const requests = Array.from({ length: count }, () => {
    const version = random.pick(['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9.9', ''])
    const lines = [`${random.pick(methods)} ${random.pick(targets)}${random.pick(queries)} ${version}`]
    lines.push(`Host: ${random.pick(hosts)}`, `Cookie: ${random.pick(cookies)}`)
    if (random.next() < 0.4) lines.push(random.pick(headerLines))
    const text = `${lines.join('\r\n')}\r\n\r\n`
    if (random.next() > 0.1) return text
    const position = Math.floor(random.next() * text.length)
    const byte = String.fromCharCode(Math.floor(random.next() * 256))
    return text.slice(0, position) + byte + text.slice(position + 1)
  })
  let statuses: (number | undefined)[] = []
  const unhandled = await unhandledDuring(async () => {
    statuses = await Promise.all(requests.map((text) => sendHttp1(port, text)))
  })
  expect([failures, unhandled]).toEqual([[], []])
  expect(statuses).not.toContain(500)
  expect(statuses).toEqual(expect.arrayContaining([303, 400, 405, 503]))
  expect(await sendHttp1(port, 'GET /login HTTP/1.1\r\nHost: a\r\n\r\n')).toBe(303)
}, 60_000)
