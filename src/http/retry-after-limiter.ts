import { checkOptions } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import type { WebAbortSignal } from '../web-types.ts'
import { RateGate } from './rate-gate.ts'
import type { RateLimitedCall, RateLimiter } from './rate-limiter.ts'
import { anyOperation, RateQueue } from './rate-queue.ts'

/** The options of a `RetryAfterLimiter`. */
export interface RetryAfterLimiterOptions {
  /**
   * Maximum number of requests of a key that are in flight at the same time.
   *
   * @default Infinity
   */
  readonly maxConcurrency?: number | undefined
}

const optionNames = { maxConcurrency: true } satisfies Record<keyof RetryAfterLimiterOptions, true>

const sendAtOnce = () => {}

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
  /** Unneeded queues are removed when there are this many. */
  #most = 100

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: RetryAfterLimiterOptions = {}) {
    checkOptions('options', options, optionNames, 'a rate limiter')
    const { maxConcurrency = Number.POSITIVE_INFINITY } = options
    const isCount = Number.isInteger(maxConcurrency) || maxConcurrency === Number.POSITIVE_INFINITY
    checkArgument('maxConcurrency', isCount && maxConcurrency >= 1, 'an integer of at least 1', 'for example 8')
    this.#maxConcurrency = maxConcurrency
  }

  /** Returns a function that ends the request's turn, or a promise of it that rejects with the reason of the signal. */
  acquire(key: string, signal: WebAbortSignal, call: RateLimitedCall): (() => void) | Promise<() => void> {
    const queue = this.#maxConcurrency < Number.POSITIVE_INFINITY ? this.queueOf(key) : this.findQueue(key)
    return queue?.acquire(signal, call) ?? sendAtOnce
  }

  /**
   * Holds back the requests of an operation, or else all requests of a key, as after a 429.
   *
   * @param duration in milliseconds
   * @throws InvalidArgumentError if `duration` is negative or not a number.
   */
  penalize(key: string, duration: number, operation: string = anyOperation): void {
    const isDuration = typeof duration === 'number' && duration >= 0
    checkArgument('duration', isDuration, 'a number of milliseconds', 'for example 1_000')
    this.queueOf(key).penalize(duration, operation)
  }

  /** @internal Creates what holds back an operation. */
  protected createGate(): RateGate {
    return new RateGate()
  }

  /** @internal Returns the queue of a key. Undefined if nothing holds it back. */
  protected findQueue(key: string): RateQueue | undefined {
    const queue = this.#queues.get(key)
    if (!queue?.forget()) return queue
    this.#queues.delete(key)
    return undefined
  }

  /** @internal Returns the queue of a key. Creates it if there is none. */
  protected queueOf(key: string): RateQueue {
    const known = this.findQueue(key)
    if (known !== undefined) return known
    if (this.#queues.size >= this.#most) {
      for (const other of this.#queues.keys()) this.findQueue(other)
      this.#most = Math.max(100, 2 * this.#queues.size)
    }
    const queue = new RateQueue(this.#maxConcurrency, () => this.createGate())
    this.#queues.set(key, queue)
    return queue
  }
}

export function checkArgument(name: string, isValid: boolean, what: string, example: string): void {
  if (isValid) return
  throw new InvalidArgumentError(name, `\`${name}\` must be ${what}.`, `Pass ${example}.`)
}
