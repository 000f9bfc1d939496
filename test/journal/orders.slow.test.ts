import { expect, test } from 'vitest'
import { runOrders, scenarios, simulateTime } from './orders.ts'

simulateTime()

const orders = Number(process.env.ORDERS ?? 1_000)

test.each(scenarios)(
  `%s: no write happens twice in ${orders} orders`,
  { timeout: 600_000 },
  async (title, scenario) => {
    const counts = await runOrders(scenario, orders)
    console.log(`${title}: ${JSON.stringify(counts)}`)
    expect(counts.applied).toBeGreaterThan(counts.orders / 4)
    expect(counts.kills).toBeGreaterThan(orders / 10)
  },
)
