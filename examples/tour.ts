/**
 * The whole of it in one run: a local service, a login with PKCE, who am I, every conversation, a message, the actor
 * wall, a revoked token.
 *
 *   npm start              does it and says whether it worked
 *   npm start -- --serve   then keeps the service up, to look around
 */
import { ActorSelfRequiredError, AuthenticationError, SupportWorkspace } from 'support-workspace-sdk'
import { OAuthApp, scopesFor } from 'support-workspace-sdk/oauth'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const redirectUri = 'http://127.0.0.1:8910/callback'
const sandbox = await startSandbox({ conversations: 420, app: { redirectUris: [redirectUri] } })
const baseUrl = sandbox.url

try {
  step(1, `A local service is up at ${baseUrl}`)

  const app = new OAuthApp({ baseUrl, redirectUri, ...sandbox.app })
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
  expect(count === 420 && newest !== undefined, `expected 420 conversations, met ${count}`)
  step(4, `Paged through ${count} conversations with for await, 50 at a time`)

  const message = await workspace.messages.create(newest, { body_html: '<p>On it.</p>' })
  step(5, `Sent message ${message.id} as ${message.user?.name}`)

  const background = await logIn('app')
  // Made without its actor, the client lets the call go out and the service refuse it. With `actor: 'app'` it would
  // not compile.
  const sync = new SupportWorkspace({ baseUrl, accessToken: background.accessToken })
  const wall = await failureOf(sync.messages.create(newest, { body_html: '<p>Hello?</p>' }))
  expect(wall instanceof ActorSelfRequiredError, `expected an ActorSelfRequiredError, met ${wall}`)
  step(6, `As actor "app" the same call is refused: ${wall.name} (${wall.status} ${wall.code})`)

  sandbox.revoke(self.accessToken)
  const revoked = await failureOf(workspace.me())
  expect(revoked instanceof AuthenticationError, `expected an AuthenticationError, met ${revoked}`)
  step(7, `After an admin revokes the connection: ${revoked.name} (${revoked.status} ${revoked.code})`)

  console.log('\nEverything worked.')

  async function logIn(actor: 'app' | 'self') {
    const { url, transaction } = await app.startLogin({ scope, actor, parameters: { auto: 'allow' } })
    // An admin's browser would open the address and come back to the redirect URI. `auto` presses Allow for us.
    const answer = await fetch(url, { redirect: 'manual' })
    return app.finishLogin(answer.headers.get('location') ?? '', transaction)
  }
} catch (error) {
  console.error('\nIt did not work:', error)
  process.exitCode = 1
}

if (process.argv.includes('--serve') && process.exitCode !== 1) await serve()
await sandbox.close()

function step(number: number, text: string): void {
  console.log(`${number}. ${text}`)
}

function expect(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise)
}

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return void (await call)
  } catch (error) {
    return error
  }
}

async function serve(): Promise<void> {
  const app = new OAuthApp({ baseUrl, redirectUri, ...sandbox.app })
  const { url } = await app.startLogin({ scope: scopesFor('conversations.list'), actor: 'self' })
  console.log(`
The service stays up. Ctrl-C ends it.

  Consent page    ${url}
  A self token    ${sandbox.issueToken({ actor: 'self' })}
  An app token    ${sandbox.issueToken({ actor: 'app' })}
  Try             curl -H "authorization: Bearer $TOKEN" "${baseUrl}/api/oauth/v1/conversations?limit=2"
`)
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
}
