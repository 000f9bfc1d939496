import { checkOptions } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import type { WebAbortSignal } from '../web-types.ts'
import { RateLane } from './rate-lane.ts'
import type { RateLimitedCall, RateLimiter } from './rate-limiter.ts'

/** The options of an `RetryAfterLimiter`. */
export interface RetryAfterLimiterOptions {
  /**
   * Maximum number of requests of a key that are in flight at the same time.
   *
   * @default Infinity
   */
  readonly maxConcurrency?: number | undefined
}

const optionNames = { maxConcurrency: true } satisfies Record<keyof RetryAfterLimiterOptions, true>

/** Unneeded lanes are removed this often, in milliseconds. */
const cleaning = 600_000

/**
 * The default rate limiter of clients and connection stores, in the memory of the process. It does nothing until a key
 * gets a 429. Then no request of this key is sent until the service allows it, and afterwards as many as the service has
 * turned out to allow: the rate drops by 5 % at each 429 and rises slowly in between. Other keys are not affected. The
 * calls of a key are sent in the order in which they were made.
 *
 * Pass one to all clients of a connection to share what it has learned.
 *
 * @example
 * const rateLimiter = new RetryAfterLimiter({ maxConcurrency: 8 })
 * const limited = new SupportWorkspace({ baseUrl, accessToken, rateLimiter })
 * await limited.me()
 */
export class RetryAfterLimiter implements RateLimiter {
  readonly #maxConcurrency: number
  readonly #lanes = new Map<string, RateLane>()
  #cleanedAt = performance.now()

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: RetryAfterLimiterOptions = {}) {
    checkOptions('options', options, optionNames, 'a rate limiter')
    const { maxConcurrency = Number.POSITIVE_INFINITY } = options
    const isCount = Number.isInteger(maxConcurrency) || maxConcurrency === Number.POSITIVE_INFINITY
    check('maxConcurrency', isCount && maxConcurrency >= 1, 'an integer of at least 1', 'for example 8')
    this.#maxConcurrency = maxConcurrency
  }

  /** Whether nothing holds back a request of this key, so that it needs no turn. */
  isFree(key: string): boolean {
    if (this.#lanes.get(key)?.isUnneeded) this.#lanes.delete(key)
    return this.#maxConcurrency === Number.POSITIVE_INFINITY && !this.#lanes.has(key)
  }

  /** Resolves when a request can be sent, with a function that ends its turn. Rejects with the reason of the signal. */
  async acquire(key: string, signal: WebAbortSignal, call: RateLimitedCall): Promise<() => void> {
    return this.isFree(key) ? () => {} : this.#laneOf(key).acquire(signal as AbortSignal, call)
  }

  /**
   * Holds back the requests of a key, as after a 429.
   *
   * @param duration in milliseconds
   * @throws InvalidArgumentError if `duration` is negative or not a number.
   */
  penalize(key: string, duration: number): void {
    check('duration', typeof duration === 'number' && duration >= 0, 'a number of milliseconds', 'for example 1_000')
    this.#laneOf(key).penalize(duration)
  }

  /** Returns the rate at which requests of a key are sent, per second. Undefined if it is not limited. */
  getRate(key: string): number | undefined {
    const lane = this.#lanes.get(key)
    return lane?.rate === undefined || lane.isUnneeded ? undefined : lane.rate * 1_000
  }

  /**
   * Sets the rate of a key, for example to what another process has learned. It adapts from there.
   *
   * @param rate requests per second; undefined for no limit
   * @throws InvalidArgumentError if `rate` is not a positive number.
   */
  setRate(key: string, rate: number | undefined): void {
    check(
      'rate',
      rate === undefined || (typeof rate === 'number' && rate > 0),
      'a positive number',
      'the requests per second, or undefined for no limit',
    )
    this.#laneOf(key).rate = rate === undefined ? undefined : rate / 1_000
  }

  #laneOf(key: string): RateLane {
    const known = this.#lanes.get(key)
    if (known !== undefined) return known
    const now = performance.now()
    if (now - this.#cleanedAt > cleaning) {
      this.#cleanedAt = now
      for (const [other, { isUnneeded }] of this.#lanes) if (isUnneeded) this.#lanes.delete(other)
    }
    const lane = new RateLane(this.#maxConcurrency)
    this.#lanes.set(key, lane)
    return lane
  }
}

function check(name: string, isValid: boolean, what: string, example: string): void {
  if (isValid) return
  throw new InvalidArgumentError(name, `\`${name}\` must be ${what}.`, `Pass ${example}.`)
}
