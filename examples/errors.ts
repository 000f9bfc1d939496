/** Handles failed calls: a missing scope, a write whose response was lost, a revoked token and a rate limit. */
import * as sdk from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const sandbox = await startSandbox()
const accessToken = sandbox.issueToken({ actor: 'self', scopes: ['contacts:read', 'contacts:write'] })
const workspace = new sdk.SupportWorkspace({ baseUrl: sandbox.url, accessToken, maxRetries: 0 })

await workspace.conversations.list().catch(explain)
sandbox.failNext({ drop: 'after-effect' })
await workspace.contacts.create({ email: 'ada@example.com' }).catch(explain)
sandbox.failNext({ status: 401, body: { error: 'invalid_token' } }) // as after a revocation
await workspace.me().catch(explain)
sandbox.failNext({ status: 429, retryAfter: 30 })
await workspace.contacts.list().catch(explain)
await sandbox.close()

function explain(error: unknown): void {
  if (error instanceof sdk.InsufficientScopeError) console.log(`Missing scope: ${error.missing}`)
  else if (error instanceof sdk.RateLimitError) console.log(`Rate limited: retry after ${error.retryAfter} seconds`)
  else if (error instanceof sdk.AuthenticationError) console.log('The token was revoked: log in again')
  else if (error instanceof sdk.RequestError) console.log(`${error.operation} failed, outcome: ${error.outcome}`)
  else throw error
}
