import { createdId } from '../peers/peer.ts'
import { fetchPage, postMessage } from './bare.ts'
import { connectAll, type Entrant } from './clients.ts'
import { type Comparison, compare } from './compare.ts'
import type { Suite } from './suite.ts'

const plan = { pages: 1, latency: 0 }

export const listCall: Suite = {
  shows: 'ratio',
  unit: '× bare fetch',
  async run(context) {
    const entrants = await connectAll(context, { variants: true })
    const settings = [
      { setting: '1 item', limit: 1, calls: 40, atOnce: 1 },
      { setting: '50 items', limit: 50, calls: 40, atOnce: 1 },
    ]
    const comparisons = settings.flatMap((setting) => entrants.map((entrant) => listing(entrant, setting)))
    return compare(context, comparisons, 41)
  },
}

export const createCall: Suite = {
  shows: 'ratio',
  unit: '× bare fetch',
  async run(context) {
    const entrants = await connectAll(context, { variants: true })
    return compare(context, entrants.map(creation), 15)
  },
}

export const growth: Suite = {
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
    return compare(context, comparisons, 6)
  },
}

interface Setting {
  readonly setting: string
  readonly limit: number
  readonly calls: number
  readonly atOnce: number
}

function listing({ name, origin, client }: Entrant, { limit, ...setting }: Setting): Comparison {
  return {
    name,
    ...setting,
    plan,
    sides: {
      sdk: async () => (await client.list(limit)).length,
      bare: async () => {
        await fetchPage(origin, limit)
        return limit
      },
    },
    expected: { requests: 1, items: limit },
  }
}

function creation({ name, origin, client }: Entrant): Comparison {
  return {
    name,
    setting: 'POST',
    plan,
    calls: 40,
    atOnce: 1,
    sides: {
      sdk: async () => Number((await client.create()) === createdId),
      bare: async () => {
        await postMessage(origin)
        return 1
      },
    },
    expected: { requests: 1, items: 1 },
  }
}
