import { test } from 'vitest'
import { faultTestContacts, faultTestReplies, loadFunctions, settling } from './guide-faults.ts'

loadFunctions()

test.each(settling.slice(0, 1))(
  'no reply is doubled or lost if late effects %s',
  async (_, confirmTimeout, unconfirmed) => {
    await faultTestReplies(confirmTimeout, unconfirmed, 1)
  },
)

test('no contact is doubled or lost', async () => {
  await faultTestContacts(2)
})
