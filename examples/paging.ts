/** Reads lists: every item, page after page with a place to resume from, and a limited number of items. */
import { SupportWorkspace } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const sandbox = await startSandbox({ conversations: 120 })
const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken() })

let count = 0
for await (const conversation of workspace.conversations.list({ limit: 50 })) if (conversation.id) count += 1
console.log(`Every conversation: ${count}`)

// Save `after` together with `done`: a null `after` alone could mean "finished" or "not started".
const saved: { after: string | null; done: boolean } = { after: null, done: false }
async function syncPages(atMost: number): Promise<void> {
  for await (const page of workspace.conversations.list({ limit: 50, after: saved.after }).pages()) {
    console.log(`A page of ${page.data.length}`)
    Object.assign(saved, { after: page.after, done: page.after === null })
    if (--atMost === 0) break
  }
}
await syncPages(2) // interrupted after two pages
if (!saved.done) await syncPages(Number.POSITIVE_INFINITY) // resumes with the third

const newest = await workspace.conversations.list({ limit: 50 }).toArray({ maxItems: 70 })
console.log(`The newest ${newest.length}`)
await sandbox.close()
