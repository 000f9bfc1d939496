import { memoryStorage } from 'support-workspace-sdk/storage'
import { describe, expect, test } from 'vitest'
import { Random } from '../helpers/random.ts'
import { expectReplica, Log, Process } from './helpers.ts'
import { cursors, orders, SimulatedService } from './simulated-service.ts'
import { simulateTime } from './simulated-time.ts'

const clock = simulateTime()

/** `npm run proofs` runs many more. */
const seeds = Number(process.env.FEED_SEEDS ?? 8)

const timeout = 60_000 + seeds * 1000

const kinds = orders.flatMap((order) => cursors.map((cursor) => [order, cursor] as const))
const options = { deletions: ['messages'], maxDeletions: 1000 } as const

describe.each(kinds)('a list in the order "%s" with %s cursors', (order, cursor) => {
  test('loses no state, invents no deletion, and repeats unacknowledged changes after crashes', {
    timeout,
  }, async () => {
    const sums = { states: 0, changes: 0, repeated: 0, crashes: 0, passes: 0 }
    for (let seed = 1; seed <= seeds; seed += 1) {
      const random = new Random(seed * 7919)
      const conversations = 1 + Math.floor(random.next() * 6)
      const service = new SimulatedService({ seed, order, cursors: cursor, rejects: 0.02, fails: 0.02, conversations })
      const storage = memoryStorage()
      const log = new Log()
      const seen: string[] = []
      service.onRequest = () => {
        clock.now += Math.floor(random.next() * 1500)
        if (random.next() < 0.25) service.change()
      }
      const limit = 2 + Math.floor(random.next() * 4)
      const rounds = 5
      for (let round = 0; round <= rounds; round += 1) {
        // In the end, nothing changes any more.
        const isLast = round === rounds
        if (isLast) service.calm()
        const rate = isLast ? 0 : 0.02
        const run = new Process(
          service,
          storage,
          { ...options, limit, interval: isLast ? 4000 : 1000, passes: isLast ? 6 : 2 },
          () => {
            return random.next() < rate
          },
        )
        try {
          for await (const change of run.feed) {
            if (change.kind === 'deleted') expect(service.has(change), 'a false deletion').toBe(false)
            log.take(change)
            if (random.next() < 0.03 && !isLast) throw new RangeError('The handler failed.')
            log.acknowledged.add(change.key)
          }
        } catch (error) {
          if (!(error instanceof RangeError) && !run.isDead) throw error
          sums.crashes += 1
        }
        seen.push(...run.seen)
        sums.passes += run.passes.length
      }
      expectReplica(log, service)
      expect(new Set(log.yielded.keys())).toEqual(log.acknowledged)
      for (const state of seen) expect(log.reported, `seed ${seed}`).toContain(state)
      sums.states += seen.length
      sums.changes += log.yielded.size
      sums.repeated += log.repeated
    }
    console.log(`${order}, ${cursor}: ${JSON.stringify(sums)}`)
    expect(sums.crashes).toBeGreaterThan(seeds)
    expect(sums.states).toBeGreaterThan(seeds * 20)
  })
})
