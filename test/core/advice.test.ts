import { createServer } from 'node:http'
import { SupportWorkspace } from 'support-workspace-sdk'
import { afterEach, expect, test, vi } from 'vitest'
import { makeClient, refusal, rejection, scripted, scriptedPlatform } from '../helpers/client.ts'
import { listen } from '../helpers/listen.ts'

afterEach(() => void vi.unstubAllEnvs())

const notFound = new TypeError('fetch failed', {
  cause: Object.assign(new Error('getaddrinfo ENOTFOUND api.test'), { code: 'ENOTFOUND', syscall: 'getaddrinfo' }),
})

test.each([
  [
    'a host without a scheme',
    '127.0.0.1:4011',
    'Pass the address of the service, for example "http://127.0.0.1:4011".',
  ],
  ['a host that is not this machine', 'api.test:443', 'for example "https://api.test:443".'],
  ['a mistyped localhost', 'http://localhots:4011', 'Did you mean `localhost`?'],
  ['plain http', 'http://api.test', 'Use https, or pass `allowInsecureHttp: true`'],
])('%s as the base URL is told what to pass', (_, baseUrl, words) => {
  expect(() => makeClient({ baseUrl })).toThrow(words)
})

test.each(['"swot_abc"', "'swot_abc'"])('a token in quotes is named: %s', (accessToken) => {
  expect(() => makeClient({ accessToken })).toThrow('`accessToken` is in quotes, which are not part of a token.')
})

test('a 401 says how to log in, and that a token does not look like one of the service', async () => {
  const fetch = scripted(refusal(401, 'invalid_token'))
  const hintOf = async (accessToken: string, after?: string) =>
    rejection(makeClient({ fetch, accessToken }).contacts.list({ after }))
  for (const after of [undefined, 'cursor']) {
    expect(await hintOf('swot_abc', after)).toMatchObject({
      hint: expect.stringMatching(/^Log in again for a new token\. .*docs\/login\.md.* support-workspace-sdk login/),
    })
  }
  expect(await hintOf('abc')).toMatchObject({
    hint: expect.stringMatching(/^Tokens of the service begin with `swot_`/),
  })
})

test('a 403 says nothing of how a token begins', async () => {
  const client = makeClient({ fetch: scripted(refusal(403, 'forbidden')), accessToken: 'abc' })
  expect(await rejection(client.me())).toMatchObject({ hint: expect.stringMatching(/^The token or its user lacks/) })
})

test('https to a port of plain http is named, and nothing was sent', async () => {
  const baseUrl = `https://127.0.0.1:${await listen(createServer())}`
  const client = new SupportWorkspace({ baseUrl, accessToken: 'swot_abc', actor: 'self' })
  expect(await rejection(client.contacts.create({ email: 'ada@example.com' }))).toMatchObject({
    message: expect.stringContaining('Nothing was sent. The server speaks plain http on this port.'),
    outcome: 'not-sent',
    remedy: 'fix',
  })
})

test.each([
  ['is named', {}, /^Nothing was sent\. `HTTPS_PROXY` is set, but Node uses it only with `NODE_USE_ENV_PROXY=1`/],
  ['is used', { NODE_USE_ENV_PROXY: '1' }, /^Nothing was sent\. Check the network/],
])('a proxy in the environment that %s', async (_, variables, words) => {
  for (const [name, value] of Object.entries({ HTTPS_PROXY: 'http://proxy.test', ...variables }))
    vi.stubEnv(name, value)
  scriptedPlatform(notFound)
  expect(await rejection(makeClient({ maxRetries: 0 }).me())).toMatchObject({ hint: expect.stringMatching(words) })
  const custom = makeClient({ fetch: scripted(notFound), maxRetries: 0 })
  expect(await rejection(custom.me())).toMatchObject({ hint: 'Check the network, then try again.' })
})
