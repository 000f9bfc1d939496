import type { WebAbortSignal } from '../web-types.ts'

/** What a rate limiter learns about a call that it may hold back. */
export interface RateLimitedCall {
  /** HTTP method and path template, for example `GET /api/oauth/v1/contacts/{id}`. */
  readonly operation: string
  /** Whether the call waits for a rate limit. False with `maxRetries: 0`. */
  readonly canWait: boolean
  /** When the call was made, in milliseconds of `performance.now()`. The call that was made first is sent first. */
  readonly startedAt: number
  /** The rest of its `totalTimeout`, in milliseconds. */
  readonly timeLeft: number
  /**
   * Must be called before the call is held back. Throws an error if the call cannot wait that long; let it through.
   *
   * @param wait expected time until the call is sent, in milliseconds
   * @param pause the part of it that the service asked for with `Retry-After`, in milliseconds. Defaults to 0.
   */
  readonly onWait: (wait: number, pause?: number) => void
}

/** Called when a request is over. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a result is a limiter too.
export type EndTurn = (() => void) | undefined | void

/**
 * Decides when the requests of a connection are sent. Each request acquires a turn first; a 429 is reported with
 * `penalize`. One limiter can be shared by many clients and, if it keeps its state in a database, by many processes.
 */
export interface RateLimiter {
  /**
   * Returns, or resolves, when the request can be sent. The result can be a function, which is called once the response
   * was received or the request has failed.
   *
   * If it throws before the first request of a call, the call rejects with the same error; later, the error is the `cause`
   * of a `RequestError`.
   *
   * @param key the client's `rateLimitKey`
   * @param signal aborts when the call is aborted or its time is over
   */
  acquire(key: string, signal: WebAbortSignal, call: RateLimitedCall): EndTurn | Promise<EndTurn>
  /**
   * Called immediately after each 429, also if `duration` is longer than the client's `maxRetryAfter`. Errors that it throws
   * are ignored.
   *
   * @param duration how long the operation should not be requested, in milliseconds
   * @param operation method and path template of the refused request. Without it, all requests of the key are held back.
   */
  penalize(key: string, duration: number, operation?: string): void | Promise<void>
}
