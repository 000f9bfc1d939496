// A process that runs a feed for some passes, and kills itself before one of its steps: a call of the storage or a request.
import { appendFileSync } from 'node:fs'
import { SupportWorkspace } from 'support-workspace-sdk'
import { ChangeFeed } from 'support-workspace-sdk/changes'
import { open } from '../../test/connections/helpers/open-storage.ts'

/** What a process is started with. */
export interface FeedOrder {
  readonly storage: string
  /** The name of the feed in the storage. */
  readonly name: string
  /** The file that gets a line for each change. */
  readonly file: string
  readonly baseUrl: string
  readonly accessToken: string
  /** The number of the step, from 1. 0 for none. */
  readonly killAt: number
  readonly passes: number
  /** Pause between two passes, in milliseconds. */
  readonly interval: number
}

const { storage: module, file, baseUrl, accessToken, killAt, ...rest } = JSON.parse(process.argv[2] ?? '') as FeedOrder
let steps = 0

async function step<Value>(run: () => Value | Promise<Value>): Promise<Value> {
  const dieAtTurn = () => {
    steps += 1
    if (steps === killAt) process.kill(process.pid, 'SIGKILL')
  }
  dieAtTurn()
  const value = await run()
  dieAtTurn()
  return value
}

const storage = await open(module)
const platformFetch = globalThis.fetch
const workspace = new SupportWorkspace({
  ...{ baseUrl, accessToken },
  fetch: (url, init) => step(() => platformFetch(url, init as RequestInit)),
})
const feed = new ChangeFeed({
  ...{ workspace, ...rest, since: 'beginning', auditEvery: 1, limit: 5, maxDeletions: 100 },
  storage: {
    get: (key) => step(() => storage.get(key)),
    compareAndSet: (key, expected, value) => step(() => storage.compareAndSet(key, expected, value)),
    list: (prefix) => storage.list(prefix),
  },
})
for await (const change of feed) appendFileSync(file, `${JSON.stringify(change)}\n`)
process.exit()
