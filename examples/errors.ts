/** Handles failed calls, and shows beside each what it prints. Run it with `npm run example examples/errors.ts`. */
import {
  AuthenticationError,
  InsufficientScopeError,
  RateLimitError,
  RequestError,
  SupportWorkspace,
} from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const sandbox = await startSandbox()
const accessToken = sandbox.issueToken({ actor: 'self', scopes: ['contacts:read', 'contacts:write'] })
const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, maxRetries: 0 })
await workspace.conversations.list().catch(explain) // Missing scope: conversations:read
sandbox.failNext({ drop: 'after-effect' })
await workspace.contacts.create({ email: 'ada@example.com' }).catch(explain) // contacts.create failed, outcome: unknown
sandbox.failNext({ status: 401, body: { error: 'invalid_token' } }) // as after a revocation
await workspace.me().catch(explain) // The token was revoked: log in again
sandbox.failNext({ status: 429, retryAfter: 30 })
await workspace.contacts.list().catch(explain) // Rate limited: retry after 30 seconds
await sandbox.close()

function explain(error: unknown): void {
  if (error instanceof InsufficientScopeError) console.log(`Missing scope: ${error.missing}`)
  else if (error instanceof RateLimitError) console.log(`Rate limited: retry after ${error.retryAfter} seconds`)
  else if (error instanceof AuthenticationError) console.log('The token was revoked: log in again')
  else if (error instanceof RequestError) console.log(`${error.operation} failed, outcome: ${error.outcome}`)
  else throw error
}
