// Simulates the client with and without its rate limiter against services that do not tell their limits, and prints a table.
// Exits with 1 if a row misses its threshold, or if docs/rate-limits.md has other figures. `npm run limiter-rows`; with a part
// of a title, only the rows that have it.

import { readFileSync } from 'node:fs'
import { AdaptiveRateLimiter, type RateLimiter } from 'support-workspace-sdk'
import { ChangeFeed } from 'support-workspace-sdk/changes'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { SimulatedService } from '../../test/changes/simulated-service.ts'
import { Random } from '../../test/helpers/random.ts'
import {
  bucket,
  type Limit,
  perMinute,
  type ServiceOptions,
  SimulatedClient,
  SimulatedClock,
  Tally,
} from './limiter-simulation.ts'

const second = 1_000
const minute = 60_000
const seeds = [1, 2, 3, 4, 5]
const none: RateLimiter = { acquire() {} }

/** The means of all seeds, in percent and seconds. */
interface Result {
  readonly failed: number
  readonly refused: number
  readonly used: number
  readonly p95: number
  /** The 95th percentile of the calls that were made 5 s after an incident or later. */
  readonly late: number
}

interface Row {
  readonly title: string
  readonly run: (seed: number, limiter: () => RateLimiter) => Promise<Result>
  /** Says what is missed, given the result without a limiter. */
  readonly misses: (result: Result, without: Result) => string | false
  /** Whether it is run without a limiter, too, to compare. */
  readonly isCompared?: boolean
}

// Incidents: a service refuses calls by accident, or all of them for a time.

function incident(
  title: string,
  perSecond: number,
  seconds: [from: number, to: number, end: number],
  refuses: (random: Random, call: number) => number,
  service: ServiceOptions = {},
): Row {
  const [from, to, end] = seconds.map((time) => time * second) as [number, number, number]
  return {
    title: `${perSecond}/s, ${title}`,
    isCompared: true,
    async run(seed, limiter) {
      const clock = new SimulatedClock()
      const random = new Random(seed)
      const tally = new Tally(0, end)
      let calls = 0
      const limit: Limit = (now) => (now >= from && now < to ? refuses(random, ++calls) : 0)
      void new SimulatedClient(clock, random, limit, tally, limiter(), service).load(perSecond, end)
      await clock.runUntil(end + 5 * minute)
      clock.stop()
      const { failed, refusedShare: refused } = tally
      return { failed, refused, used: 0, p95: tally.p95(), late: tally.p95(to + 5 * second) }
    },
    misses({ failed, refused, p95, late }, without) {
      if (title === 'all refused for 30 s') return (failed > 1 && 'failed') || (refused > 5 && 'refused')
      const allowed = title.startsWith('30 %') ? 4 : 3
      if (failed > 0.5) return 'failed'
      if (p95 > without.p95 + allowed) return 'p95'
      return late > without.late + 1 && 'late'
    },
  }
}

const always = () => second

/** So many percent of the calls are refused at random, for a time in seconds. */
function accidents(percent: number, perSecond: number, duration: number, latency = 50): Row {
  const title = `${percent} % for ${duration} s, ${latency} ms`
  const refuses = (random: Random) => (random.next() < percent / 100 ? second : 0)
  return incident(title, perSecond, [20, 20 + duration, 60 + duration], refuses, { latency })
}

const incidents = [
  incident('2 stray', 100, [0, 300, 300], (_, call) => (call === 1_000 || call === 1_030 ? second : 0)),
  accidents(1, 50, 60),
  accidents(3, 20, 60),
  accidents(5, 100, 60),
  accidents(10, 20, 60),
  accidents(10, 50, 60, 500),
  ...[5, 20, 50, 100].flatMap((perSecond) => [
    accidents(20, perSecond, 60),
    accidents(30, perSecond, 10),
    accidents(30, perSecond, 60),
    accidents(20, perSecond, 60, 500),
    accidents(30, perSecond, 60, 500),
  ]),
  incident('all for 5 s', 5, [20, 25, 120], always),
  incident('all for 5 s', 100, [20, 25, 120], always),
  incident('one Retry-After of 30 s', 5, [20, 21, 120], (_, call) => (call === 1 ? 30 * second : 0)),
  incident('all refused for 30 s', 50, [20, 50, 120], always),
]

// Budgets: a backlog of so many workers meets a limit.

interface Limited {
  readonly title: string
  readonly make: () => Limit
  readonly perSecond: number
  readonly minutes: number
}

const limits: Limited[] = [
  { title: '5 a second', make: () => bucket(5, 10), perSecond: 5, minutes: 6 },
  { title: '100 a second', make: () => bucket(100, 20), perSecond: 100, minutes: 1.5 },
  { title: '10 a minute', make: () => bucket(1 / 6, 10), perSecond: 1 / 6, minutes: 60 },
  { title: '100 in each minute', make: () => perMinute(100), perSecond: 100 / 60, minutes: 30 },
  { title: '1,000 in each minute', make: () => perMinute(1_000), perSecond: 1_000 / 60, minutes: 9 },
]

function budget(limited: Limited, workers: number, clients: number, hasHeader: boolean): Row {
  const { title, make, perSecond, minutes } = limited
  const isWindow = title.includes('in each')
  return {
    title: `${title}, ${clients} client${clients > 1 ? 's' : ''}, ${workers} workers${hasHeader ? '' : ', no Retry-After'}`,
    isCompared: clients === 1,
    run: (seed, limiter) => runBacklog(seed, limiter, make(), perSecond, minutes, workers, clients, { hasHeader }),
    misses({ failed, used, refused }) {
      if (clients > 1) return failed > mostFailed(title, hasHeader) && 'failed'
      if (failed > (isWindow && !hasHeader ? 2 : 0.05)) return 'failed'
      // Four calls of 50 ms at a time cannot use more of 100 a second.
      if (used < (isWindow ? 90 : workers === 4 && perSecond === 100 ? 75 : 95)) return 'used'
      return refused > (title === '100 in each minute' ? 20 : 5) && 'refused'
    },
  }
}

function mostFailed(title: string, hasHeader: boolean): number {
  if (title === '10 a minute') return 15
  if (title === '100 in each minute') return hasHeader ? 6 : 8
  return title === '1,000 in each minute' ? 2 : 0.05
}

async function runBacklog(
  seed: number,
  limiter: () => RateLimiter,
  limit: Limit,
  perSecond: number,
  minutes: number,
  workers: number,
  clients: number,
  service: ServiceOptions = {},
  warmUp = 1 / 3,
): Promise<Result> {
  const clock = new SimulatedClock()
  const random = new Random(seed)
  const end = minutes * minute
  const tally = new Tally(end * warmUp, end)
  for (let count = 0; count < clients; count += 1) {
    new SimulatedClient(clock, random, limit, tally, limiter(), service).backlog(workers / clients, end)
    await clock.runUntil(clock.now + 100 * random.next())
  }
  await clock.runUntil(end)
  clock.stop()
  const used = (100 * tally.served) / ((perSecond * (tally.to - tally.from)) / second)
  return { failed: tally.failed, refused: tally.refusedShare, used, p95: tally.p95(), late: 0 }
}

const budgets = limits.flatMap((limited) =>
  [true, false].flatMap((hasHeader) => [
    budget(limited, 4, 1, hasHeader),
    budget(limited, 16, 1, hasHeader),
    budget(limited, 8, 4, hasHeader),
    budget(limited, 16, 4, hasHeader),
  ]),
)

// Changes: a limit that moves, another app that takes most of it, bursts, and a ceiling.

function changing(after: number, before: Limit, then: Limit): Limit {
  return (now) => (now < after ? before : then)(now)
}

const special: Row[] = [
  {
    title: 'a limit that rises from 2 to 20 a second',
    run: (seed, limiter) =>
      runBacklog(seed, limiter, changing(200 * second, bucket(2, 5), bucket(20, 20)), 20, 10, 16, 1, {}, 260 / 600),
    misses: ({ used }) => used < 80 && 'used',
  },
  {
    title: 'a limit that falls from 5 to 1 a second',
    run: (seed, limiter) =>
      runBacklog(seed, limiter, changing(400 * second, bucket(5, 10), bucket(1, 10)), 1, 20, 16, 1, {}, 1 / 3),
    misses: ({ failed, refused }) => (failed > 0.05 && 'failed') || (refused > 15 && 'refused'),
  },
  {
    title: '10 a second, of which another app takes 80 %',
    async run(seed, limiter) {
      const random = new Random(100 + seed)
      const limit = bucket(10, 10)
      let other = 0
      const shared: Limit = (now) => {
        for (; other < now; other += 250 * random.next()) limit(other)
        return limit(now)
      }
      return runBacklog(seed, limiter, shared, 2, 10, 8, 1)
    },
    misses: ({ failed, refused }) => (failed > 0.05 && 'failed') || (refused > 20 && 'refused'),
  },
  {
    title: 'bursts of 200 calls each half minute at 10 a second',
    async run(seed, limiter) {
      const clock = new SimulatedClock()
      const tally = new Tally(0, 10 * minute)
      const client = new SimulatedClient(clock, new Random(seed), bucket(10, 10), tally, limiter())
      for (let at = 0; at < tally.to; at += 30 * second) {
        for (let count = 0; count < 200; count += 1) void client.call()
        await clock.runUntil(at + 30 * second)
      }
      await clock.runUntil(tally.to + 5 * minute)
      clock.stop()
      return { failed: tally.failed, refused: tally.refusedShare, used: 0, p95: tally.p95(), late: 0 }
    },
    misses: ({ failed, p95 }) => (failed > 0.05 && 'failed') || (p95 > 30 && 'p95'),
  },
  {
    title: 'setRate(5) where 100 a second are allowed',
    run: (seed) => {
      const limiter = new AdaptiveRateLimiter()
      limiter.setRate('key', 5)
      return runBacklog(seed, () => limiter, bucket(100, 20), 5, 6, 16, 1)
    },
    misses: ({ used, refused }) => ((used < 99 || used > 101) && 'used') || (refused > 0 && 'refused'),
  },
  {
    title: '10 a minute, 4 clients, 8 workers, with the shared limiter of the guide',
    run: (seed) => {
      const limiter = sharedLimiter(6 * second)
      return runBacklog(seed, () => limiter, bucket(1 / 6, 10), 1 / 6, 60, 8, 4)
    },
    misses: ({ failed }) => failed > 1 && 'failed',
  },
  {
    title: '10 reads a second, while all writes are refused',
    async run(seed, limiter) {
      const clock = new SimulatedClock()
      const random = new Random(seed)
      const [tally, ofWrites] = [new Tally(0, minute), new Tally(0, minute)]
      const rateLimiter = limiter()
      const reader = new SimulatedClient(clock, random, () => 0, tally, rateLimiter)
      void new SimulatedClient(clock, random, always, ofWrites, rateLimiter).load(50, minute, '/others')
      void reader.load(10, minute)
      await clock.runUntil(5 * minute)
      clock.stop()
      return { failed: tally.failed, refused: tally.refusedShare, used: 0, p95: tally.p95(), late: 0 }
    },
    misses: ({ failed, p95 }) => (failed > 0 && 'failed') || (p95 > 0.08 && 'p95'),
  },
]

// Polls: two workers, in one process or two, read again and again, and each sends two replies a minute.

/** @param interval from the end of a read to the next one, in seconds */
function polls(
  title: string,
  interval: number,
  limitersOf: (limiter: () => RateLimiter) => readonly [RateLimiter, RateLimiter],
  misses: Row['misses'],
  background = true,
): Row {
  return {
    title: `20 in each minute, replies beside polls after ${interval} s, ${title}`,
    async run(seed, limiter) {
      const clock = new SimulatedClock()
      const random = new Random(seed)
      const limit = perMinute(20)
      const end = 30 * minute
      const [reads, replies] = [new Tally(5 * minute, end), new Tally(5 * minute, end)]
      for (const rateLimiter of limitersOf(limiter)) {
        void new SimulatedClient(clock, random, limit, reads, rateLimiter, { background }).poll(interval * second, end)
        void new SimulatedClient(clock, random, limit, replies, rateLimiter).load(1 / 30, end, '/replies', 'POST')
        await clock.runUntil(clock.now + 15 * second)
      }
      await clock.runUntil(end + 5 * minute)
      clock.stop()
      const used = (replies.served + reads.served) / 5
      return { failed: replies.failed, refused: replies.refusedShare, used, p95: replies.p95(), late: 0 }
    },
    misses,
  }
}

/** The same with a change feed in each worker. */
function feeds(
  title: string,
  interval: number,
  limitersOf: (limiter: () => RateLimiter) => readonly [RateLimiter, RateLimiter],
  misses: Row['misses'],
): Row {
  return {
    title: `20 in each minute, replies beside change feeds after ${interval} s, ${title}`,
    async run(seed, limiter) {
      const clock = new SimulatedClock()
      const random = new Random(seed)
      const limit = perMinute(20)
      const end = 30 * minute
      const [reads, replies] = [new Tally(5 * minute, end), new Tally(5 * minute, end)]
      const stop = new AbortController()
      for (const rateLimiter of limitersOf(limiter)) {
        const answer = new SimulatedService({ seed, conversations: 30 }).fetch
        const { workspace } = new SimulatedClient(clock, random, limit, reads, rateLimiter, { answer })
        void watch(
          new ChangeFeed({ workspace, storage: memoryStorage(), interval: interval * second, signal: stop.signal }),
        )
        void new SimulatedClient(clock, random, limit, replies, rateLimiter).load(1 / 30, end, '/replies', 'POST')
        await clock.runUntil(clock.now + 15 * second)
      }
      await clock.runUntil(end)
      stop.abort()
      await clock.runUntil(end + 5 * minute)
      clock.stop()
      const used = (replies.served + reads.served) / 5
      return { failed: replies.failed, refused: replies.refusedShare, used, p95: replies.p95(), late: 0 }
    },
    misses,
  }
}

/** Runs a feed until it is stopped. */
async function watch(feed: ChangeFeed): Promise<void> {
  try {
    for await (const _ of feed);
  } catch (error) {
    if (feed.status().passes === 0) throw error
  }
}

const beside = [
  polls('1 process', 1, oneOf, ({ failed, used, p95 }) =>
    failed > 0 ? 'failed' : used < 90 ? 'used' : p95 > 60 && 'p95',
  ),
  // The rows above and below are needed only while these two are as bad.
  polls('1 process, without giving way', 1, oneOf, ({ failed }) => failed < 30 && 'better', false),
  polls(
    '2 processes',
    1,
    (limiter) => [limiter(), limiter()],
    ({ failed, p95 }) => (failed > 10 ? 'failed' : p95 < 60 && 'better'),
  ),
  polls(
    '2 processes',
    10,
    (limiter) => [limiter(), limiter()],
    ({ failed, p95 }) => (failed > 0 ? 'failed' : p95 > 1 && 'p95'),
  ),
  // While a feed waits for a digest, the simulated time goes on, so feeds do not use the limit fully.
  feeds('1 process', 1, oneOf, ({ failed, used, p95 }) =>
    failed > 0 ? 'failed' : used < 15 ? 'used' : p95 > 60 && 'p95',
  ),
  feeds(
    '2 processes',
    10,
    (limiter) => [limiter(), limiter()],
    ({ failed, p95 }) => (failed > 0 ? 'failed' : p95 > 1 && 'p95'),
  ),
  polls(
    '2 processes, with the shared limiter of the guide',
    1,
    () => oneOf(() => sharedLimiter(3 * second)),
    ({ failed, p95 }) => (failed > 0 ? 'failed' : p95 > 10 && 'p95'),
  ),
]

function oneOf(limiter: () => RateLimiter): readonly [RateLimiter, RateLimiter] {
  const one = limiter()
  return [one, one]
}

/** Sends the calls of all clients at an interval, as the limiter of docs/rate-limits.md does with the clock of Redis. */
function sharedLimiter(interval: number): RateLimiter {
  let next = 0
  return {
    async acquire(_key, signal, { onWait }) {
      const now = performance.now()
      const wait = Math.ceil(Math.max(0, next - now))
      next = Math.max(next, now) + interval
      if (wait === 0) return
      onWait(wait)
      await new Promise<void>((resolve, reject) => {
        setTimeout(resolve, wait)
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    },
  }
}

async function meanOf(row: Row, limiter: () => RateLimiter): Promise<Result> {
  const results: Result[] = []
  // One after the other: they share the clock.
  for (const seed of seeds) {
    const jitter = new Random(1_000 + seed)
    Math.random = () => jitter.next()
    results.push(await row.run(seed, limiter))
  }
  const mean = (key: keyof Result) => results.reduce((sum, result) => sum + result[key], 0) / results.length
  return { failed: mean('failed'), refused: mean('refused'), used: mean('used'), p95: mean('p95'), late: mean('late') }
}

const print = ({ failed, refused, used, p95 }: Result) =>
  `${failed.toFixed(2)} | ${refused.toFixed(1)} | ${used === 0 ? '' : used.toFixed(0)} | ${p95.toFixed(2)}`

const guide = readFileSync(new URL('../../docs/rate-limits.md', import.meta.url), 'utf8')
/** The rows of the guide, by the title of the row that they are taken from. */
const told = new Map(
  [...guide.matchAll(/^\| (.+ (?:a|each) .+?) \| .+ % \| .+ % \|$/gm)].map(([line, limit]) => {
    return [`${limit}, 1 client, 16 workers`, line]
  }),
)

/** Returns what the guide has to say of a row. */
function figuresOf(title: string, result: Result, without: Result): string {
  const [limit] = title.split(', ')
  return `| ${limit} | ${result.refused.toFixed(1)} % | ${without.refused.toFixed(0)} % |`
}

const wanted = process.argv[2] ?? ''
let missed = 0
let stale = 0
console.log(`| Row | failed, % | refused, % | used, % | p95, s | without a limiter | | | | |\n|${' --- |'.repeat(10)}`)
for (const row of [...incidents, ...budgets, ...special, ...beside].filter(({ title }) => title.includes(wanted))) {
  const nothing = { failed: 0, refused: 0, used: 0, p95: 0, late: 0 }
  const without = row.isCompared ? await meanOf(row, () => none) : nothing
  const result = await meanOf(row, () => new AdaptiveRateLimiter())
  const miss = row.misses(result, without)
  if (miss !== false) missed += 1
  const line = told.get(row.title)
  const isStale = line !== undefined && line !== figuresOf(row.title, result, without)
  if (isStale) stale += 1
  console.log(
    `| ${row.title} | ${print(result)} | ${row.isCompared ? print(without) : ' | | | '} | ${miss || (isStale ? 'guide' : '')} |`,
  )
}
console.log(`\n${missed} rows missed. docs/rate-limits.md has other figures for ${stale} of ${told.size}.`)
// Simulated calls never end.
process.exit(missed + stale === 0 && told.size > 0 ? 0 : 1)
