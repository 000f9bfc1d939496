import { test } from 'vitest'
import { faultTestOfSync } from './helpers/fault-test-of-sync.ts'

test('the sync of an organization survives every fault at every request', async () => {
  const sandbox = { conversations: 4, messagesPerConversation: 2 }
  const report = await faultTestOfSync({ sandbox, client: { maxRetries: 1 } })
  report.assert()
})
