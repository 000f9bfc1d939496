import type { Middleware } from '../core/index.ts'

/**
 * Estimates the time of the service from the `Date` headers of its responses. The clock keeps the difference between
 * `Date` and the monotonic clock of this process. A response needs time to arrive, and a cached response is older
 * still, so each difference is too small. The largest difference is therefore the best estimate. Keeping the largest
 * also means that the clock never goes back.
 */
export class ServiceClock {
  #difference: number | undefined

  /**
   * Returns the service's time in milliseconds since the Unix epoch, or this machine's time before the first `Date`.
   */
  now(): number {
    return this.#difference === undefined ? Date.now() : Math.floor(this.#difference + performance.now())
  }

  /** Reads the `Date` of each response of a client. */
  readonly middleware: Middleware = async (call, next) => {
    const reply = await next(call)
    const { headers } = reply.response
    // A middleware can return a reply of its own, whose response lacks headers.
    if (headers === undefined) return reply
    const difference = Date.parse(headers.get('date') ?? '') - performance.now()
    const isFresh = Number(headers.get('age') ?? 0) === 0
    if (isFresh && !Number.isNaN(difference)) this.#difference = Math.max(difference, this.#difference ?? difference)
    return reply
  }
}
