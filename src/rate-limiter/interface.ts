/** A call that a rate limiter can hold back. */
export interface RateLimitedCall {
  /** HTTP method and path template, for example `GET /api/oauth/v1/contacts/{id}`. */
  readonly operation: string
  /**
   * Whether the call waits for a rate limit. False with `maxRetries: 0`. The `AdaptiveRateLimiter` holds such a call back
   * only after eight 429s in a row, for their `Retry-After`.
   */
  readonly canWait: boolean
  /** When the call was made, in milliseconds of `performance.now()`. The call that was made first is sent first. */
  readonly startedAt: number
  /** The rest of its `totalTimeout` when `acquire` is called, in milliseconds. */
  readonly timeLeft: number
  /**
   * Call this before you delay the call. If `pause` is longer than `maxRetryAfter` or the time left, or if `canWait` is
   * false, the call rejects, and `signal` aborts.
   *
   * @param wait expected time until the call is sent, in milliseconds
   * @param pause the part of this time that cannot shrink, such as a `Retry-After`, in milliseconds. Defaults to 0.
   */
  readonly onWait: (wait: number, pause?: number) => void
  /** Whether the call should give way to writes of its key, because it polls. A limiter can ignore it. */
  readonly background: boolean
  /**
   * Calls a function when the call has ended, after all its attempts.
   *
   * @internal
   */
  readonly whenOver?: ((listener: () => void) => void) | undefined
}

/** A request that the service refused with a 429. */
export interface RefusedRequest {
  /** How long the service asks to wait, in milliseconds. Undefined if the service does not say how long. */
  readonly retryAfter: number | undefined
}

/**
 * Called when a request is over. Without arguments, the service has served it, even if with an error such as a 404. With
 * `refused`, the service refused it with a 429. With `unserved`, the request was not sent or failed otherwise, for example
 * with a 503, a network error or an abort.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a result is a limiter too.
export type EndTurn = ((refused?: RefusedRequest, failure?: 'unserved') => void) | undefined | void

/**
 * Decides when the requests of a connection are sent. Each request acquires a permit first, and says at its end whether
 * the service served or refused it. The client makes a refused call wait as long as the service asks, before the call acquires
 * another permit. Many clients can share a limiter. If its state is in a database, many processes can share it.
 */
export interface RateLimiter {
  /**
   * Returns, or resolves, when the request can be sent. The result can be a function. The client calls it when the
   * response was received or the request has failed, and ignores errors that it throws.
   *
   * If `acquire` throws before the first request of a call, the call rejects with the same error. If it throws before a
   * retry, the error is the `cause` of a `RequestError`.
   *
   * @param key the client's `rateLimitKey`
   * @param signal aborts when the caller aborts, or when the call cannot wait
   */
  acquire(key: string, signal: AbortSignal, call: RateLimitedCall): EndTurn | Promise<EndTurn>
}
