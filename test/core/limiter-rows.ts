// Simulates both rate limiters against services with limits that they do not tell. `npm run limiter-rows` prints the table
// of all rows with all seeds; the tests run a few of them for a shorter time.

import { pathToFileURL } from 'node:url'
import { AdaptiveRateLimiter } from '../../src/core/adaptive-rate-limiter.ts'
import type { RateLimiter } from '../../src/core/options.ts'
import { RetryAfterLimiter } from '../../src/core/retry-after-limiter.ts'
import { Random } from '../helpers/random.ts'
import { bucket, fixedWindow, type Limit, percentile, SimulatedClient, SimulatedClock } from './limiter-simulation.ts'

export const limiters = {
  none: (): RateLimiter => ({ acquire() {}, penalize() {} }),
  default: (): RateLimiter => new RetryAfterLimiter(),
  adaptive: (): RateLimiter => new AdaptiveRateLimiter(),
}
export type LimiterName = keyof typeof limiters

const second = 1_000
const minute = 60_000
const unlimited = { totalTimeout: Number.POSITIVE_INFINITY, maxRetries: 1_000 }

export interface BacklogRow {
  readonly limit: string
  readonly perSecond: number
  readonly make: () => Limit
  /** In seconds. */
  readonly warmUp: number
  readonly duration: number
}

const leaky = (perSecond: number, burst: number) => ({ perSecond, make: () => bucket(perSecond, burst) })
const window = (calls: number) => ({ perSecond: calls / 60, make: () => fixedWindow(calls, minute) })

export const backlogs: BacklogRow[] = [
  { limit: '5/s', ...leaky(5, 5), warmUp: 60, duration: 1_200 },
  { limit: '100/s, burst 20', ...leaky(100, 20), warmUp: 60, duration: 300 },
  { limit: '100/s, burst 10', ...leaky(100, 10), warmUp: 60, duration: 300 },
  { limit: '10/min', ...leaky(1 / 6, 10), warmUp: 1_800, duration: 10_800 },
  { limit: 'window of 100/min', ...window(100), warmUp: 300, duration: 3_600 },
  { limit: 'window of 1,000/min', ...window(1_000), warmUp: 300, duration: 1_800 },
  { limit: '5/s, no burst', ...leaky(5, 1), warmUp: 60, duration: 1_200 },
]

/** Returns the used share of the limit, and the share of the requests that were refused. */
export async function runBacklog(row: BacklogRow, name: LimiterName, seed: number, clients = 1) {
  const clock = new SimulatedClock()
  const random = new Random(seed)
  const limit = row.make()
  const all: SimulatedClient[] = []
  for (let count = 0; count < clients; count += 1) {
    const client = new SimulatedClient(clock, random, limiters[name](), unlimited)
    client.backlog(limit, 16)
    all.push(client)
    await clock.runUntil(clock.now + random.next() * 2_000)
  }
  const total = (what: 'served' | 'refused') => all.reduce((sum, { counts }) => sum + counts[what], 0)
  await clock.runUntil(row.warmUp * second)
  const [served, refused] = [total('served'), total('refused')]
  await clock.runUntil((row.warmUp + row.duration) * second)
  clock.stop()
  const inTime = total('served') - served
  return {
    goodput: inTime / row.duration / row.perSecond,
    refused: (total('refused') - refused) / (inTime + total('refused') - refused),
  }
}

/** A limit falls from 5 to 1 a second. Returns the share of the requests that are refused in the 13 minutes after it. */
export async function runFall(name: LimiterName, seed: number) {
  const clock = new SimulatedClock()
  const client = new SimulatedClient(clock, new Random(seed), limiters[name](), unlimited)
  const [high, low] = [bucket(5, 5), bucket(1, 5)]
  const fallsAt = 5 * minute + seed * 7 * second
  client.backlog((now) => (now > fallsAt ? low : high)(now), 16)
  await clock.runUntil(fallsAt)
  const { served, refused } = client.counts
  await clock.runUntil(fallsAt + 13 * minute)
  clock.stop()
  const [inTime, refusedInTime] = [client.counts.served - served, client.counts.refused - refused]
  return { goodput: inTime / (13 * 60), refused: refusedInTime / (inTime + refusedInTime) }
}

export interface LoadRow {
  readonly load: string
  readonly perSecond: number
  readonly calls: number
  /** Whether a call is refused by accident. */
  readonly isRefused: (random: Random, call: number) => boolean
}

export const loads: LoadRow[] = [
  {
    load: '100/s, 2 of 60,000 refused by accident',
    perSecond: 100,
    calls: 60_000,
    isRefused: (_, call) => call === 21_000 || call === 41_000,
  },
  { load: '50/s, 0.3 % refused at random', perSecond: 50, calls: 30_000, isRefused: (random) => random.next() < 0.003 },
  { load: '50/s, 1 % refused at random', perSecond: 50, calls: 30_000, isRefused: (random) => random.next() < 0.01 },
  { load: '20/s, 3 % refused at random', perSecond: 20, calls: 12_000, isRefused: (random) => random.next() < 0.03 },
]

/** Returns how many calls fail, and how long the others take in milliseconds. */
export async function runLoad({ perSecond, calls, isRefused }: LoadRow, name: LimiterName, seed: number) {
  const clock = new SimulatedClock()
  const random = new Random(seed)
  const client = new SimulatedClient(clock, random, limiters[name]())
  let call = 0
  void client.load(() => (isRefused(random, ++call) ? 1_000 : 0), perSecond, calls)
  await clock.runUntil((calls / perSecond) * second + 3 * minute)
  clock.stop()
  return summaryOf(client)
}

/** 10 GETs a second are never refused, beside a POST endpoint with a limit of 5 a minute. Returns what happens to the GETs. */
export async function runBesidePosts(name: LimiterName, seed: number, minutes = 10) {
  const clock = new SimulatedClock()
  const gets = new SimulatedClient(clock, new Random(seed), limiters[name]())
  const posts = new SimulatedClient(clock, new Random(seed), gets.limiter)
  void gets.load(() => 0, 10, 600 * minutes)
  void posts.load(bucket(5 / 60, 5), 0.5, 30 * minutes, 'POST /things')
  await clock.runUntil((minutes + 3) * minute)
  clock.stop()
  return summaryOf(gets)
}

function summaryOf({ counts, durations }: SimulatedClient) {
  return { failed: counts.failed, p95: percentile(durations, 0.95), longest: percentile(durations, 1) }
}

const percent = (share: number) => (100 * share).toFixed(2)
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/** Runs a row with all seeds, one after the other: they share the clock. */
async function withSeeds<Result>(run: (seed: number) => Promise<Result>, seeds = 8): Promise<Result[]> {
  const results: Result[] = []
  for (let seed = 1; seed <= seeds; seed += 1) results.push(await run(seed))
  return results
}

function printShares(row: string, results: { goodput: number; refused: number }[]): void {
  const goodputs = results.map(({ goodput }) => goodput)
  const refused = results.map((result) => result.refused)
  const range = (values: number[]) => `${percent(Math.min(...values))} to ${percent(Math.max(...values))}`
  const [used, failed] = [goodputs, refused].map((values) => `${percent(mean(values))} (${range(values)})`)
  console.log(`| ${row} | ${used} | ${failed} |`)
}

async function print(): Promise<void> {
  console.log('| backlog of 16 loops | goodput, % | refused, % |\n| --- | --- | --- |')
  for (const name of ['none', 'default', 'adaptive'] as const) {
    for (const row of backlogs) {
      printShares(`${name}, ${row.limit}`, await withSeeds((seed) => runBacklog(row, name, seed)))
    }
  }
  for (const row of backlogs) {
    printShares(`adaptive, four clients, ${row.limit}`, await withSeeds((seed) => runBacklog(row, 'adaptive', seed, 4)))
  }
  printShares('adaptive, from 5/s to 1/s', await withSeeds((seed) => runFall('adaptive', seed)))
  console.log('\n| load | failed | p95, ms | longest, ms |\n| --- | --- | --- | --- |')
  for (const name of ['none', 'default', 'adaptive'] as const) {
    const rows = loads.map((row) => ({ load: row.load, run: (seed: number) => runLoad(row, name, seed) }))
    rows.push({ load: '10 GETs/s beside refused POSTs', run: (seed) => runBesidePosts(name, seed) })
    for (const { load, run } of rows) {
      const results = await withSeeds(run, 3)
      const of = (key: 'failed' | 'p95' | 'longest') => results.map((result) => result[key]).join(', ')
      console.log(`| ${name}, ${load} | ${of('failed')} | ${of('p95')} | ${of('longest')} |`)
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await print()
  // Simulated calls never end.
  process.exit()
}
