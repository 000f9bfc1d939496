// The orders of the approvals: with one switch between actors in memory, and before a release with two, and on each storage.
import { expect, test } from 'vitest'
import { memoryStorage } from '../../src/storage/index.ts'
import { moduleFor, open } from '../../test/connections/helpers/open-storage.ts'
import { describeOnStorages } from '../../test/connections/helpers/servers.ts'
import { isFull } from '../is-full.ts'
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

const timeout = 6_000_000

test.runIf(isFull)('nothing goes wrong in memory in any order with two switches', { timeout }, async () => {
  const counts: Counts = { orders: 0, crossed: 0, states: {} }
  for (const scenario of scenarios) {
    await explore(scenario, { switches: 2, open: async () => memoryStorage() }, counts)
  }
  console.log(`memory: ${counts.orders} orders, ${counts.crossed} crossed, ${JSON.stringify(counts.states)}`)
  expect(counts.orders).toBeGreaterThan(10_000)
})

describeOnStorages((kind, address) => {
  test.runIf(isFull)('nothing goes wrong in any order with one switch', { timeout }, async () => {
    const storage = await open(moduleFor(kind, address()))
    const counts: Counts = { orders: 0, crossed: 0, states: {} }
    let number = 0
    // Each order has its own part of the storage, and both Redis clients share a server.
    const part = async () => {
      number += 1
      const start = `${kind}-${number}:`
      return {
        get: (key: string) => storage.get(start + key),
        compareAndSet: (key: string, expected: string | null, value: string | null) =>
          storage.compareAndSet(start + key, expected, value),
        async *list(prefix: string) {
          for await (const page of storage.list(start + prefix)) {
            yield page.map(([key, text]) => [key.slice(start.length), text] as const)
          }
        },
      }
    }
    try {
      for (const scenario of scenarios) await explore(scenario, { switches: 1, open: part }, counts)
    } finally {
      await storage.close?.()
    }
    console.log(`${kind}: ${counts.orders} orders, ${counts.crossed} crossed, ${JSON.stringify(counts.states)}`)
    expect(counts.orders).toBeGreaterThan(500)
  })
})
