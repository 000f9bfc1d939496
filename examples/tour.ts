/**
 * A tour of the SDK: a local service, a login with PKCE, the account of the token, every conversation, a message, a
 * call that needs another actor, and a revoked token.
 *
 *   npm start              runs the tour
 *   npm start -- --serve   runs the tour and then serves the console of the local service
 *
 * Prints seven numbered steps, for example "4. Paged through 420 conversations with for await, 50 at a time", and then
 * "All steps succeeded."
 */
import { ActorSelfRequiredError, AuthenticationError, SupportWorkspace } from 'support-workspace-sdk'
import { OAuthApp, scopesFor } from 'support-workspace-sdk/oauth'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const redirectUri = 'http://127.0.0.1:8910/callback'
const sandbox = await startSandbox({ conversations: 420, app: { redirectUris: [redirectUri] } })
const baseUrl = sandbox.url

try {
  step(1, `Started a local service at ${baseUrl}`)

  const { clientId, clientSecret } = sandbox.app
  const app = new OAuthApp({ baseUrl, clientId, clientSecret, redirectUri })
  const scope = scopesFor('conversations.list', 'messages.create')
  const self = await logIn('self')
  step(2, `Logged in with PKCE as actor "self"; granted: ${self.scope}`)

  const workspace = new SupportWorkspace({ baseUrl, accessToken: self.accessToken, actor: 'self' })
  const me = await workspace.me()
  step(3, `The token belongs to ${me.user?.name} of ${me.organization?.display_name}`)

  let count = 0
  let newest: string | undefined
  for await (const conversation of workspace.conversations.list({ limit: 50 })) {
    newest ??= conversation.id
    count += 1
  }
  expect(count === 420 && newest !== undefined, `expected 420 conversations, got ${count}`)
  step(4, `Paged through ${count} conversations with for await, 50 at a time`)

  const message = await workspace.messages.create(newest, { body_html: '<p>On it.</p>' })
  step(5, `Sent message ${message.id} as ${message.user?.name}`)

  const background = await logIn('app')
  // This client does not know its actor, so it sends the call. With `actor: 'app'`, TypeScript would reject it.
  const sync = new SupportWorkspace({ baseUrl, accessToken: background.accessToken })
  const rejected = await errorOf(sync.messages.create(newest, { body_html: '<p>Hello?</p>' }))
  expect(rejected instanceof ActorSelfRequiredError, `expected an ActorSelfRequiredError, got ${rejected}`)
  step(6, `With actor "app", the service rejects the same call: ${rejected.name} (${rejected.status} ${rejected.code})`)

  sandbox.revoke(self.accessToken)
  const revoked = await errorOf(workspace.me())
  expect(revoked instanceof AuthenticationError, `expected an AuthenticationError, got ${revoked}`)
  step(7, `After an admin revokes the connection: ${revoked.name} (${revoked.status} ${revoked.code})`)

  console.log('\nAll steps succeeded.')

  async function logIn(actor: 'app' | 'self') {
    const { url, transaction } = await app.startLogin({ scope, actor, parameters: { auto: 'allow' } })
    // In a real login, an admin opens the URL in a browser. With `auto`, the sandbox allows access immediately.
    const consent = await fetch(url, { redirect: 'manual' })
    return app.finishLogin(consent.headers.get('location') ?? '', transaction)
  }
} catch (error) {
  console.error('\nThe tour failed:', error)
  process.exitCode = 1
}

if (process.argv.includes('--serve') && process.exitCode !== 1) await serve()
await sandbox.close()

function step(number: number, text: string): void {
  console.log(`${number}. ${text}`)
}

function expect(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message)
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return void (await call)
  } catch (error) {
    return error
  }
}

async function serve(): Promise<void> {
  console.log(`
Open the console: ${baseUrl}/

It has credentials and tokens to copy, the requests of the tour, and its data. Press Ctrl+C to stop.`)
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
}
