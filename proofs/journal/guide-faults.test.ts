import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { faultTest } from 'support-workspace-sdk/fault-test'
import { afterAll, expect, test } from 'vitest'
import {
  faultTestContacts,
  faultTestReplies,
  functions,
  loadFunctions,
  settling,
} from '../../test/journal/guide-faults.ts'
import { isFull } from '../is-full.ts'

const timeout = 600_000
const folder = mkdtempSync(join(tmpdir(), 'fault-test-export-'))

loadFunctions()
afterAll(() => rmSync(folder, { recursive: true }))

// `npm test` has a run of each with fewer conversations.
test.runIf(isFull).each(settling)(
  'no reply is doubled or lost if late effects %s',
  { timeout },
  async (_, confirmTimeout, unconfirmed) => {
    await faultTestReplies(confirmTimeout, unconfirmed, 4)
  },
)

test.runIf(isFull)('no contact is doubled or lost', { timeout }, async () => {
  await faultTestContacts(6)
})

test('an export survives every fault, without a journal', { timeout }, async () => {
  const report = await faultTest(({ workspace, context }) => functions.exportAll(workspace, context), {
    sandbox: { conversations: 60, messagesPerConversation: 1 },
    requests: isFull ? [1, 2, 30, 52, 53, 62] : [2, 62],
    setup: () => join(mkdtempSync(join(folder, 'run-')), 'conversations.ndjson'),
    check: (tested, { end, context }) => {
      if (end !== 'done') return
      const lines = readFileSync(context, 'utf8').trim().split('\n')
      const ids = lines.map((line) => JSON.parse(line).id)
      // What could not be read at first comes last.
      expect(ids.sort()).toEqual(tested.state.conversations.map(({ id }) => id).sort())
    },
  })
  report.assert()
})
