import { expect, test } from 'vitest'
import { isFull } from '../is-full.ts'
import { everyOrder, whole } from './key-orders.ts'
import { type Act, send } from './world.ts'

test.each<[string, readonly Act[], readonly Act[], boolean]>([
  ['that is proposed, approved and sent, by the approvals or by a journal', [], whole, true],
  ['that was approved before, by the approvals alone', whole.slice(0, 2), [send], false],
])('sends a key %s, in every order', async (_, first, acts, isOpen) => {
  const { orders, approvals, journal } = await everyOrder(first, acts)
  expect(orders).toBeGreaterThan(20)
  expect([approvals > 0, journal > 0]).toEqual([true, isOpen])
})

test.each(['approvals', 'journal'])(
  'a key is sent once, although the process of the %s is killed at any step',
  async (name) => {
    let after = 0
    for (let isLong = true; isLong; after += isFull ? 1 : 2) ({ isLong } = await everyOrder([], whole, { name, after }))
    expect(after).toBeGreaterThan(3)
  },
)
