import { expect, test } from 'vitest'
import { everyOrder, whole } from '../../test/approvals/key-orders.ts'

test.each(['approvals', 'journal'])(
  'a key is sent once, although the process of the %s is killed at any step',
  async (name) => {
    let after = 0
    for (let isLong = true; isLong; after += 1) ({ isLong } = await everyOrder([], whole, { name, after }))
    expect(after).toBeGreaterThan(3)
  },
)
