import type { Client } from '../peers/peer.ts'
import type { Plan } from '../server/services.ts'
import { figureOf, shuffled } from '../statistics.ts'
import type { Context, Row } from './suite.ts'

/** The same work, done with an SDK and with bare `fetch` and `json()`. */
export interface Comparison {
  readonly name: string
  readonly setting: string
  readonly plan: Plan
  /** Each side returns the number of items or created objects that it received. */
  readonly sides: Readonly<Record<'sdk' | 'bare', () => Promise<number>>>
  /** Each side has to send this many requests and to receive this many items. */
  readonly expected: { readonly requests: number; readonly items: number }
  /** The number of calls that a time is divided by. */
  readonly calls: number
}

/** Milliseconds for a call, or for the whole walk over a list. */
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
  const samples = comparisons.map((comparison) => ({ comparison, blocks: [] as Record<'sdk' | 'bare', Time>[] }))
  const total = (rounds + 1) * samples.length
  let done = 0
  for (let round = 0; round <= rounds; round += 1) {
    for (const { comparison, blocks } of shuffled(samples)) {
      const times: Partial<Record<'sdk' | 'bare', Time>> = {}
      for (const side of shuffled(['sdk', 'bare'] as const)) times[side] = await timeOf(context, comparison, side)
      // The first round only warms up.
      if (round > 0) blocks.push(times as Record<'sdk' | 'bare', Time>)
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

async function timeOf({ services }: Context, comparison: Comparison, side: 'sdk' | 'bare'): Promise<Time> {
  const { name, setting, plan, sides, expected, calls } = comparison
  await services.use(plan)
  globalThis.gc?.()
  const cpuBefore = process.cpuUsage()
  const before = performance.now()
  const items = await sides[side]()
  const wall = performance.now() - before
  const cpu = process.cpuUsage(cpuBefore)
  const requests = await services.requests()
  if (requests !== expected.requests || items !== expected.items) {
    throw new Error(
      `${name}, ${setting} (${side}): ${requests} requests and ${items} items instead of ` +
        `${expected.requests} requests and ${expected.items} items.`,
    )
  }
  return { wall: wall / calls, cpu: (cpu.user + cpu.system) / 1_000 / calls }
}

/** Iterates over a whole list and calls `afterPage` after each page. Returns the number of items. */
export async function walk(client: Client, limit: number, afterPage?: () => Promise<void>): Promise<number> {
  let count = 0
  if (client.items !== undefined) {
    const [items] = await client.items(limit)
    for await (const _ of items) {
      count += 1
      if (count % limit === 0) await afterPage?.()
    }
  } else if (client.pages !== undefined) {
    for await (const page of client.pages(limit)) {
      count += page.length
      await afterPage?.()
    }
  }
  return count
}
