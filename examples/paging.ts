/** Reads lists, also with a checkpoint to resume from. Run it with `npm run example examples/paging.ts`. */
import { type Checkpoint, SupportWorkspace } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const sandbox = await startSandbox({ conversations: 120 })
const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken() })

let count = 0
for await (const _conversation of workspace.conversations.list({ limit: 50 })) count += 1
console.log(`Every conversation: ${count}`) // Every conversation: 120

type Saved = { progress?: { checkpoint: Checkpoint | null; ids: string[] } }
/** Saves the ids of each page with its checkpoint. After a crash, the next run continues after the saved page. */
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
await syncPages(workspace, saved, 2) // interrupted after two pages: A page of 50, A page of 50
await syncPages(workspace, saved, Number.POSITIVE_INFINITY) // resumes with the third page: A page of 20
await syncPages(workspace, saved, Number.POSITIVE_INFINITY) // does not send a request, because the list is finished
const newest = await workspace.conversations.list({ limit: 50 }).toArray({ maxItems: 70 })
console.log(`The newest ${newest.length}`) // The newest 70
await sandbox.close()
