import type { RateLimit } from '../sandbox-settings.ts'

/** A token bucket. It starts full and refills continuously. */
export class TokenBucket {
  readonly #limit: RateLimit
  #available: number
  #updatedAt: number

  /** `now` is in milliseconds since the epoch. */
  constructor(limit: RateLimit, now: number) {
    this.#limit = limit
    this.#available = limit.requests
    this.#updatedAt = now
  }

  /** Takes one token. Returns 0, or the milliseconds until a token is available if there is none. */
  take(now: number): number {
    const { requests, interval } = this.#limit
    const refill = (Math.max(0, now - this.#updatedAt) * requests) / interval
    this.#available = Math.min(requests, this.#available + refill)
    this.#updatedAt = now
    // Rounding must not refuse a request that comes exactly when a token is available.
    if (this.#available < 1 - 1e-6) return ((1 - this.#available) * interval) / requests
    this.#available = Math.max(0, this.#available - 1)
    return 0
  }
}
