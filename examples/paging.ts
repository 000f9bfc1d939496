/** Reads lists: every item, page after page with a place to resume from, and a limited number of items. */
import { type Checkpoint, SupportWorkspace } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const sandbox = await startSandbox({ conversations: 120 })
const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken() })

let count = 0
for await (const { id } of workspace.conversations.list({ limit: 50 })) if (id) count += 1
console.log(`Every conversation: ${count}`)

type Saved = { progress?: { checkpoint: Checkpoint | null; ids: string[] } }
/** Saves what it has read together with where to resume, so that a crash loses nothing and repeats nothing. */
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
await syncPages(workspace, saved, 2) // interrupted after two pages
await syncPages(workspace, saved, Number.POSITIVE_INFINITY) // resumes with the third
await syncPages(workspace, saved, Number.POSITIVE_INFINITY) // the list is finished, so this sends nothing
const newest = await workspace.conversations.list({ limit: 50 }).toArray({ maxItems: 70 })
console.log(`The newest ${newest.length}`)
await sandbox.close()
