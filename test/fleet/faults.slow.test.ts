import { expect, test } from 'vitest'
import { faultTestOfSync } from './helpers/fault-test-of-sync.ts'

test('the sync of an organization survives pairs of faults', { timeout: 600_000 }, async () => {
  const sandbox = { conversations: 6, messagesPerConversation: 3 }
  const report = await faultTestOfSync({ sandbox, depth: 2, budget: 100 })
  report.assert()
  expect(report.runs.filter(({ faults }) => faults.length === 2)).toHaveLength(100)
})
