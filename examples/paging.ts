/** Reads lists: every item, page after page with a place to resume from, and a limited number of items. */
import { type Checkpoint, SupportWorkspace } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const sandbox = await startSandbox({ conversations: 120 })
const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken() })

let count = 0
for await (const conversation of workspace.conversations.list({ limit: 50 })) if (conversation.id) count += 1
console.log(`Every conversation: ${count}`)

let saved: Checkpoint | null = null
async function syncPages(atMost: number): Promise<void> {
  for await (const page of workspace.conversations.list({ limit: 50 }, { resumeFrom: saved }).pages()) {
    console.log(`A page of ${page.data.length}`)
    saved = page.checkpoint
    if (--atMost === 0) break
  }
}
await syncPages(2) // interrupted after two pages
await syncPages(Number.POSITIVE_INFINITY) // resumes with the third
await syncPages(Number.POSITIVE_INFINITY) // the list is finished, so this sends nothing

const newest = await workspace.conversations.list({ limit: 50 }).toArray({ maxItems: 70 })
console.log(`The newest ${newest.length}`)
await sandbox.close()
