/** Tests an app with a sandbox, a 503 and a revoked token. Run it with `npm run example examples/testing.ts`. */
import assert from 'node:assert/strict'
import { ServerError, type SupportWorkspace } from 'support-workspace-sdk'
import { ConnectionStore } from 'support-workspace-sdk/oauth'
import { createSandbox } from 'support-workspace-sdk/sandbox'

/** The app under test. */
async function countOpen(workspace: SupportWorkspace): Promise<number> {
  const all = await workspace.conversations.list({ limit: 100 }).toArray()
  return all.filter(({ status }) => status === 'open').length
}

const sandbox = createSandbox({ conversations: 250 }) // no port: requests go through `sandbox.fetch`
const client = { fetch: sandbox.fetch, maxRetries: 0 }
const onRevoked = () => console.log('The app was told about the revocation') // printed at the revocation below
const store = new ConnectionStore({ baseUrl: sandbox.url, client, onRevoked })
const token = sandbox.issueToken({ scopes: ['conversations:read'] })
const { key } = await store.save(token)

const expected = sandbox.state.conversations.filter(({ status }) => status === 'open').length
assert.equal(await countOpen(await store.workspace(key)), expected)
console.log(`Pages requested: ${sandbox.requests.filter(({ query }) => query.limit === '100').length}`) // 3

sandbox.faults.add({ status: 503, after: 1 }) // the second page fails
await assert.rejects(countOpen(await store.workspace(key)), ServerError)
sandbox.revoke(token) // as an admin does in the dashboard
await assert.rejects(countOpen(await store.workspace(key)), { name: 'AuthenticationError' })
assert.equal(await store.get(key), undefined)
