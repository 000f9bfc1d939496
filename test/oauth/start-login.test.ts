import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  InvalidArgumentError,
  OAuthApp,
  type OAuthAppOptions,
  PublicOAuthApp,
  serializeTransaction,
} from '../../src/oauth/index.ts'
import { clientSecret, makeApp, redirectUri } from './helpers/login.ts'

const baseUrl = 'https://api.example'
const app = makeApp(baseUrl)
const commonNames = ['baseUrl', 'clientId', 'redirectUri', 'issuer', 'transactionLifetime', 'allowInsecureHttp']

describe('the authorize URL', () => {
  test('has the parameters of the specification, response_type and the S256 challenge of the verifier', async () => {
    const { url, transaction } = await app.startLogin({ scope: ['conversations:read', 'contacts:read'], actor: 'self' })
    const { origin, pathname, searchParams } = new URL(url)
    const { state, codeVerifier } = JSON.parse(serializeTransaction(transaction))
    expect(origin + pathname).toBe('https://api.example/api/oauth/authorize')
    expect(Object.fromEntries(searchParams)).toEqual({
      response_type: 'code',
      client_id: 'app_abc123',
      redirect_uri: redirectUri,
      scope: 'conversations:read contacts:read',
      state,
      code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      actor: 'self',
    })
    expect(state).toMatch(/^[\w-]{43}$/)
    expect(codeVerifier).toMatch(/^[\w-]{43}$/)
    expect(state).not.toBe(codeVerifier)
    expect(url).not.toContain(codeVerifier)
    expect(decodeURIComponent(url)).not.toContain(clientSecret)
    expect(transaction.expiresAt - transaction.createdAt).toBe(600_000)
  })

  test('keeps the path prefix of the base URL, with or without a trailing slash', async () => {
    for (const prefixed of ['https://example.org/support', 'https://example.org/support/']) {
      const { url } = await makeApp(prefixed).startLogin({ scope: 'conversations:read' })
      expect(url).toMatch(/^https:\/\/example\.org\/support\/api\/oauth\/authorize\?/)
    }
  })

  test('contains the redirect URI as written and additional parameters, and no actor by default', async () => {
    const written = 'HTTPS://App.Example:443/login/../callback?tenant=a b'
    const request = { scope: 'conversations:read', parameters: { organization: 'org 1&2' } }
    const { searchParams } = new URL((await makeApp(baseUrl, { redirectUri: written }).startLogin(request)).url)
    expect(searchParams.get('redirect_uri')).toBe(written)
    expect(searchParams.get('organization')).toBe('org 1&2')
    expect(searchParams.has('actor')).toBe(false)
  })

  test('differs each time', async () => {
    const states = new Set<string | null>()
    for (let round = 0; round < 20; round++) {
      const { url } = await app.startLogin({ scope: 'conversations:read' })
      states.add(new URL(url).searchParams.get('state')).add(new URL(url).searchParams.get('code_challenge'))
    }
    expect(states.size).toBe(40)
  })
})

test('the transaction has its expiry, the request and the app', async () => {
  const request = { scope: 'conversations:read  contacts:read,conversations:read', actor: 'app' } as const
  const { transaction } = await makeApp(baseUrl, { transactionLifetime: 60_000 }).startLogin(request)
  const scopes = ['conversations:read', 'contacts:read']
  const expected = { baseUrl, clientId: 'app_abc123', redirectUri, scope: scopes.join(' '), scopes, actor: 'app' }
  expect(transaction).toMatchObject(expected)
  expect(transaction.expiresAt - transaction.createdAt).toBe(60_000)
})

describe('rejects', () => {
  test.each([
    ['nothing', ''],
    ['an empty list', []],
    ['spaces', '   '],
    ['a quote', ['conversations:"read"']],
    ['a backslash', ['conversations:\\read']],
    ['a character that is not ASCII', ['conversations:réad']],
    ['a space inside a name', ['conversations:read contacts:read']],
    ['a comma inside a name', ['conversations:read,contacts:read']],
    ['a number', [1]],
    ['a valid name with an invalid one', ['conversations:read', 'contacts read']],
    ['not a list', undefined],
  ])('a scope that is %s', async (_title, scope) => {
    await expect(app.startLogin({ scope: scope as never })).rejects.toMatchObject({ argument: 'scope' })
  })

  test.each([
    ['relative', '/login/callback'],
    ['with a fragment', 'https://app.example/callback#part'],
    ['with an empty fragment', 'https://app.example/callback#'],
    ['with a user', 'https://user@app.example/callback'],
    ['with a password', 'https://:word@app.example/callback'],
    ['plain http outside loopback', 'http://app.example/callback'],
    ['a script', 'javascript:alert(1)'],
    ['data', 'data:text/html,hello'],
    ['a file', 'file:///etc/passwd'],
    ['a native scheme without a dot', 'myapp://callback'],
    ['a native scheme that ends like http', 'web+http://callback'],
    ['a URL object', new URL('https://app.example/callback')],
    ['missing', undefined],
  ])('a redirect URI that is %s', (_title, uri) => {
    expect(() => makeApp(baseUrl, { redirectUri: uri as never })).toThrow(InvalidArgumentError)
  })

  test.each([
    'https://app.example/callback',
    'http://localhost:3000/callback',
    'http://127.0.0.1:3000/callback',
    'http://[::1]:3000/callback',
    'com.example.app:/callback',
    'https://app.example/callback?tenant=1',
  ])('but accepts the redirect URI %s', (uri) => {
    expect(makeApp(baseUrl, { redirectUri: uri }).redirectUri).toBe(uri)
  })

  test('plain http outside loopback, unless explicitly allowed', () => {
    const options = { redirectUri: 'http://intranet/callback', allowInsecureHttp: true }
    expect(makeApp('http://intranet', options).baseUrl).toBe('http://intranet')
  })

  test.each([
    ['clientId', { clientId: '' }],
    ['clientSecret', { clientSecret: '' }],
    ['clientSecret', { clientSecret: undefined as never }],
    ['baseUrl', { baseUrl: 'api.example' }],
    ['issuer', { issuer: '' }],
    ['timeout', { timeout: 0 }],
    ['timeout', { timeout: Number.NaN }],
    ['timeout', { timeout: Number.POSITIVE_INFINITY }],
    ['transactionLifetime', { transactionLifetime: -1 }],
    ['clientAuthentication', { clientAuthentication: 'none' as never }],
    ['fetch', { fetch: 'https://proxy.example' as never }],
    ['allowInsecureHttp', { allowInsecureHttp: 'yes' as never }],
    ['dangerouslyAllowSecretInBrowser', { dangerouslyAllowSecretInBrowser: 1 as never }],
    ...[...commonNames, 'clientSecret', 'clientAuthentication', 'fetch', 'timeout'].map(
      (name): [string, Partial<OAuthAppOptions>] => [name, { [name]: null }],
    ),
    ...['clientId', 'clientSecret', 'redirectUri', 'issuer'].flatMap((name) =>
      ['\n%', '%\n', '%\r\n', ' %', '%\t'].map((text): [string, Partial<OAuthAppOptions>] => [
        name,
        { [name]: text.replace('%', redirectUri) },
      ]),
    ),
  ])('the option %s with the value %j', (argument, options) => {
    expect(() => makeApp(baseUrl, options)).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument }))
  })
})

test.each([undefined, null, 'https://api.example', []])('rejects the options %j', (options) => {
  for (const App of [OAuthApp, PublicOAuthApp]) {
    expect(() => new App(options as never)).toThrow(expect.objectContaining({ argument: 'options' }))
  }
})

const reserved = [
  'response_type',
  'response_mode',
  'client_id',
  'client_secret',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'actor',
  'request',
  'request_uri',
]
const notPlain = [null, ['prompt=consent'], 'prompt=consent', new URLSearchParams('prompt=consent')]
test.each<[string, unknown]>([
  ...[undefined, null, 'conversations:read'].map((request): [string, unknown] => ['request', request]),
  ...['user', 'Self', '', null, 1].map((actor): [string, unknown] => ['actor', { scope: 'conversations:read', actor }]),
  ...[...reserved.map((name) => ({ [name]: 'mine' })), { count: 1 }, ...notPlain].map(
    (parameters): [string, unknown] => ['parameters', { scope: 'conversations:read', parameters }],
  ),
  ['scopes', { scope: 'conversations:read', scopes: ['messages:write'] }],
])('rejects a login for its %s: %j', async (argument, request) => {
  const login = app.startLogin(request as never)
  await expect(login).rejects.toMatchObject({ name: 'InvalidArgumentError', argument })
})

describe('an app without a secret', () => {
  test.each(commonNames)('rejects null for the option %s', (name) => {
    const options = { baseUrl, clientId: 'app_abc123', redirectUri, [name]: null }
    const refused = expect.objectContaining({ name: 'InvalidArgumentError', argument: name })
    expect(() => new PublicOAuthApp(options)).toThrow(refused)
  })

  const publicApp = new PublicOAuthApp({ baseUrl, clientId: 'app_abc123', redirectUri })

  test('rejects a client secret', () => {
    const options = { baseUrl, clientId: 'app_abc123', redirectUri, clientSecret } as never
    expect(() => new PublicOAuthApp(options)).toThrow('`clientSecret` is not an option of a `PublicOAuthApp`')
  })

  test('cannot exchange a code, also by its types', () => {
    // @ts-expect-error `finishLogin` needs the secret
    expect(publicApp.finishLogin).toBeUndefined()
    // @ts-expect-error `exchangeCode` needs the secret
    expect(publicApp.exchangeCode).toBeUndefined()
    // @ts-expect-error `OAuthApp` requires a secret
    expect(() => new OAuthApp({ baseUrl, clientId: 'app_abc123', redirectUri })).toThrow('clientSecret')
  })
})
