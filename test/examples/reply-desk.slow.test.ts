import { setTimeout } from 'node:timers/promises'
import { SupportWorkspace } from 'support-workspace-sdk'
import { Approvals } from 'support-workspace-sdk/approvals'
import { ChangeFeed } from 'support-workspace-sdk/changes'
import { type FaultTestJob, faultTest } from 'support-workspace-sdk/fault-test'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type Desk, isAutomatic } from '../../examples/reply-desk/desk.ts'
import { draftReplies, sendReplies } from '../../examples/reply-desk/worker.ts'
import { isFull } from '../../proofs/is-full.ts'

const secret = 'a secret of 32 characters or more'
const hour = 3_600_000

/** Runs loops of the desk for a minute. If one fails, all end, as in the worker. */
async function aMinute(...loops: readonly ((signal: AbortSignal) => Promise<void>)[]): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const run = async (loop: (typeof loops)[number]) => {
    try {
      await loop(either)
    } catch (error) {
      if (either.aborted) return
      failed.abort(error)
    }
  }
  await Promise.all(loops.map(run))
  failed.signal.throwIfAborted()
}

/** A desk whose customer asks something, and a person who approves every draft. */
const job: FaultTestJob<undefined, boolean> = async ({ workspace, sandbox, storage, state }) => {
  const approvals = new Approvals({ workspace, storage, secret, ignore: isAutomatic })
  const desk: Desk = { workspace, storage, approvals, secret }
  const id = sandbox.state.conversations[0]?.id ?? 'removed'
  const draft = (signal: AbortSignal) => draftReplies(desk, hour, signal)
  const send = (signal: AbortSignal) => sendReplies(desk, 2_000, signal)
  const approve = async (signal: AbortSignal) => {
    for (;;) {
      await setTimeout(1_000, undefined, { signal })
      for (const { key, digest } of await approvals.list({ state: 'pending' })) {
        await approvals.approve(key, { digest, by: 'may' })
      }
    }
  }
  await aMinute(draft)
  state.asked ??= sandbox.receiveMessage(id, '<p>Where is my parcel?</p>')
  for (let minutes = 0; minutes < 5; minutes += 1) {
    await aMinute(draft, approve, send)
    const proposal = await approvals.get(`reply:${state.asked}`)
    if (proposal !== undefined && ['sent', 'stale', 'rejected'].includes(proposal.state)) return true
    // Somebody was faster than the draft.
    if (proposal === undefined && sandbox.state.messages(id)[0]?.id !== state.asked) return true
  }
  return false
}

/** Loads what is loaded when it is first used, because the simulated clock does not wait for that. */
beforeAll(async () => {
  const sandbox = createSandbox({ conversations: 1 })
  const { url: baseUrl, fetch } = sandbox
  const workspace = new SupportWorkspace({ baseUrl, fetch, accessToken: sandbox.issueToken(), actor: 'self' })
  const storage = memoryStorage()
  for await (const _ of new ChangeFeed({ workspace, storage, secret, passes: 1, since: 'beginning' }));
  await new Approvals({ workspace, storage, secret }).get('none')
})

// In the gate, `proofs/reply-desk` kills the desk's processes and loses responses.
test.runIf(isFull)('the desk doubles and loses nothing under every fault', { timeout: 300_000 }, async () => {
  const options = { sandbox: { conversations: 1 }, done: (isAnswered: boolean) => isAnswered }
  const report = await faultTest(job, options)
  report.assert()
  expect(report.writes).toEqual(['messages.create'])
  // What was not sent, or nobody knows about, is for a person.
  const open = report.runs.filter(({ end }) => end !== 'done').map(({ id }) => id.replace(/@.*/, ''))
  const outages = ['not-json', 'reset-before-effect', 'unavailable', 'unavailable-from-here']
  const forPersons = ['item-removed', 'killed-before-request', ...outages]
  expect(open.filter((fault) => !forPersons.includes(fault))).toEqual([])
})

test.each([
  ['a 403', { status: 403 }],
  ['a 500', { status: 500 }],
  ['a page of HTML', { status: 200, body: '<html></html>' }],
])('a conversation that answers with %s blocks no other, and gets its draft later', async (_, fault) => {
  const [told, warned] = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn')]
  for (const spy of [told, warned]) spy.mockImplementation(() => {})
  onTestFinished(() => void vi.restoreAllMocks())
  const sandbox = createSandbox({ conversations: 2 })
  const { url: baseUrl, fetch } = sandbox
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const workspace = new SupportWorkspace({ baseUrl, fetch, accessToken, actor: 'self', maxRetries: 0 })
  const storage = memoryStorage()
  for (const key of ['approvals:open:damaged', 'failed:damaged']) await storage.compareAndSet(key, null, 'damaged')
  const approvals = new Approvals({ workspace, storage, secret })
  const [broken, healthy] = sandbox.state.conversations.map(({ id }) => id)
  /** Runs the loop for ten passes, and to the first list after them. */
  const run = async (before: () => void = () => {}) => {
    const stop = new AbortController()
    let passes = 0
    const feeding = workspace.withOptions({
      middleware: (call, next) => {
        if (call.operation.id === 'conversations.list' && ++passes === 2) before()
        if (passes > 11) stop.abort()
        return next(call)
      },
    })
    await draftReplies({ workspace: feeding, storage, approvals, secret }, 1, stop.signal).catch(() => {})
    const drafts = await approvals.list({ state: 'pending', onUnreadable: () => {} })
    return drafts.map(({ conversationId }) => conversationId).sort()
  }
  const drafts = await run(() => {
    for (const id of [broken, healthy]) sandbox.receiveMessage(id ?? '', '<p>Hello?</p>')
    // The feed reads the conversation before the worker does.
    sandbox.faults.add({ path: new RegExp(`${broken}/messages`), times: Infinity, after: 1, ...fault })
  })
  expect(drafts).toEqual([healthy])
  const names = told.mock.calls.map(([text]) => String(text))
  expect(names).toContain('failed:damaged needs a person:')
  expect(names).toContainEqual(expect.stringMatching(`^failed:${broken}:msg_.+ needs a person:$`))
  sandbox.faults.clear()
  expect(await run()).toEqual([broken, healthy].sort())
})
