import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type LoginErrorReason,
  OAuthApp,
  type OAuthAppOptions,
  PublicOAuthApp,
  parseTransaction,
  type StartedLogin,
  serializeTransaction,
} from '../../src/oauth.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox.ts'
import { loginError } from './helpers/login.ts'

// The service of these tests is the sandbox, which is written from the service's documents and shares nothing with the client.

const redirectUri = 'http://localhost:3000/callback'
const scope = ['conversations:read', 'messages:write', 'users:write'] as const

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
  sandbox.registerRedirectUri(redirectUri)
})
afterAll(() => sandbox.close())
beforeEach(() => sandbox.clearRequests())

function makeApp(options: Partial<OAuthAppOptions> = {}): OAuthApp {
  const { clientId, clientSecret } = sandbox.app
  return new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri, ...options })
}

/** Decides on the consent screen, and returns the callback URL. */
async function consent(url: string, decision: Record<string, string> = { auto: 'allow' }): Promise<string> {
  const response = await sandbox.fetch(`${url}&${new URLSearchParams(decision)}`, { redirect: 'manual' })
  return response.headers.get('location') ?? ''
}

async function me(accessToken: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${accessToken}` }
  return (await sandbox.fetch(`${sandbox.url}/api/oauth/v1/me`, { headers })).json()
}

test.each<[string, 'app' | 'self', Partial<OAuthAppOptions>]>([
  ['an app', 'app', {}],
  ['a person', 'self', {}],
  ['an app that authenticates with HTTP Basic', 'app', { clientAuthentication: 'client_secret_basic' }],
])('a login returns the token of %s', async (_title, actor, options) => {
  const app = makeApp({ fetch: sandbox.fetch, ...options })
  const { url, transaction } = await app.startLogin({ scope, actor })
  const token = await app.finishLogin(await consent(url), transaction)
  expect(token).toMatchObject({ tokenType: 'Bearer', scopes: scope, missingScopes: [] })
  expect(await me(token.accessToken)).toMatchObject({ actor, scopes: scope })
})

test("a login names the scopes that a member's role removes", async () => {
  const app = makeApp()
  const { url, transaction } = await app.startLogin({ scope, actor: 'self' })
  const token = await app.finishLogin(await consent(url, { auto: 'allow', role: 'agent' }), transaction)
  expect(token.requestedScopes).toEqual(scope)
  expect(token.missingScopes).toContain('users:write')
})

test('a login is started in a page and finished on its server', async () => {
  const page = new PublicOAuthApp({ baseUrl: sandbox.url, clientId: sandbox.app.clientId, redirectUri })
  const { url, transaction } = await page.startLogin({ scope, actor: 'self' })
  const kept = serializeTransaction(transaction)
  const token = await makeApp().exchangeCode(page.readCallback(await consent(url), parseTransaction(kept)))
  expect(await me(token.accessToken)).toMatchObject({ actor: 'self' })
})

interface Failure {
  readonly app?: Partial<OAuthAppOptions>
  readonly scope?: readonly string[]
  readonly decision?: Record<string, string>
  readonly fail?: { readonly status: 503 }
  readonly transaction?: (login: StartedLogin) => StartedLogin['transaction']
}

const withWrongVerifier = ({ transaction }: StartedLogin) =>
  parseTransaction(
    serializeTransaction(transaction).replace(/"codeVerifier":"[^"]+"/, `"codeVerifier":"${'x'.repeat(43)}"`),
  )

test.each<[string, LoginErrorReason, object, number, Failure]>([
  ['the admin denies access', 'access_denied', { code: 'access_denied' }, 0, { decision: { auto: 'deny' } }],
  ['a scope is unknown', 'authorization_failed', { code: 'invalid_scope' }, 0, { scope: ['moon:read'] }],
  ['the verifier does not match the challenge', 'invalid_grant', {}, 1, { transaction: withWrongVerifier }],
  ['the secret is wrong', 'invalid_client', { status: 401 }, 1, { app: { clientSecret: 'wrong' } }],
  [
    'the secret is wrong in HTTP Basic',
    'invalid_client',
    { status: 401 },
    1,
    { app: { clientSecret: 'wrong', clientAuthentication: 'client_secret_basic' } },
  ],
  ['the token endpoint is down', 'exchange_failed', { status: 503 }, 1, { fail: { status: 503 } }],
])('a login fails if %s, with at most one token request', async (_title, reason, details, requests, failure) => {
  const app = makeApp(failure.app)
  const login = await app.startLogin({ scope: failure.scope ?? scope })
  const callback = await consent(login.url, failure.decision)
  const transaction = failure.transaction?.(login) ?? login.transaction
  sandbox.clearRequests()
  if (failure.fail) sandbox.failNext(failure.fail as never)
  expect(await loginError(app.finishLogin(callback, transaction), reason)).toMatchObject(details)
  expect(sandbox.requests).toHaveLength(requests)
})

test('an exchange fails for a code that was used, or issued for another redirect URI', async () => {
  const app = makeApp()
  const { url, transaction } = await app.startLogin({ scope })
  const { codeVerifier } = JSON.parse(serializeTransaction(transaction))
  const callback = await consent(url)
  await app.finishLogin(callback, transaction)
  const code = new URL(callback).searchParams.get('code') ?? ''
  await loginError(app.exchangeCode({ code, codeVerifier, redirectUri }), 'invalid_grant')
  const foreign = 'http://localhost:3000/other'
  sandbox.registerRedirectUri(foreign)
  const other = await makeApp({ redirectUri: foreign }).startLogin({ scope })
  const theirs = new URL(await consent(other.url)).searchParams.get('code') ?? ''
  await loginError(app.exchangeCode({ code: theirs, codeVerifier: 'x'.repeat(43), redirectUri }), 'invalid_grant')
})
