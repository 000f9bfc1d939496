import type { Middleware } from '../core/index.ts'

/**
 * The clock of the service, estimated from its responses: their `Date` minus the monotonic clock of this process. A
 * response is older than its arrival, and a cached response is older still. Therefore the largest difference is the
 * best estimate, and the clock only moves forward.
 */
export class ServiceClock {
  #difference: number | undefined

  /**
   * Returns the time of the service in milliseconds since the Unix epoch, or of this machine if the service tells none.
   */
  now(): number {
    return this.#difference === undefined ? Date.now() : Math.floor(this.#difference + performance.now())
  }

  /** Learns from the responses of a client. */
  readonly middleware: Middleware = async (call, next) => {
    const reply = await next(call)
    const headers = reply.response?.headers
    // A reply that a middleware made up.
    if (headers === undefined) return reply
    const difference = Date.parse(headers.get('date') ?? '') - performance.now()
    const isFresh = Number(headers.get('age') ?? 0) === 0
    if (isFresh && !Number.isNaN(difference)) this.#difference = Math.max(difference, this.#difference ?? difference)
    return reply
  }
}
