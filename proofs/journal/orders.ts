import { afterEach, beforeEach, vi } from 'vitest'
import { Random } from '../../test/helpers/random.ts'
import { digestAtOnce } from '../../test/journal/digest-at-once.ts'
import { type Counts, runOrder, type Scenario } from './random-orders.ts'

export const oneKey: Scenario = { keys: ['a'], processes: 3 }
export const twoKeys: Scenario = { keys: ['a', 'b'], processes: 2 }

export const scenarios = [
  ['one key in three processes', oneKey],
  ['one key that is sent again, with a last look', { keys: ['a'], processes: 3, resends: true } as Scenario],
  ['two keys of the same text in two processes each', twoKeys],
] as const

/** Simulates time in every test of a file. */
export function simulateTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    // A thread would end its digests at another step each time, and no seed would repeat its order.
    digestAtOnce()
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
}

export async function runOrders(scenario: Scenario, orders: number, firstSeed = 1): Promise<Counts> {
  const counts = { orders: 0, applied: 0, unconfirmed: 0, kills: 0, resent: 0 }
  for (let seed = firstSeed; seed < firstSeed + orders; seed += 1) {
    const random = new Random(seed)
    const next = () => random.next()
    vi.spyOn(Math, 'random').mockImplementation(next)
    await runOrder(scenario, next, counts).catch((thrown) => {
      throw new Error(`Seed ${seed}: ${thrown.message}`, { cause: thrown })
    })
  }
  return counts
}
