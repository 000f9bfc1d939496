// A program that copies the changes of a feed into a table, under every fault at every request and every write.
import { SupportWorkspaceError } from 'support-workspace-sdk'
import { ChangeFeed } from 'support-workspace-sdk/changes'
import { type FaultTestWorld, faultTest } from 'support-workspace-sdk/fault-test'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { expect, test } from 'vitest'
import { isFull } from '../is-full.ts'

type Table = Map<string, string>

async function copy({ workspace, storage, context }: FaultTestWorld<Table>) {
  // A feed waits for ever. This job ends after ten waits, and the queue runs it again.
  const controller = new AbortController()
  let waits = 0
  const feed = new ChangeFeed({
    ...{ workspace, storage, since: 'beginning', passes: 2, interval: 4000, maxDeletions: 100 },
    signal: controller.signal,
    onProblem({ error, retryIn }) {
      if (retryIn !== undefined) waits += 1
      if (waits === 10) controller.abort(error)
    },
  })
  for await (const change of feed) {
    const row = `${change.resource} ${change.id}`
    if (change.kind === 'deleted') context.delete(row)
    else context.set(row, JSON.stringify(change.value))
  }
  // The pass after a failure can be incomplete. A queue runs the job again.
  if (feed.status().age === undefined) {
    throw new SupportWorkspaceError('No pass was complete.', { hint: 'Run it again.', remedy: 'retry' })
  }
}

function expectCopy({ state }: Sandbox, table: Table): void {
  for (const conversation of state.conversations) {
    expect(table.get(`conversations ${conversation.id}`)).toBe(JSON.stringify(conversation))
    for (const message of state.messages(conversation.id)) {
      expect(table.get(`messages ${message.id}`)).toBe(JSON.stringify(message))
    }
  }
}

test('a copy of a workspace loses nothing under every fault', { timeout: 1_200_000 }, async () => {
  const report = await faultTest<Table>(copy, {
    setup: () => new Map(),
    sandbox: { organizations: 1, conversations: isFull ? 4 : 2, messagesPerConversation: 2 },
    requests: isFull ? undefined : [1, 3, 4],
    check(sandbox, { context, end }) {
      // A service that is unavailable for ever is given up.
      if (end !== 'gave-up') expectCopy(sandbox, context)
    },
  })
  report.assert()
  const ids = new Set(report.runs.map(({ id }) => id.replace(/@.*/, '')))
  console.log(`${report.runs.length} runs with ${ids.size} kinds of faults`)
  expect(report.writes).toEqual([])
  const others = report.runs.filter(({ end, id }) => end !== 'done' && !id.startsWith('unavailable-from-here'))
  expect(others).toEqual([])
  expect(ids.size).toBeGreaterThan(10)
})
