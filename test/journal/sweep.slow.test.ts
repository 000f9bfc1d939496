import { DatabaseSync } from 'node:sqlite'
import { sweepFaults } from 'support-workspace-sdk/sweep'
import { describe, expect, test } from 'vitest'
import { loadPrograms, programs, settling, sweepContacts, sweepReplies } from './swept-guide.ts'

const timeout = 600_000

loadPrograms()

describe.each([1, 2, 3])('with seed %i', (seed) => {
  test.each(settling)(
    'no reply is doubled or lost if late effects %s',
    { timeout },
    async (_, confirmTimeout, unconfirmed) => {
      await sweepReplies(confirmTimeout, unconfirmed, 4, seed)
    },
  )

  test('no contact is doubled or lost', { timeout }, async () => {
    await sweepContacts(6, seed)
  })
})

test('an export survives every fault, without a journal', { timeout }, async () => {
  const report = await sweepFaults(({ workspace, context }) => programs.exportAll(workspace, context), {
    sandbox: { conversations: 60, messagesPerConversation: 1 },
    requests: [1, 2, 30, 52, 53, 62],
    setup: () => new DatabaseSync(':memory:'),
    check: (swept, { end, context }) => {
      const rows = context.prepare("SELECT count(*) AS count FROM items WHERE id <> 'checkpoint'").all()
      if (end === 'done') expect(rows).toEqual([{ count: swept.state.conversations.length }])
    },
  })
  report.assert()
})
