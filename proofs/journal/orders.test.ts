import { describe, expect, test, vi } from 'vitest'
import { type WriteRecord, WriteRecords } from '../../src/journal/records.ts'
import { isFull } from '../is-full.ts'
import { oneKey, runOrders, scenarios, simulateTime, twoKeys } from './orders.ts'

simulateTime()

const orders = isFull ? 10_000 : 150

test.each(scenarios)(
  '%s: no write happens twice, and none is told to be what it is not',
  { timeout: 3_600_000 },
  async (title, scenario) => {
    const counts = await runOrders(scenario, orders)
    console.log(`${title}: ${JSON.stringify(counts)}`)
    expect(counts.applied).toBeGreaterThan(counts.orders / 4)
    expect(counts.kills).toBeGreaterThan(orders / 10)
  },
)

describe.runIf(isFull)('the check finds', () => {
  const { replace, get, all } = WriteRecords.prototype

  test('a lost compare-and-set that is ignored', async () => {
    vi.spyOn(WriteRecords.prototype, 'replace').mockImplementation(async function (this: WriteRecords, ...change) {
      await replace.apply(this, change)
      return true
    })
    await expect(runOrders(oneKey, 1_000)).rejects.toThrow('was applied 2 times')
  })

  test('a record of `sending` that is not awaited', async () => {
    await expect(runOrders({ ...oneKey, isHasty: true }, 1_000)).rejects.toThrow('was applied 2 times')
  })

  test('other keys that are read before the check', async () => {
    const early = new WeakMap<WriteRecords, (readonly [string, WriteRecord])[]>()
    vi.spyOn(WriteRecords.prototype, 'get').mockImplementation(async function (this: WriteRecords, key) {
      const stored = await get.call(this, key)
      early.set(this, await Array.fromAsync(all.call(this)))
      return stored
    })
    vi.spyOn(WriteRecords.prototype, 'all').mockImplementation(async function* (this: WriteRecords) {
      yield* early.get(this) ?? []
    })
    await expect(runOrders(twoKeys, 2_000)).rejects.toThrow(' is not ')
  })

  test.each<[string, (record: WriteRecord) => boolean]>([
    ['other keys that are open and ignored', ({ state }) => state === 'applied'],
    ['a match that is not checked for the claims of others', ({ state }) => state !== 'applied'],
  ])('%s', async (_, isSeen) => {
    vi.spyOn(WriteRecords.prototype, 'all').mockImplementation(async function* (this: WriteRecords) {
      for await (const entry of all.call(this)) if (isSeen(entry[1])) yield entry
    })
    await expect(runOrders(twoKeys, 2_000)).rejects.toThrow(' is not ')
  })
})
