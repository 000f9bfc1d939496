import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  OAuthApp,
  type OAuthAppOptions,
  PublicOAuthApp,
  parseTransaction,
  serializeTransaction,
} from '../../src/oauth.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox.ts'
import { loginError } from './helpers/login.ts'

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

/** Opens the consent screen, decides, and returns the callback URL. */
async function consent(url: string, decision: Record<string, string> = { auto: 'allow' }): Promise<string> {
  const response = await fetch(`${url}&${new URLSearchParams(decision)}`, { redirect: 'manual' })
  expect(response.status).toBe(302)
  return response.headers.get('location') ?? ''
}

async function me(token: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${sandbox.url}/api/oauth/v1/me`, { headers: { authorization: `Bearer ${token}` } })
  expect(response.status).toBe(200)
  return (await response.json()) as Record<string, unknown>
}

describe('a login at the service', () => {
  test.each(['app', 'self'] as const)('returns a token of the requested actor: %s', async (actor) => {
    const app = makeApp()
    const { url, transaction } = await app.startLogin({ scope, actor })
    const token = await app.finishLogin(await consent(url), transaction)
    expect(token.tokenType).toBe('Bearer')
    expect(token.scopes).toEqual(scope)
    expect(token.missingScopes).toEqual([])
    expect(await me(token.accessToken)).toMatchObject({ actor, scopes: [...scope] })
  })

  test("names the scopes that a member's role removes", async () => {
    const app = makeApp()
    const { url, transaction } = await app.startLogin({ scope, actor: 'self' })
    const token = await app.finishLogin(await consent(url, { auto: 'allow', role: 'agent' }), transaction)
    expect(token.requestedScopes).toEqual(scope)
    expect(token.missingScopes).toContain('users:write')
    expect(token.scopes).toContain('conversations:read')
  })

  test('works with HTTP Basic', async () => {
    const app = makeApp({ clientAuthentication: 'client_secret_basic' })
    const { url, transaction } = await app.startLogin({ scope })
    const token = await app.finishLogin(await consent(url), transaction)
    expect(await me(token.accessToken)).toMatchObject({ application: { client_id: sandbox.app.clientId } })
  })

  test('works through a custom fetch', async () => {
    const app = makeApp({ fetch: sandbox.fetch })
    const { url, transaction } = await app.startLogin({ scope })
    const response = await sandbox.fetch(`${url}&auto=allow`, { redirect: 'manual' })
    const token = await app.finishLogin(response.headers.get('location') ?? '', transaction)
    expect(token.accessToken).toMatch(/^swot_/)
  })

  test('is started in a page and finished on its server', async () => {
    const page = new PublicOAuthApp({ baseUrl: sandbox.url, clientId: sandbox.app.clientId, redirectUri })
    const { url, transaction } = await page.startLogin({ scope, actor: 'self' })
    const kept = serializeTransaction(transaction)
    const grant = page.readCallback(await consent(url), parseTransaction(kept))
    const token = await makeApp().exchangeCode(grant)
    expect(await me(token.accessToken)).toMatchObject({ actor: 'self' })
  })
})

describe('a login at the service fails', () => {
  test('with access_denied if the admin denies access', async () => {
    const app = makeApp()
    const { url, transaction } = await app.startLogin({ scope })
    const error = await loginError(app.finishLogin(await consent(url, { auto: 'deny' }), transaction), 'access_denied')
    expect(error.code).toBe('access_denied')
  })

  test('with authorization_failed if a scope is unknown', async () => {
    const app = makeApp()
    const { url, transaction } = await app.startLogin({ scope: ['moon:read'] })
    const error = await loginError(app.finishLogin(await consent(url), transaction), 'authorization_failed')
    expect(error.code).toBe('invalid_scope')
  })

  test('if a code is used twice', async () => {
    const app = makeApp()
    const { url, transaction } = await app.startLogin({ scope })
    const { codeVerifier, redirectUri } = JSON.parse(serializeTransaction(transaction))
    const callback = await consent(url)
    await app.finishLogin(callback, transaction)
    const code = new URL(callback).searchParams.get('code') ?? ''
    const error = await loginError(app.exchangeCode({ code, codeVerifier, redirectUri }), 'invalid_grant')
    expect(error.status).toBe(400)
  })

  test('if the code verifier does not match the challenge', async () => {
    const app = makeApp()
    const { url, transaction } = await app.startLogin({ scope })
    const record = JSON.parse(serializeTransaction(transaction))
    const forged = parseTransaction(JSON.stringify({ ...record, codeVerifier: 'x'.repeat(43) }))
    await loginError(app.finishLogin(await consent(url), forged), 'invalid_grant')
  })

  test.each(['client_secret_post', 'client_secret_basic'] as const)(
    'if the secret is wrong (%s), without a retry',
    async (clientAuthentication) => {
      const app = makeApp({ clientSecret: 'wrong', clientAuthentication })
      const { url, transaction } = await app.startLogin({ scope })
      const callback = await consent(url)
      sandbox.clearRequests()
      await loginError(app.finishLogin(callback, transaction), 'invalid_client')
      expect(sandbox.requests).toHaveLength(1)
    },
  )

  test('if the code was issued for another redirect URI', async () => {
    const foreign = 'http://localhost:3000/other'
    sandbox.registerRedirectUri(foreign)
    const { url } = await makeApp({ redirectUri: foreign }).startLogin({ scope })
    const theirs = new URL(await consent(url)).searchParams.get('code') ?? ''
    const grant = { code: theirs, codeVerifier: 'x'.repeat(43), redirectUri }
    await loginError(makeApp().exchangeCode(grant), 'invalid_grant')
  })

  test('if the callback has another state', async () => {
    const app = makeApp()
    const { url, transaction } = await app.startLogin({ scope })
    const callback = new URL(await consent(url))
    callback.searchParams.set('state', 'another')
    await loginError(app.finishLogin(callback, transaction), 'state_mismatch')
  })

  test('if the token endpoint is down, without a retry', async () => {
    const app = makeApp()
    const { url, transaction } = await app.startLogin({ scope })
    const callback = await consent(url)
    sandbox.clearRequests()
    sandbox.failNext({ status: 503 } as never)
    const error = await loginError(app.finishLogin(callback, transaction), 'exchange_failed')
    expect(error.status).toBe(503)
    expect(sandbox.requests).toHaveLength(1)
  })
})
