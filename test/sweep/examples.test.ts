import { afterEach, expect, test, vi } from 'vitest'
import { sweepFaults } from '../../src/sweep/index.ts'

afterEach(() => void vi.restoreAllMocks())

test('the sync of pages in examples/paging.ts survives every fault', async () => {
  vi.spyOn(console, 'log').mockImplementation(() => {})
  // Its own copy: files share processes, and the test of what the examples print must be the first to load the other.
  const { href } = new URL('../../examples/paging.ts?swept', import.meta.url)
  const { syncPages }: typeof import('../../examples/paging.ts') = await import(/* @vite-ignore */ href)
  type Saved = Parameters<typeof syncPages>[1]
  const report = await sweepFaults<undefined, void, Saved>(
    ({ workspace, state }) => syncPages(workspace, state, Number.POSITIVE_INFINITY),
    { sandbox: { conversations: 120 } },
  )
  report.assert()
  expect(report.runs).toHaveLength(3 * 14 + 3)
})
