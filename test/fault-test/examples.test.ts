import { afterEach, expect, test, vi } from 'vitest'
import { faultTest } from '../../src/fault-test/index.ts'
import type { CallOptions } from '../../src/index.ts'

afterEach(() => void vi.restoreAllMocks())

test('the sync of pages in examples/paging.ts survives every fault', async () => {
  vi.spyOn(console, 'log').mockImplementation(() => {})
  // Its own copy: files share processes, and the test of what the examples print must be the first to load the other.
  const { href } = new URL('../../examples/paging.ts?tested', import.meta.url)
  const { syncPages }: typeof import('../../examples/paging.ts') = await import(/* @vite-ignore */ href)
  type Saved = Parameters<typeof syncPages>[1]
  const report = await faultTest<undefined, void, Saved>(
    ({ workspace, state }) => syncPages(workspace, state, Number.POSITIVE_INFINITY),
    { sandbox: { conversations: 120 } },
  )
  report.assert()
  expect(report.runs).toHaveLength(3 * 11 + 3)
})

test('a write with a signal that ends it is doubled, and a write with a timeout is not', async () => {
  const verdictsOf = async (optionsOf: () => CallOptions) => {
    const report = await faultTest(
      async ({ workspace }) => {
        const [newest] = (await workspace.conversations.list({ limit: 1 })).data
        await workspace.messages.create(newest?.id ?? '', { body_html: '<p>On it.</p>' }, optionsOf())
      },
      { only: ['stalled@2'] },
    )
    return report.runs.flatMap(({ judgements }) => judgements.map(({ name }) => name))
  }
  expect(await verdictsOf(() => ({ signal: AbortSignal.timeout(10_000) }))).toEqual(['doubled'])
  expect(await verdictsOf(() => ({ timeout: 10_000, maxRetries: 0 }))).toEqual([])
})
