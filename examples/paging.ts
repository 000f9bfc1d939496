/** Reads every item, pages that can be resumed, and the newest items. Run: npm run example examples/paging.ts */
import { type Checkpoint, SupportWorkspace } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const sandbox = await startSandbox({ conversations: 120 })
const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken() })

const allIds = []
for await (const { id } of workspace.conversations.list({ limit: 50 })) allIds.push(id)
console.log(`Every conversation: ${allIds.length}`) // Every conversation: 120

type Saved = { progress?: { checkpoint: Checkpoint | null; ids: string[] } }
/** Saves the ids of each page with the place to resume from. A restart continues after the last page that was saved. */
export async function syncPages(workspace: SupportWorkspace, saved: Saved, atMost: number) {
  let { checkpoint, ids } = saved.progress ?? { checkpoint: null, ids: [] }
  for await (const page of workspace.conversations.list({ limit: 50 }, { resumeFrom: checkpoint }).pages()) {
    console.log(`A page of ${page.data.length}`)
    ids = [...ids, ...page.data.map(({ id }) => id)]
    saved.progress = { checkpoint: page.checkpoint, ids }
    if (--atMost === 0) break
  }
}
const saved = {}
await syncPages(workspace, saved, 2) // interrupted after two pages: prints "A page of 50" twice
await syncPages(workspace, saved, Number.POSITIVE_INFINITY) // resumes with the third: A page of 20
await syncPages(workspace, saved, Number.POSITIVE_INFINITY) // the list is finished, so this sends nothing
const newest = await workspace.conversations.list({ limit: 50 }).toArray({ maxItems: 70 })
console.log(`The newest ${newest.length}`) // The newest 70
await sandbox.close()
