/** Logs in with OAuth and PKCE, and shows a denied login. Run: npm run example examples/login.ts */
import { SupportWorkspace } from 'support-workspace-sdk'
import { LoginError, OAuthApp, scopesFor } from 'support-workspace-sdk/oauth'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const sandbox = await startSandbox() // registers http://localhost:3000/callback as a redirect URI
const { clientId, clientSecret } = sandbox.app
const app = new OAuthApp({
  baseUrl: sandbox.url,
  clientId,
  clientSecret,
  redirectUri: 'http://localhost:3000/callback',
})

async function logIn(decision: 'allow' | 'deny') {
  const scope = scopesFor('conversations.list', 'messages.create')
  // The sandbox submits the consent page because of `auto`. The real service does not have this parameter.
  const { url, transaction } = await app.startLogin({ scope, actor: 'self', parameters: { auto: decision } })
  const consent = await fetch(url, { redirect: 'manual' })
  return app.finishLogin(consent.headers.get('location') ?? '', transaction)
}

const { accessToken, scopes } = await logIn('allow')
const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, actor: 'self' })
console.log(`Granted: ${scopes}`) // Granted: conversations:read,messages:write
console.log(`Actor: ${(await workspace.me()).actor}`) // Actor: self
// Prints: Failed: access_denied
await logIn('deny').catch((error) => console.log(error instanceof LoginError && `Failed: ${error.reason}`))
await sandbox.close()
