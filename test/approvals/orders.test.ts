import { expect, test } from 'vitest'
import { type Counts, explore } from './explore.ts'
import { scenarios } from './scenarios.ts'

const counts: Counts = { orders: 0, crossed: 0, states: {} }

test.each(scenarios.map((each) => [each.title, each] as const))(
  'nothing goes wrong with %s in any order',
  async (_, scenario) => {
    const before = counts.orders
    await explore(scenario, { switches: 1 }, counts)
    expect(counts.orders - before).toBeGreaterThan(3)
  },
)

test('the orders cross a message with the write, which no look can see', () => {
  console.log(`${counts.orders} orders, ${counts.crossed} crossed, ${JSON.stringify(counts.states)}`)
  expect(counts.crossed).toBeGreaterThan(0)
  expect(counts.states.sent).toBeGreaterThan(100)
})
