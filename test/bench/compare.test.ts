import { expect, test, vi } from 'vitest'
import { type Comparison, compare } from '../../bench/suites/compare.ts'
import type { Context } from '../../bench/suites/suite.ts'

const comparison: Comparison = {
  name: 'an SDK',
  setting: '3 pages',
  plan: { pages: 3, latency: 0 },
  calls: 1,
  atOnce: 1,
  sides: { sdk: async () => 150, bare: async () => 150 },
  expected: { requests: 3, items: 150 },
}

test('measures each block and one more to warm up, on both sides', async () => {
  const sdk = vi.fn(comparison.sides.sdk)
  const bare = vi.fn(comparison.sides.bare)
  const progress = vi.fn()
  const rows = await compare({ ...contextWith(3), progress }, [{ ...comparison, sides: { sdk, bare } }], 5)
  expect([sdk.mock.calls.length, bare.mock.calls.length]).toEqual([6, 6])
  expect(progress.mock.calls.at(-1)).toEqual([6, 6, 'an SDK, 3 pages'])
  expect(rows.map(({ name, setting, values }) => [name, setting, Object.keys(values)])).toEqual([
    ['an SDK', '3 pages', ['ratio', 'cpuRatio', 'ms', 'bareMs']],
  ])
})

test('makes several calls in a block, some at the same time', async () => {
  let open = 0
  let mostOpen = 0
  const sdk = async () => {
    open += 1
    mostOpen = Math.max(mostOpen, open)
    await Promise.resolve()
    open -= 1
    return 150
  }
  const sides = { ...comparison.sides, sdk: vi.fn(sdk) }
  await compare(contextWith(12), [{ ...comparison, calls: 4, atOnce: 2, sides }], 1)
  expect([sides.sdk.mock.calls.length, mostOpen]).toEqual([8, 2])
})

test.each([2, 4])('fails if the service receives %i requests instead of 3', async (requests) => {
  await expect(compare(contextWith(requests), [comparison], 1)).rejects.toThrow(
    `${requests} requests and 150 items instead of 3 requests and 150 items.`,
  )
})

test('fails if an SDK skips items', async () => {
  const sides = { sdk: async () => 100, bare: async () => 150 }
  await expect(compare(contextWith(3), [{ ...comparison, sides }], 1)).rejects.toThrow(
    'an SDK, 3 pages (sdk): 3 requests and 100 items instead of 3 requests and 150 items.',
  )
})

function contextWith(requests: number): Context {
  return {
    peers: new Map(),
    services: { use: async () => {}, requests: async () => requests, originOf: () => '', stop: () => {} },
    blocks: (count) => count,
    progress: () => {},
  }
}
