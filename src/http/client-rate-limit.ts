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

  /** Resolves when a request can be sent, with a function that ends its turn. Rejects when the call aborts. */
  async acquire(clock: CallClock, call: RateLimitedCall): Promise<() => void> {
    const limiter = this.#limiter
    if (this.#key === undefined) {
      this.#foundKey ??= this.#findKey()
      this.#key = await this.#foundKey
    }
    const key = this.#key
    // Needs no signal and no timer.
    if (limiter instanceof AdaptiveRateLimiter && limiter.isFree(key)) return () => {}
    let isAbandoned = false
    try {
      return await clock.run(async (signal) => {
        const end = await limiter.acquire(key, signal, call)
        const endTurn = () => {
          if (typeof end === 'function') notify(end)
        }
        if (isAbandoned) endTurn()
        return endTurn
      })
    } catch (thrown) {
      // The limiter may ignore the signal and grant a turn later.
      isAbandoned = true
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
