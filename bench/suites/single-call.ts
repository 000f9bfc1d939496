import { createdId } from '../peers/peer.ts'
import { fetchPage, postMessage } from './bare.ts'
import { connectAll, type Entrant } from './clients.ts'
import { type Comparison, compare } from './compare.ts'
import type { Suite } from './suite.ts'

const plan = { pages: 1, latency: 0 }

export const listCall: Suite = {
  title: 'One list call',
  shows: 'ratio',
  unit: '× bare fetch',
  async run(context) {
    const entrants = await connectAll(context, { variants: true })
    const comparisons = [1, 50].flatMap((limit) =>
      entrants.map((entrant) => listing(entrant, { setting: countOf(limit, 'item'), limit, calls: 40, atOnce: 1 })),
    )
    return compare(context, comparisons, 20)
  },
}

export const createCall: Suite = {
  title: 'One POST',
  shows: 'ratio',
  unit: '× bare fetch',
  async run(context) {
    const entrants = await connectAll(context, { variants: true })
    return compare(context, entrants.map(creation), 20)
  },
}

export const growth: Suite = {
  title: 'List calls of growing pages, and at the same time',
  shows: 'ratio',
  unit: '× bare fetch',
  async run(context) {
    const settings = [
      { setting: '1 item', limit: 1, calls: 40, atOnce: 1 },
      { setting: '10 items', limit: 10, calls: 40, atOnce: 1 },
      { setting: '100 items', limit: 100, calls: 20, atOnce: 1 },
      { setting: '1,000 items', limit: 1_000, calls: 4, atOnce: 1 },
      { setting: '1 at once', limit: 50, calls: 40, atOnce: 1 },
      { setting: '8 at once', limit: 50, calls: 64, atOnce: 8 },
      { setting: '64 at once', limit: 50, calls: 128, atOnce: 64 },
    ]
    const entrants = await connectAll(context)
    const comparisons = settings.flatMap((setting) => entrants.map((entrant) => listing(entrant, setting)))
    return compare(context, comparisons, 10)
  },
}

function listing(
  { name, origin, client }: Entrant,
  { setting, limit, calls, atOnce }: { setting: string; limit: number; calls: number; atOnce: number },
): Comparison {
  const sides = {
    sdk: async () => (await client.list(limit)).length,
    bare: async () => {
      await fetchPage(origin, limit)
      return limit
    },
  }
  return {
    name,
    setting,
    plan,
    sides: { sdk: () => repeat(calls, atOnce, sides.sdk), bare: () => repeat(calls, atOnce, sides.bare) },
    expected: { requests: calls, items: calls * limit },
    calls,
  }
}

function creation({ name, origin, client }: Entrant): Comparison {
  const calls = 40
  const sides = {
    sdk: async () => Number((await client.create()) === createdId),
    bare: async () => {
      await postMessage(origin)
      return 1
    },
  }
  return {
    name,
    setting: 'POST',
    plan,
    sides: { sdk: () => repeat(calls, 1, sides.sdk), bare: () => repeat(calls, 1, sides.bare) },
    expected: { requests: calls, items: calls },
    calls,
  }
}

/** Runs `call` a number of times, `atOnce` at the same time, and returns the sum of the results. */
async function repeat(calls: number, atOnce: number, call: () => Promise<number>): Promise<number> {
  let sum = 0
  for (let done = 0; done < calls; done += atOnce) {
    const results = await Promise.all(Array.from({ length: atOnce }, call))
    for (const result of results) sum += result
  }
  return sum
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
