import { mustBe } from '../shared/check-options.ts'
import { PacedGate } from './paced-gate.ts'
import { RetryAfterLimiter } from './retry-after-limiter.ts'

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
export class AdaptiveRateLimiter extends RetryAfterLimiter {
  /**
   * Returns the rate at which requests are sent, per second. Undefined if it is not limited.
   *
   * @param operation by default the rate that all operations of the key share
   */
  getRate(key: string, operation?: string): number | undefined {
    const interval = this.queueOf(key).findGate(operation)?.interval
    return interval ? 1_000 / interval : undefined
  }

  /**
   * Sets the rate of all operations of a key, for example to what another process has learned. It adapts from there.
   *
   * @param rate requests per second, at least one a minute: a lower one counts as that. Undefined for no limit
   * @throws InvalidArgumentError if `rate` is not a positive number.
   */
  setRate(key: string, rate: number | undefined): void {
    const isRate = rate === undefined || (typeof rate === 'number' && rate > 0)
    if (!isRate) throw mustBe('a positive number', 'rate', rate, 'Pass requests per second, or undefined for no limit.')
    const queue = this.queueOf(key)
    const gate = queue.openGate()
    if (gate instanceof PacedGate) gate.setRate((rate ?? Number.POSITIVE_INFINITY) / 1_000, queue.now)
    queue.sendHeld()
  }

  /** @internal */
  protected override createGate(): PacedGate {
    return new PacedGate()
  }
}
