import { setTimeout as wait } from 'node:timers/promises'
import { fetchPage } from './bare.ts'
import { connectAll } from './clients.ts'
import { type Comparison, compare } from './compare.ts'
import type { Context, Row, Suite } from './suite.ts'
import { walk } from './walk.ts'

const limit = 50

export const paging: Suite = {
  shows: 'ratio',
  unit: '× bare fetch',
  run: (context) =>
    measure(context, { setting: '200 pages', pages: 200, latency: 0, work: 0, blocks: 10, variants: true }),
}

export const slowPaging: Suite = {
  shows: 'ms',
  unit: 'ms',
  run: (context) =>
    measure(context, { setting: '40 pages', pages: 40, latency: 20, work: 20, blocks: 3, variants: false }),
}

interface Setting {
  readonly setting: string
  readonly pages: number
  readonly latency: number
  /** Duration of the caller's work after each page, in milliseconds. */
  readonly work: number
  readonly blocks: number
  readonly variants: boolean
}

async function measure(context: Context, { setting, pages, latency, work, blocks, variants }: Setting): Promise<Row[]> {
  const afterPage = work === 0 ? undefined : () => wait(work)
  const comparisons = (await connectAll(context, { variants })).map(
    ({ name, origin, client }): Comparison => ({
      name,
      setting,
      plan: { pages, latency },
      calls: 1,
      atOnce: 1,
      sides: {
        sdk: () => walk(client, limit, afterPage),
        bare: async () => {
          for (let page = 0; page < pages; page += 1) {
            await fetchPage(origin, limit, page)
            await afterPage?.()
          }
          return pages * limit
        },
      },
      expected: { requests: pages, items: pages * limit },
    }),
  )
  return compare(context, comparisons, blocks)
}
