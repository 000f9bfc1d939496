import type { Change } from 'support-workspace-sdk/changes'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { expect, test } from 'vitest'
import { Random } from '../helpers/random.ts'
import { expectReplica, filled, Log, Process } from './helpers.ts'
import { orders, SimulatedService } from './simulated-service.ts'
import { simulateTime } from './simulated-time.ts'

const clock = simulateTime()
const seeds = Math.ceil(Number(process.env.FEED_SEEDS ?? 8) / 4)

const timeout = 60_000 + seeds * 1000

test.each(orders)('two feeds on one storage lose nothing that lasts, in the order "%s"', { timeout }, async (order) => {
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

test('what a feed leaves behind when it crashes is delivered, although another has read the same conversation', async () => {
  const { service, first: id, read, start } = await filled({ conversations: 2 })
  service.addMessage(id)
  await read()
  clock.now += 4000
  // The entry does not show the next message: only the second readings can find it.
  service.traits = { ...service.traits, follows: false }
  const { fetch } = service
  let left: Change | undefined
  const slow: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    if (!request[0].includes(`${id}/messages`) || left !== undefined) return response
    Object.assign(service, { fetch })
    service.addMessage(id)
    for await (const change of start().feed) {
      left = change
      break
    }
    return response
  }
  Object.assign(service, { fetch: slow })
  expect(await read()).toEqual([])
  const keys: string[] = []
  for await (const { key } of start().feed) keys.push(key)
  expect(keys).toEqual([left?.key])
})

test.each(['its list', 'the messages'])(
  'messages are read a second time at least two seconds later, although another feed ended passes before a feed read %s',
  async (held) => {
    const { service, first: id, read } = await filled({ conversations: 2 })
    clock.now += 4000
    const { fetch } = service
    const slow: typeof fetch = async (...request) => {
      const isList = request[0].includes('/conversations?')
      if (!isList && !request[0].includes(`${id}/messages`)) return fetch(...request)
      const isHeld = isList === (held === 'its list')
      if (isHeld) Object.assign(service, { fetch })
      if (isHeld) await read({ passes: 2 })
      if (isList) service.touch(id)
      return fetch(...request)
    }
    Object.assign(service, { fetch: slow })
    await read()
    Object.assign(service, { fetch })
    const before = service.counts.messages
    clock.now += 1000
    expect(await read()).toEqual([])
    expect(service.counts.messages).toBe(before)
    // Only the second reading can find it.
    service.traits = { ...service.traits, follows: false }
    const late = service.addMessage(id)
    clock.now += 3000
    expect(await read()).toEqual([`messages created ${late}`])
  },
)
