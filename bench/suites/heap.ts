import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { PeerName } from '../contestants.ts'
import { figureOf, shuffled } from '../statistics.ts'
import type { Context, Suite } from './suite.ts'

/** Page size, and the pages after which the heap is measured. */
export const heapPlan = { limit: 100, measureAfter: [100, 500, 1_000, 1_500, 2_000] }

const pages = Math.max(...heapPlan.measureAfter)

/** What the measuring process reports: the size of the heap at each point, in bytes, and the number of items. */
export interface HeapReport {
  readonly heapSizes: readonly number[]
  readonly items: number
}

export const heap: Suite = {
  title: `Heap in use after garbage collection, in a loop over ${(pages * heapPlan.limit).toLocaleString('en')} items`,
  shows: 'heapMB',
  unit: 'MB',
  async run(context) {
    const runs = [...context.peers.keys()].map((name) => ({ name, reports: [] as HeapReport[] }))
    const rounds = context.blocks(3)
    let done = 0
    for (let round = 0; round < rounds; round += 1) {
      for (const { name, reports } of shuffled(runs)) {
        reports.push(await measure(context, name))
        done += 1
        context.progress(done, rounds * runs.length, name)
      }
    }
    return runs.flatMap(({ name, reports }) =>
      heapPlan.measureAfter.map((page, point) => ({
        name,
        setting: `${(page * heapPlan.limit).toLocaleString('en')} items`,
        values: { heapMB: figureOf(reports.map(({ heapSizes }) => (heapSizes[point] ?? Number.NaN) / 1e6)) },
      })),
    )
  },
}

async function measure({ services }: Context, name: PeerName): Promise<HeapReport> {
  await services.use({ pages, latency: 0 })
  const program = fileURLToPath(new URL('heap-process.ts', import.meta.url))
  const child = fork(program, [name, services.originOf(name)], { execArgv: ['--expose-gc'] })
  const failed = once(child, 'exit').then(([code]) =>
    Promise.reject(new Error(`${name}: the process failed (${code}).`)),
  )
  failed.catch(() => {})
  const [report] = (await Promise.race([once(child, 'message'), failed])) as [HeapReport]
  const requests = await services.requests()
  if (requests !== pages || report.items !== pages * heapPlan.limit) {
    throw new Error(`${name}: ${requests} requests and ${report.items} items instead of ${pages} pages.`)
  }
  return report
}
