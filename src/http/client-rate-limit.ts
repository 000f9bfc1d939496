import { sha256 } from '../bytes.ts'
import { checkFunction, checkObject, checkText } from '../check-options.ts'
import { AdaptiveRateLimiter } from './adaptive-rate-limiter.ts'
import type { CallClock } from './call-clock.ts'
import { notify } from './hooks.ts'
import type { ClientOptions } from './options.ts'
import type { RateLimitedCall, RateLimiter } from './rate-limiter.ts'

/** The rate limiter of a client, and the key under which it knows the client. */
export class ClientRateLimit {
  readonly #limiter: RateLimiter
  readonly #findKey: () => Promise<string>
  #key: string | undefined
  /** Calls that start at the same time share it. */
  #foundKey: Promise<string> | undefined

  /** @throws InvalidArgumentError that names the option */
  constructor({ rateLimiter, rateLimitKey, accessToken }: ClientOptions) {
    if (rateLimiter !== undefined) {
      checkObject('rateLimiter', rateLimiter, 'Pass, for example, `new AdaptiveRateLimiter()`.')
      checkFunction('rateLimiter.acquire', rateLimiter.acquire)
      checkFunction('rateLimiter.penalize', rateLimiter.penalize)
    }
    this.#limiter = rateLimiter ?? new AdaptiveRateLimiter()
    // Nobody else knows the keys of a limiter that belongs to the client.
    this.#key = rateLimitKey === undefined ? (rateLimiter ? undefined : '') : checkText('rateLimitKey', rateLimitKey)
    this.#findKey = () => defaultKey(accessToken)
  }

  /**
   * Resolves when a request can be sent, with a function that ends its turn. Rejects when the call aborts.
   *
   * @param notBefore earliest time of `performance.now()` after the call's own 429. A custom limiter may not wait for it.
   */
  async acquire(clock: CallClock, call: RateLimitedCall, notBefore = 0): Promise<() => void> {
    const limiter = this.#limiter
    if (this.#key === undefined) {
      this.#foundKey ??= this.#findKey()
      this.#key = await this.#foundKey
    }
    const key = this.#key
    // A subclass may have an `acquire` of its own.
    const isAdaptive = limiter.acquire === AdaptiveRateLimiter.prototype.acquire
    // Needs no signal and no timer.
    if (isAdaptive && (limiter as AdaptiveRateLimiter).isFree(key)) return () => {}
    const takeTurn = async (signal: AbortSignal) => {
      const end = await limiter.acquire(key, signal, call)
      return () => {
        if (typeof end === 'function') notify(end)
      }
    }
    let turn: Promise<() => void> | undefined
    try {
      const endTurn = await clock.run((signal) => {
        turn = takeTurn(signal)
        return turn
      })
      const early = isAdaptive ? 0 : notBefore - performance.now()
      if (early > 0) await clock.wait(early)
      return endTurn
    } catch (thrown) {
      // The limiter may ignore the signal, or have granted the turn at the same moment.
      turn?.then((endTurn) => endTurn()).catch(() => {})
      throw thrown
    }
  }

  /** Reports a 429. */
  penalize(duration: number): void {
    const key = this.#key
    if (key !== undefined) notify(() => this.#limiter.penalize(key, duration))
  }
}

/** A token that never changes identifies its connection in every process, and its digest does not reveal it. */
async function defaultKey(accessToken: unknown): Promise<string> {
  // Pages without a secure context have no `crypto.subtle`.
  const digest = typeof accessToken === 'string' ? await sha256(accessToken).catch(() => undefined) : undefined
  return digest ?? `client-${Math.random()}`
}
