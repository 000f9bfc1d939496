import type { RateLimiter } from '../../src/core/options.ts'
import type { Random } from '../helpers/random.ts'

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

export function fixedWindow(requests: number, length: number): Limit {
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
    const timer = { at: this.now + Math.max(1, Math.trunc(delay)), run }
    this.#timers.splice(this.#timers.findLastIndex(({ at }) => at > timer.at) + 1, 0, timer)
    return timer
  }
}

function settlePromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Of a request, in milliseconds. */
const latency = 50

/** Sends calls as a client does, to a service that a function plays. */
export class SimulatedClient {
  readonly clock: SimulatedClock
  readonly random: Random
  readonly limiter: RateLimiter
  readonly totalTimeout: number
  readonly maxRetries: number
  readonly counts = { served: 0, refused: 0, failed: 0 }
  /** Of the calls that succeeded, in milliseconds. */
  durations: number[] = []

  constructor(clock: SimulatedClock, random: Random, limiter: RateLimiter, limits: Partial<SimulatedClient> = {}) {
    this.clock = clock
    this.random = random
    this.limiter = limiter
    this.totalTimeout = limits.totalTimeout ?? 120_000
    this.maxRetries = limits.maxRetries ?? 2
  }

  /** Makes a call. Resolves when it is over, whether it succeeds or not. */
  async call(limit: Limit, operation = 'GET /things'): Promise<void> {
    const { clock, counts } = this
    const startedAt = clock.now
    let notBefore = 0
    for (let retries = 0; ; retries += 1) {
      let endTurn: unknown
      const timeLeft = this.totalTimeout - (clock.now - startedAt)
      const abort = new AbortController()
      let timer: ReturnType<typeof setTimeout> | undefined
      try {
        const onWait = (wait: number) => {
          if (wait >= this.totalTimeout - (clock.now - startedAt)) throw new Error('too long')
        }
        const turn = this.limiter.acquire('key', abort.signal, {
          operation,
          canWait: true,
          startedAt,
          timeLeft,
          onWait,
        })
        if (turn instanceof Promise && Number.isFinite(timeLeft)) timer = setTimeout(() => abort.abort(), timeLeft)
        endTurn = turn instanceof Promise ? await turn : turn
        if (clock.now < notBefore) await clock.wait(notBefore - clock.now)
      } catch {
        counts.failed += 1
        return
      } finally {
        clearTimeout(timer)
      }
      await clock.wait(latency / 2)
      const wait = limit(clock.now)
      await clock.wait(latency / 2)
      counts[wait > 0 ? 'refused' : 'served'] += 1
      const backoff = Math.floor(this.random.next() * Math.min(8_000, 500 * 2 ** retries))
      const delay = Math.max(backoff, Math.ceil(wait / 1_000) * 1_000)
      if (wait > 0) void this.limiter.penalize('key', delay, operation)
      if (typeof endTurn === 'function') endTurn()
      if (wait === 0) {
        this.durations.push(clock.now - startedAt)
        return
      }
      if (retries >= this.maxRetries || delay >= this.totalTimeout - (clock.now - startedAt)) {
        counts.failed += 1
        return
      }
      notBefore = clock.now + delay
    }
  }

  /** Keeps making calls, this many at a time. */
  backlog(limit: Limit, loops: number): void {
    const repeat = async () => {
      for (;;) await this.call(limit)
    }
    for (let count = 0; count < loops; count += 1) void repeat()
  }

  /** Makes this many calls a second, for this many calls. */
  async load(limit: Limit, perSecond: number, calls: number, operation?: string): Promise<void> {
    for (let count = 0; count < calls; count += 1) {
      void this.call(limit, operation)
      await this.clock.wait(1_000 / perSecond)
    }
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}
