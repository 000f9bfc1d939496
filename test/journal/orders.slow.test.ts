import { expect, test } from 'vitest'
import { runOrders, scenarios, simulateTime } from './orders.ts'

simulateTime()

test.each(scenarios)('%s: no write happens twice in 2,000 orders', { timeout: 600_000 }, async (title, scenario) => {
  const counts = await runOrders(scenario, 2_000)
  console.log(`${title}: ${JSON.stringify(counts)}`)
  expect(counts.applied).toBeGreaterThan(counts.orders / 4)
  expect(counts.kills).toBeGreaterThan(300)
})
