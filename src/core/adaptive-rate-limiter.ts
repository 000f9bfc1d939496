import { type Check, checkInteger, mustBe, readOptions } from '../shared/check-options.ts'
import type { WebAbortSignal } from '../shared/web-types.ts'
import type { EndTurn, RateLimitedCall, RateLimiter } from './rate-limiter.ts'
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

/** Queues and operations that hold back nothing are forgotten after so many requests. */
const cleaning = 1_000

/**
 * The default rate limiter of clients and connection stores, in the memory of the process. At first it sends all calls
 * at once. When the service refuses more than a fifth of the calls of an operation, it sends them at the rate that the
 * service accepts. The oldest call is sent first. Now and then it tries a faster rate. It learns a rate for each
 * operation of a key.
 *
 * Pass one limiter to all clients of a connection, so that they share the learned rates.
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
  }

  /**
   * Returns a function that ends the request's permit, or a promise of this function. It rejects if the signal aborts.
   */
  acquire(key: string, signal: WebAbortSignal, call: RateLimitedCall): EndTurn | Promise<EndTurn> {
    this.#acquired += 1
    if (this.#acquired % cleaning === 0) {
      for (const [other, queue] of this.#queues) if (queue.forget()) this.#queues.delete(other)
    }
    return this.#queueOf(key).acquire(signal as AbortSignal, call)
  }

  /**
   * Returns the rate at which the calls of an operation are sent, per second. Undefined if it is not limited.
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
   * @throws InvalidArgumentError if `rate` is not a positive number.
   */
  setRate(key: string, rate: number | undefined): void {
    const isRate = rate === undefined || (typeof rate === 'number' && rate > 0)
    if (!isRate) throw mustBe('a positive number', 'rate', rate, 'Pass requests per second, or undefined for no limit.')
    this.#queueOf(key).setCeiling(rate === undefined ? 0 : 1_000 / rate)
  }

  #queueOf(key: string): RateQueue {
    const queue = this.#queues.get(key) ?? new RateQueue(this.#maxConcurrency)
    this.#queues.set(key, queue)
    return queue
  }
}
