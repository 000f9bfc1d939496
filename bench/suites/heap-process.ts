// Iterates over a long list, and reports the size of the heap at several points. Run with --expose-gc.
import { loadPeer, type PeerName } from '../contestants.ts'
import { type HeapReport, heapPlan } from './heap.ts'
import { walk } from './walk.ts'

const [name, origin = ''] = process.argv.slice(2)
const peer = await loadPeer(name as PeerName)
const client = peer.connect(await import(peer.package), origin)

const heapSizes: number[] = []
let page = 0
const items = await walk(client, heapPlan.limit, async () => {
  page += 1
  if (heapPlan.measureAfter.includes(page)) heapSizes.push(await settledHeap())
})
const report: HeapReport = { heapSizes, items }
process.send?.(report, () => process.disconnect?.())

/** Returns the bytes in use after garbage collection, with time for finalizers in between. */
async function settledHeap(): Promise<number> {
  for (let count = 0; count < 3; count += 1) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}
