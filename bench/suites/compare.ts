import type { Plan } from '../server/services.ts'
import { figureOf, shuffled } from '../statistics.ts'
import type { Context, Row } from './suite.ts'

/** The same call, made with an SDK and with bare `fetch` and `json()`. */
export interface Comparison {
  readonly name: string
  readonly setting: string
  readonly plan: Plan
  /** Number of calls in a block. */
  readonly calls: number
  /** Number of calls that are made at the same time. */
  readonly atOnce: number
  /** Makes one call and returns the number of items or created objects that it received. */
  readonly sides: Readonly<Record<Side, () => Promise<number>>>
  /** The number of requests and items of one call. */
  readonly expected: { readonly requests: number; readonly items: number }
}

type Side = 'sdk' | 'bare'

/** Milliseconds for one call. */
interface Time {
  readonly wall: number
  readonly cpu: number
}

/**
 * Measures in rounds. Each round runs a block of every comparison in random order, and both sides of a block right after
 * each other, also in random order. A block's ratio is therefore not affected by slow changes of the machine's speed.
 */
export async function compare(context: Context, comparisons: readonly Comparison[], blocks: number): Promise<Row[]> {
  const rounds = context.blocks(blocks)
  const samples = comparisons.map((comparison) => ({ comparison, blocks: [] as Record<Side, Time>[] }))
  const total = (rounds + 1) * samples.length
  let done = 0
  for (let round = 0; round <= rounds; round += 1) {
    for (const { comparison, blocks } of shuffled(samples)) {
      const times: Partial<Record<Side, Time>> = {}
      for (const side of shuffled(['sdk', 'bare'] as const)) times[side] = await timeOf(context, comparison, side)
      // The first round only warms up.
      if (round > 0) blocks.push(times as Record<Side, Time>)
      done += 1
      context.progress(done, total, `${comparison.name}, ${comparison.setting}`)
    }
  }
  return samples.map(({ comparison: { name, setting }, blocks }) => ({
    name,
    setting,
    values: {
      ratio: figureOf(blocks.map(({ sdk, bare }) => sdk.wall / bare.wall)),
      cpuRatio: figureOf(blocks.map(({ sdk, bare }) => sdk.cpu / bare.cpu)),
      ms: figureOf(blocks.map(({ sdk }) => sdk.wall)),
      bareMs: figureOf(blocks.map(({ bare }) => bare.wall)),
    },
  }))
}

async function timeOf({ services }: Context, comparison: Comparison, side: Side): Promise<Time> {
  const { plan, sides, calls, atOnce } = comparison
  await services.use(plan)
  globalThis.gc?.()
  let items = 0
  const cpuBefore = process.cpuUsage()
  const before = performance.now()
  for (let done = 0; done < calls; done += atOnce) {
    for (const received of await Promise.all(Array.from({ length: atOnce }, sides[side]))) items += received
  }
  const wall = performance.now() - before
  const cpu = process.cpuUsage(cpuBefore)
  check(comparison, side, await services.requests(), items)
  return { wall: wall / calls, cpu: (cpu.user + cpu.system) / 1_000 / calls }
}

/** Throws if an SDK sent too few or too many requests or skipped items. Its times would mean nothing. */
function check({ name, setting, calls, expected }: Comparison, side: Side, requests: number, items: number): void {
  const wanted = { requests: calls * expected.requests, items: calls * expected.items }
  if (requests === wanted.requests && items === wanted.items) return
  throw new Error(
    `${name}, ${setting} (${side}): ${requests} requests and ${items} items instead of ` +
      `${wanted.requests} requests and ${wanted.items} items.`,
  )
}
