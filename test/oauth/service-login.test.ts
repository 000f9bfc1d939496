import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  OAuthApp,
  type OAuthAppOptions,
  PublicOAuthApp,
  parseTransaction,
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

test('a login fails if the secret is wrong in HTTP Basic, with one token request', async () => {
  const app = makeApp({ clientSecret: 'wrong', clientAuthentication: 'client_secret_basic' })
  const { url, transaction } = await app.startLogin({ scope })
  const callback = await consent(url)
  sandbox.clearRequests()
  const error = await loginError(app.finishLogin(callback, transaction), 'invalid_client')
  expect(error).toMatchObject({ status: 401 })
  expect(sandbox.requests).toHaveLength(1)
})
