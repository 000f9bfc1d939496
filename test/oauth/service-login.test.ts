import { expect, test } from 'vitest'
import { OAuthApp, type OAuthAppOptions } from '../../src/oauth/index.ts'
import { createSandbox } from '../../src/sandbox/index.ts'

// The service of these tests is the sandbox, which is written from the service's documents and shares nothing with the client.

const redirectUri = 'http://localhost:3000/callback'
const scope = ['conversations:read', 'messages:write', 'users:write'] as const

const sandbox = createSandbox()
sandbox.registerRedirectUri(redirectUri)
const { clientId, clientSecret } = sandbox.app
const usual = { baseUrl: sandbox.url, clientId, clientSecret, redirectUri, fetch: sandbox.fetch }

test.each<[string, 'app' | 'self', Partial<OAuthAppOptions>, string, string[]]>([
  ['an app', 'app', {}, 'admin', []],
  ['an app that authenticates with HTTP Basic', 'app', { clientAuthentication: 'client_secret_basic' }, 'admin', []],
  ['a person', 'self', {}, 'admin', []],
  ['a person whose role removes a scope', 'self', {}, 'agent', ['users:write']],
])('a login returns the token of %s', async (_title, actor, options, role, missingScopes) => {
  const app = new OAuthApp({ ...usual, ...options })
  const { url, transaction } = await app.startLogin({ scope, actor })
  const consent = await sandbox.fetch(`${url}&${new URLSearchParams({ auto: 'allow', role })}`, { redirect: 'manual' })
  const token = await app.finishLogin(consent.headers.get('location') ?? '', transaction)
  const scopes = scope.filter((name) => !missingScopes.includes(name))
  expect(token).toMatchObject({ tokenType: 'Bearer', requestedScopes: scope, scopes, missingScopes })
  const headers = { authorization: `Bearer ${token.accessToken}` }
  const me = await sandbox.fetch(`${sandbox.url}/api/oauth/v1/me`, { headers })
  expect(await me.json()).toMatchObject({ actor, scopes })
})
