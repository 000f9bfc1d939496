import type { RateLimitedCall, RateLimiter } from '../http/rate-limiter.ts'
import { anyOperation } from '../http/rate-queue.ts'
import { checkArgument, RateQueues } from '../http/rate-queues.ts'
import type { WebAbortSignal } from '../web-types.ts'
import { PacedGate } from './paced-gate.ts'

/** The options of an `AdaptiveRateLimiter`. */
export interface AdaptiveRateLimiterOptions {
  /**
   * Maximum number of requests of a key that are in flight at the same time.
   *
   * @default Infinity
   */
  readonly maxConcurrency?: number | undefined
}

/**
 * A rate limiter for backlogs, in the memory of the process. Like a `RetryAfterLimiter` it obeys `Retry-After`, and it also
 * finds out how fast the service lets requests through: the rate drops by 5 % at each 429 and rises slowly in between.
 * Rates are kept for each operation of a key, or for the key once two operations were refused at the same time.
 *
 * Pass one to all clients of a connection to share what it has learned.
 *
 * @example
 * const rateLimiter = new AdaptiveRateLimiter({ maxConcurrency: 8 })
 * const paced = new SupportWorkspace({ baseUrl, accessToken, rateLimiter })
 * await paced.me()
 */
export class AdaptiveRateLimiter implements RateLimiter {
  readonly #queues: RateQueues<PacedGate>

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: AdaptiveRateLimiterOptions = {}) {
    this.#queues = new RateQueues(options, () => new PacedGate())
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

  /**
   * Returns the rate at which requests are sent, per second. Undefined if it is not limited.
   *
   * @param operation by default the rate that all operations of the key share
   */
  getRate(key: string, operation: string = anyOperation): number | undefined {
    const rate = this.#queues.find(key)?.gateOf(operation)?.rate
    return rate === undefined ? undefined : rate * 1_000
  }

  /**
   * Sets the rate of all operations of a key, for example to what another process has learned. It adapts from there.
   *
   * @param rate requests per second; undefined for no limit
   * @throws InvalidArgumentError if `rate` is not a positive number.
   */
  setRate(key: string, rate: number | undefined): void {
    const isRate = rate === undefined || (typeof rate === 'number' && rate > 0)
    checkArgument('rate', isRate, 'a positive number', 'the requests per second, or undefined for no limit')
    const queue = this.#queues.of(key)
    queue.replaceGate(rate === undefined ? new PacedGate() : new PacedGate(rate / 1_000, queue.now))
  }
}
