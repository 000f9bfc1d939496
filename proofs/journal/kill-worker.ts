// A process that makes one write through a journal, and kills itself before one of its steps: a call of the storage, or a
// request, before it leaves and after its response.
import { SupportWorkspace } from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { open } from '../../test/connections/helpers/open-storage.ts'

/** What a process is started with. */
export interface KillOrder {
  readonly storage: string
  readonly baseUrl: string
  readonly accessToken: string
  readonly conversation: string
  readonly key: string
  readonly body_html: string
  /** The number of the step, from 1. 0 for none. */
  readonly killAt: number
}

/** What a process says in the end. */
export type KillReport = { readonly id?: string; readonly error?: string }

const order = JSON.parse(process.argv[2] ?? '') as KillOrder
let steps = 0

async function step<Value>(run: () => Value | Promise<Value>): Promise<Value> {
  const dieAtTurn = () => {
    steps += 1
    if (steps === order.killAt) process.kill(process.pid, 'SIGKILL')
  }
  dieAtTurn()
  const value = await run()
  dieAtTurn()
  return value
}

const storage = await open(order.storage)
const platformFetch = globalThis.fetch
const workspace = new SupportWorkspace({
  baseUrl: order.baseUrl,
  accessToken: order.accessToken,
  actor: 'self',
  timeout: 1_000,
  fetch: (url, init) => step(() => platformFetch(url, init as RequestInit)),
})
const journal = new WriteJournal({
  workspace,
  confirmTimeout: 300,
  storage: {
    ...storage,
    get: (key) => step(() => storage.get(key)),
    compareAndSet: (key, expected, value) => step(() => storage.compareAndSet(key, expected, value)),
  },
})
const report = await journal
  .once(order.key, (client) => client.messages.create(order.conversation, { body_html: order.body_html }))
  .then(
    ({ id }): KillReport => ({ ...(id !== undefined && { id }) }),
    (error: Error): KillReport => ({ error: error.name }),
  )
process.send?.(report, () => process.exit())
