import { test } from 'vitest'
import { loadPrograms, settling, sweepContacts, sweepReplies } from './swept-guide.ts'

loadPrograms()

test.each(settling.slice(0, 1))(
  'no reply is doubled or lost if late effects %s, and only what left no effect is undecided',
  async (_, settleFor, undecided) => {
    await sweepReplies(settleFor, undecided, 1)
  },
)

test('no contact is doubled or lost, and only what left no effect is undecided', async () => {
  await sweepContacts(2)
})
