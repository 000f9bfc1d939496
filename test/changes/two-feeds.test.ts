import { memoryStorage } from 'support-workspace-sdk/storage'
import { expect, test } from 'vitest'
import { Random } from '../helpers/random.ts'
import { expectReplica, Log, Process } from './helpers.ts'
import { orders, SimulatedService } from './simulated-service.ts'
import { simulateTime } from './simulated-time.ts'

const clock = simulateTime()
const seeds = Math.ceil(Number(process.env.FEED_SEEDS ?? 12) / 4)

test.each(orders)('two feeds on one storage lose nothing that lasts, in the order "%s"', async (order) => {
  let conflicts = 0
  for (let seed = 1; seed <= seeds; seed += 1) {
    const random = new Random(seed * 104_729)
    const service = new SimulatedService({ seed, order, conversations: 5, rejects: 0.02, fails: 0.02 })
    const storage = memoryStorage()
    const log = new Log()
    service.onRequest = () => {
      clock.now += Math.floor(random.next() * 1500)
      if (random.next() < 0.15) service.change()
    }
    const drain = async (passes: number, interval: number, rate: number) => {
      const options = { deletions: ['messages'], maxDeletions: 1000, limit: 3, passes, interval } as const
      const run = new Process(service, storage, options, () => random.next() < rate)
      try {
        for await (const change of run.feed) {
          if (change.kind === 'deleted') expect(service.has(change), 'a false deletion').toBe(false)
          log.take(change)
          if (random.next() < 0.5) await new Promise((resolve) => setTimeout(resolve, random.next() * 3000))
          log.acknowledged.add(change.key)
        }
      } catch (error) {
        if (!run.isDead) throw error
      }
      conflicts += run.feed.status().conflicts
    }
    const loop = async () => {
      for (let round = 0; round < 4; round += 1) await drain(2, 1000, 0.005)
    }
    await Promise.all([loop(), loop()])
    service.calm()
    await Promise.all([drain(6, 4000, 0), drain(6, 4000, 0)])
    expectReplica(log, service)
    expect(new Set(log.yielded.keys())).toEqual(log.acknowledged)
  }
  expect(conflicts).toBeGreaterThan(0)
})
