import type { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { AdaptiveRateLimiter, type RateLimitedCall, type RateLimiter } from 'support-workspace-sdk'

/** How long a rate is kept after the last 429, in seconds. */
const memory = 600
/** Redis keeps whole seconds, so a pause can be read again shortly after it was noticed here, in milliseconds. */
const rounding = 1_000

/**
 * Shares the rate limits of all connections between the processes of a fleet. A limit applies to a connection as a whole. Each process paces its own calls; what it
 * learns from a 429 goes to Redis: how long to pause, and the rate that the service has turned out to allow. A process
 * that takes over a connection starts with that rate instead of finding it out again.
 */
export class SharedRateLimiter implements RateLimiter {
  readonly #local = new AdaptiveRateLimiter()
  readonly #pauses: RateLimiterRedis
  readonly #rates: RateLimiterRedis
  /** When the last known pause of each connection ends, in milliseconds of `performance.now()`. */
  readonly #pausedUntil = new Map<string, number>()

  constructor(redis: Redis) {
    this.#pauses = new RateLimiterRedis({ storeClient: redis, keyPrefix: 'pause', points: 1, duration: 1 })
    this.#rates = new RateLimiterRedis({ storeClient: redis, keyPrefix: 'rate', points: 1, duration: memory })
  }

  async acquire(key: string, signal: AbortSignal, call: RateLimitedCall): Promise<() => void> {
    const isNew = !this.#pausedUntil.has(key)
    const [pause, rate] = await Promise.all([this.#pauses.get(key), isNew ? this.#rates.get(key) : null])
    const learned = positive(rate?.consumedPoints)
    if (learned !== undefined) this.#local.setRate(key, learned / 1_000)
    const wait = positive(pause?.msBeforeNext) ?? 0
    const known = this.#pausedUntil.get(key) ?? 0
    const until = performance.now() + wait
    if (wait > 0 && until > known + rounding) this.#local.penalize(key, wait)
    this.#pausedUntil.set(key, Math.max(known, until))
    return this.#local.acquire(key, signal, call)
  }

  async penalize(key: string, duration: number): Promise<void> {
    this.#local.penalize(key, duration)
    const seconds = Math.max(1, Math.ceil(duration / 1_000))
    this.#pausedUntil.set(key, Math.max(this.#pausedUntil.get(key) ?? 0, performance.now() + seconds * 1_000))
    const rate = this.#local.getRate(key)
    await Promise.all([
      this.#pause(key, seconds),
      rate === undefined ? undefined : this.#rates.set(key, Math.ceil(rate * 1_000), memory),
    ])
  }

  /** Unlike `block`, keeps a longer pause that another process has set. */
  async #pause(key: string, seconds: number): Promise<void> {
    const left = positive((await this.#pauses.get(key))?.msBeforeNext) ?? 0
    if (left < seconds * 1_000) await this.#pauses.block(key, seconds)
  }
}

/** Others can write to Redis as well. What they leave there must not fail a call, so any other number is ignored. */
function positive(value: number | undefined): number | undefined {
  return value !== undefined && Number.isFinite(value) && value > 0 ? value : undefined
}
