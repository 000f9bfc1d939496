import { type RateLimiter, SupportWorkspace, type WebFetch } from 'support-workspace-sdk'
import type { Random } from '../../test/helpers/random.ts'

/** Returns 0 if a request is served at this time, otherwise the milliseconds until it would be. */
export type Limit = (now: number) => number

export function bucket(perSecond: number, burst: number): Limit {
  let available = burst
  let updatedAt = 0
  return (now) => {
    available = Math.min(burst, available + ((now - updatedAt) / 1_000) * perSecond)
    updatedAt = now
    if (available < 1 - 1e-6) return ((1 - available) / perSecond) * 1_000
    available -= 1
    return 0
  }
}

/** A fixed window of a minute. */
export function perMinute(requests: number): Limit {
  const length = 60_000
  let window = 0
  let served = 0
  return (now) => {
    const current = Math.floor(now / length)
    if (current !== window) served = 0
    window = current
    if (served === requests) return (current + 1) * length - now
    served += 1
    return 0
  }
}

interface Timer {
  readonly at: number
  readonly run: () => void
}

/** A clock that jumps to the next timer. It replaces the timers and `performance.now()` until it is stopped. */
export class SimulatedClock {
  readonly #real = { setTimeout, clearTimeout, now: performance.now }
  /** The next one is the last. */
  readonly #timers: Timer[] = []
  now = 0

  constructor() {
    globalThis.setTimeout = ((run: () => void, delay = 0) => this.#add(run, delay)) as never
    globalThis.clearTimeout = ((timer: Timer) => {
      const index = this.#timers.lastIndexOf(timer)
      if (index >= 0) this.#timers.splice(index, 1)
    }) as never
    performance.now = () => this.now
  }

  stop(): void {
    globalThis.setTimeout = this.#real.setTimeout
    globalThis.clearTimeout = this.#real.clearTimeout
    performance.now = this.#real.now
  }

  wait(duration: number): Promise<void> {
    return new Promise((resolve) => this.#add(resolve, duration))
  }

  /** Runs timers until a time, and the promises after each of them. */
  async runUntil(end: number): Promise<void> {
    await settlePromises()
    for (let next = this.#timers.at(-1); next !== undefined && next.at <= end; next = this.#timers.at(-1)) {
      this.#timers.pop()
      this.now = Math.max(this.now, next.at)
      next.run()
      await settlePromises()
    }
    this.now = Math.max(this.now, end)
  }

  #add(run: () => void, delay: number): Timer {
    const timer = { at: this.now + Math.max(1, delay), run }
    this.#timers.splice(this.#timers.findLastIndex(({ at }) => at > timer.at) + 1, 0, timer)
    return timer
  }
}

function settlePromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export interface ServiceOptions {
  /** Whether a refusal has a `Retry-After`, in whole seconds. */
  readonly hasHeader?: boolean
  /** Of a request, in milliseconds; half to one and a half of it is used. */
  readonly latency?: number
  /** Whether the client's calls give way to writes. */
  readonly background?: boolean
  /** Answers what is not refused. */
  readonly answer?: WebFetch
}

/** What became of the calls that were made in a time, and of the requests in that time. */
export class Tally {
  readonly from: number
  readonly to: number
  served = 0
  refused = 0
  readonly durations: { readonly madeAt: number; readonly duration: number; readonly isFailed: boolean }[] = []

  constructor(from: number, to: number) {
    this.from = from
    this.to = to
  }

  get failed(): number {
    const { length } = this.durations
    return length === 0 ? 0 : (100 * this.durations.filter(({ isFailed }) => isFailed).length) / length
  }

  get refusedShare(): number {
    return (100 * this.refused) / Math.max(1, this.refused + this.served)
  }

  /** The 95th percentile of the durations in seconds, of the calls that were made from a time on. */
  p95(from = 0): number {
    const times = this.durations.filter(({ madeAt }) => madeAt >= from).map(({ duration }) => duration)
    times.sort((one, other) => one - other)
    return (times[Math.floor(0.95 * times.length)] ?? 0) / 1_000
  }
}

/** A real client, whose service is a function of the time. */
export class SimulatedClient {
  readonly #clock: SimulatedClock
  readonly #tally: Tally
  readonly workspace: SupportWorkspace

  constructor(
    clock: SimulatedClock,
    random: Random,
    limit: Limit,
    tally: Tally,
    rateLimiter: RateLimiter | undefined,
    { hasHeader = true, latency = 50, background = false, answer }: ServiceOptions = {},
  ) {
    this.#clock = clock
    this.#tally = tally
    const fetch: WebFetch = async (url, init) => {
      await clock.wait(latency * (0.5 + random.next()))
      const wait = limit(clock.now)
      if (clock.now >= tally.from && clock.now < tally.to) tally[wait > 0 ? 'refused' : 'served'] += 1
      if (wait === 0 && answer !== undefined) return answer(url, init)
      const headers = new Headers(wait > 0 && hasHeader ? { 'retry-after': String(Math.ceil(wait / 1_000)) } : {})
      return { status: wait > 0 ? 429 : 200, headers, text: async () => '{}' }
    }
    const workspace = new SupportWorkspace({
      baseUrl: 'https://service.example',
      accessToken: 'swot_simulated',
      fetch,
      rateLimitKey: 'key',
      ...(rateLimiter && { rateLimiter }),
    })
    this.workspace = background ? workspace.replaceOptions(() => ({ background })) : workspace
  }

  /** Makes a call. Resolves when it is over, whether it succeeds or not. */
  async call(path: `/${string}` = '/things', method: 'GET' | 'POST' = 'GET'): Promise<void> {
    const madeAt = this.#clock.now
    const isFailed = await this.workspace.request(method, path).then(
      () => false,
      () => true,
    )
    if (madeAt < this.#tally.from || madeAt >= this.#tally.to) return
    this.#tally.durations.push({ madeAt, duration: this.#clock.now - madeAt, isFailed })
  }

  /** Keeps making calls, this many at a time, until a time. */
  backlog(workers: number, end: number): void {
    const repeat = async () => {
      while (this.#clock.now < end) await this.call()
    }
    for (let count = 0; count < workers; count += 1) void repeat()
  }

  /** Reads until a time, with an interval from the end of one read to the next. */
  async poll(interval: number, end: number): Promise<void> {
    while (this.#clock.now < end) {
      await this.call()
      await this.#clock.wait(interval)
    }
  }

  /** Makes this many calls a second until a time. */
  async load(perSecond: number, end: number, path?: `/${string}`, method?: 'GET' | 'POST'): Promise<void> {
    while (this.#clock.now < end) {
      void this.call(path, method)
      await this.#clock.wait(1_000 / perSecond)
    }
  }
}
