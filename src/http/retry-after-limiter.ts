import type { WebAbortSignal } from '../web-types.ts'
import { RateGate } from './rate-gate.ts'
import type { RateLimitedCall, RateLimiter } from './rate-limiter.ts'
import { RateQueues } from './rate-queues.ts'

/** The options of a `RetryAfterLimiter`. */
export interface RetryAfterLimiterOptions {
  /**
   * Maximum number of requests of a key that are in flight at the same time.
   *
   * @default Infinity
   */
  readonly maxConcurrency?: number | undefined
}

/**
 * The default rate limiter of clients and connection stores, in the memory of the process. After a 429 it sends no request
 * of the refused operation until `Retry-After` has passed, and the calls that wait gradually afterwards, in the order in
 * which they were made. It remembers no rate: an `AdaptiveRateLimiter` does, which sends a backlog faster.
 *
 * @example
 * const rateLimiter = new RetryAfterLimiter({ maxConcurrency: 8 })
 * const limited = new SupportWorkspace({ baseUrl, accessToken, rateLimiter })
 * await limited.me()
 */
export class RetryAfterLimiter implements RateLimiter {
  readonly #queues: RateQueues<RateGate>

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: RetryAfterLimiterOptions = {}) {
    this.#queues = new RateQueues(options, () => new RateGate())
  }

  /** Returns a function that ends the request's turn, or a promise of it that rejects with the reason of the signal. */
  acquire(key: string, signal: WebAbortSignal, call: RateLimitedCall): (() => void) | Promise<() => void> {
    return this.#queues.acquire(key, signal, call)
  }

  /**
   * Holds back the requests of an operation, or else all requests of a key, as after a 429.
   *
   * @param duration in milliseconds
   * @throws InvalidArgumentError if `duration` is negative or not a number.
   */
  penalize(key: string, duration: number, operation?: string): void {
    this.#queues.penalize(key, duration, operation)
  }
}
