import { type ClientOptions, type Middleware, SupportWorkspace, schemas } from 'support-workspace-sdk'
import { Approvals } from 'support-workspace-sdk/approvals'
import { ChangeFeed } from 'support-workspace-sdk/changes'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { createSandbox, type Sandbox } from 'support-workspace-sdk/sandbox'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { expect, test } from 'vitest'
import { digestAtOnce } from '../journal/digest-at-once.ts'
import { skipWaits } from '../journal/helpers.ts'

interface Run {
  readonly workspace: SupportWorkspace<'self'>
  readonly sandbox: Sandbox
  readonly conversation: string
  readonly options: ClientOptions<'self'>
}

const storage = memoryStorage
const reply = (client: SupportWorkspace<'self'>, { conversation }: Run) =>
  client.messages.create(conversation, { body_html: '<p>On it.</p>' })

test.each<[string, (run: Run) => Promise<unknown>, string[]]>([
  [
    'the journal, which looks before a write and confirms a lost one',
    async (run) => {
      const journal = new WriteJournal({ workspace: run.workspace, storage: storage() })
      run.sandbox.faults.add({ method: 'POST', status: 503, effect: true })
      await journal.once('reply', (client) => reply(client, run), {
        before: (client) => client.messages.list(run.conversation).toArray(),
      })
    },
    ['me', 'messages.list'],
  ],
  [
    'approvals, with a lost reply',
    async (run) => {
      const approvals = new Approvals({ workspace: run.workspace, storage: storage() })
      const { key, digest } = await approvals.propose('reply', (client) => reply(client, run))
      await approvals.approve(key, { by: 'ada', digest })
      run.sandbox.faults.add({ method: 'POST', status: 503, effect: true })
      const states: string[] = []
      for (let sends = 0; sends < 2; sends++) for await (const { state } of approvals.send()) states.push(state)
      expect(states).toEqual(['unconfirmed', 'sent'])
    },
    ['me', 'messages.list'],
  ],
  [
    'a change feed',
    async ({ workspace }) => {
      const feed = new ChangeFeed({ workspace, storage: storage(), since: 'beginning', passes: 1 })
      expect((await Array.fromAsync(feed)).length).toBeGreaterThan(1)
    },
    ['conversations.list', 'me', 'messages.list'],
  ],
  ['`connect`', async ({ options }) => void (await SupportWorkspace.connect(options)), ['me']],
])('a cache that obeys `fresh` answers no read of %s', async (_title, run, reads) => {
  const sandbox = createSandbox({ conversations: 2, now: Date.now })
  const seen = new Map<string, boolean>()
  const middleware: Middleware = (call, next) => {
    const { id, method } = call.operation
    if (method === 'GET') seen.set(id, call.fresh && seen.get(id) !== false)
    return next(call)
  }
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const options = { baseUrl: sandbox.url, accessToken, maxRetries: 0, fetch: sandbox.fetch, middleware }
  const workspace = new SupportWorkspace<'self'>({ ...options, actor: 'self' })
  // Faked time would pass while they load.
  await schemas.me['~standard'].validate({})
  skipWaits()
  digestAtOnce()
  await run({ workspace, sandbox, options, conversation: sandbox.state.conversations[0]?.id ?? '' })
  expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(reads.map((id) => [id, true])))
})
