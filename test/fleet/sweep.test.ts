import { test } from 'vitest'
import { sweepOrganization } from './helpers/sweep-organization.ts'

test('the sync of an organization survives every fault at every request', async () => {
  const sandbox = { conversations: 4, messagesPerConversation: 2 }
  const report = await sweepOrganization({ sandbox, client: { maxRetries: 1 } })
  report.assert()
})
