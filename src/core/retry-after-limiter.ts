import { type Check, checkInteger, mustBe, readOptions } from '../shared/check-options.ts'
import type { WebAbortSignal } from '../shared/web-types.ts'
import type { EndTurn, RateLimitedCall, RateLimiter, RefusedRequest } from './rate-limiter.ts'
import { RateGate, RateQueue } from './rate-queue.ts'

/** The options of a `RetryAfterLimiter`. */
export interface RetryAfterLimiterOptions {
  /**
   * Maximum number of requests of a key that are in flight at the same time.
   *
   * @default Infinity
   */
  readonly maxConcurrency?: number | undefined
}

const optionChecks = {
  maxConcurrency: (name, value) => (value === Number.POSITIVE_INFINITY ? value : checkInteger(name, value, 1)),
} satisfies Record<keyof RetryAfterLimiterOptions, Check<number>>

/** Queues that hold back nothing are removed each time that so many were added. */
const cleaning = 100

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
  readonly #maxConcurrency: number
  readonly #queues = new Map<string, RateQueue>()
  #created = 0

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: RetryAfterLimiterOptions = {}) {
    const { maxConcurrency } = readOptions(options, optionChecks, 'a rate limiter')
    this.#maxConcurrency = maxConcurrency ?? Number.POSITIVE_INFINITY
  }

  /** Returns a function that ends the request's turn, or a promise of it that rejects with the reason of the signal. */
  acquire(key: string, signal: WebAbortSignal, call: RateLimitedCall): EndTurn | Promise<EndTurn> {
    const queue = this.queueOf(key)
    const ends = (end: () => void) => (refused?: RefusedRequest) => {
      if (refused !== undefined) queue.penalize(refused.retryAfter ?? 500, call.operation)
      end()
    }
    const acquired = queue.acquire(signal, call)
    return acquired instanceof Promise ? acquired.then(ends) : ends(acquired)
  }

  /**
   * Holds back the requests of an operation, or else all requests of a key, as after a 429.
   *
   * @param duration in milliseconds
   * @throws InvalidArgumentError if `duration` is negative or not a number.
   */
  penalize(key: string, duration: number, operation?: string): void {
    const isDuration = typeof duration === 'number' && duration >= 0
    if (!isDuration) throw mustBe('a number of milliseconds', 'duration', duration, 'Pass, for example, 1_000.')
    this.queueOf(key).penalize(duration, operation)
  }

  /** @internal Creates what holds back an operation. */
  protected createGate(): RateGate {
    return new RateGate()
  }

  /** @internal Returns the queue of a key. */
  protected queueOf(key: string): RateQueue {
    const known = this.#queues.get(key)
    if (known !== undefined) return known
    this.#created += 1
    if (this.#created % cleaning === 0) {
      for (const [other, queue] of this.#queues) if (queue.forget()) this.#queues.delete(other)
    }
    const queue = new RateQueue(this.#maxConcurrency, () => this.createGate())
    this.#queues.set(key, queue)
    return queue
  }
}
