import { bindMethods } from '../shared/bind-methods.ts'
import { type Check, checkInteger, mustBe, readOptions } from '../shared/check-options.ts'
import type { EndTurn, RateLimitedCall, RateLimiter } from './interface.ts'
import { RateQueue } from './rate-queue.ts'

/** The options of an `AdaptiveRateLimiter`. */
export interface AdaptiveRateLimiterOptions {
  /**
   * Maximum number of requests of a key that are in flight at the same time.
   *
   * @default Infinity
   */
  readonly maxConcurrency?: number | undefined
}

const optionChecks = {
  maxConcurrency: (name, value) => (value === Number.POSITIVE_INFINITY ? value : checkInteger(name, value, 1)),
} satisfies Record<keyof AdaptiveRateLimiterOptions, Check<number>>

/** After this number of requests, the limiter forgets queues and operations that hold back no call. */
const cleaning = 1_000

/**
 * The default rate limiter of clients and connection stores, in the memory of the process. Calls are sent at once until
 * the service refuses more than a fifth of the calls of an operation. Then the limiter sends them at the rate that the
 * service allows, in the order in which they were made, and tries a faster rate from time to time. Each operation of a
 * key has its own rate.
 *
 * Pass one limiter to all clients of a connection, so that they share the rate.
 *
 * @example
 * const rateLimiter = new AdaptiveRateLimiter({ maxConcurrency: 8 })
 * const limited = new SupportWorkspace({ baseUrl, accessToken, rateLimiter })
 * await limited.me()
 */
export class AdaptiveRateLimiter implements RateLimiter {
  readonly #maxConcurrency: number
  readonly #queues = new Map<string, RateQueue>()
  #acquired = 0

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: AdaptiveRateLimiterOptions = {}) {
    const { maxConcurrency } = readOptions(options, optionChecks, 'a rate limiter')
    this.#maxConcurrency = maxConcurrency ?? Number.POSITIVE_INFINITY
    bindMethods(this)
  }

  /**
   * Returns a function that ends the request's permit, or a promise of this function. The promise rejects with the
   * reason of the signal.
   */
  acquire(key: string, signal: AbortSignal, call: RateLimitedCall): EndTurn | Promise<EndTurn> {
    this.#acquired += 1
    if (this.#acquired % cleaning === 0) {
      for (const [other, queue] of this.#queues) if (queue.forget()) this.#queues.delete(other)
    }
    return this.#queueOf(key).acquire(signal, call)
  }

  /**
   * Returns the rate at which the calls of an operation are sent, per second. Undefined if there is no limit.
   *
   * @param operation method and path template, for example `GET /api/oauth/v1/contacts/{id}`. Without it, the rate that
   *   `setRate` has set
   */
  getRate(key: string, operation?: string): number | undefined {
    const interval = this.#queues.get(key)?.intervalOf(operation)
    return interval ? 1_000 / interval : undefined
  }

  /**
   * Sets the highest rate of all operations of a key together, until it is set again. The rates that the limiter learns
   * can be lower.
   *
   * @param rate requests per second. Undefined for no limit
   * @throws InvalidArgumentError if `rate` is not a positive number, or so small that the interval is infinite.
   */
  setRate(key: string, rate: number | undefined): void {
    const interval = rate === undefined ? 0 : typeof rate === 'number' && rate > 0 ? 1_000 / rate : Number.NaN
    if (!Number.isFinite(interval)) {
      const hint = 'Pass requests per second, or undefined for no limit.'
      throw mustBe('a positive number with a finite interval', 'rate', rate, hint)
    }
    this.#queueOf(key).setCeiling(interval)
  }

  #queueOf(key: string): RateQueue {
    const queue = this.#queues.get(key) ?? new RateQueue(this.#maxConcurrency)
    this.#queues.set(key, queue)
    return queue
  }
}
