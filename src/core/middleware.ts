import type { RequestError } from '../errors/index.ts'
import type { Reply } from './call.ts'
import type { Operation } from './operation.ts'

/**
 * A call on its way to the service. Its input was checked, and its schemas have run. It does not contain the token. To
 * change `query`, `body`, `headers` or `signal`, pass a changed copy to `next`. A call whose other properties were
 * changed is rejected.
 */
export interface OutgoingCall {
  /** The operation, for example `{ id: 'contacts.get', method: 'GET', … }`. */
  readonly operation: Operation
  /** The path below the base URL, with the values of its parameters. */
  readonly path: string
  /** The values of the parameters in the path, by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** The query parameters. */
  readonly query: Readonly<Record<string, unknown>>
  /** The body, as JSON represents it. Undefined if there is none. */
  readonly body: unknown
  /**
   * The headers of this call, with names in lower case. The headers of the client and of functions are added later, to
   * each attempt.
   */
  readonly headers: Readonly<Record<string, string>>
  /** The signal of the caller. */
  readonly signal: AbortSignal | undefined
  /** The base URL of the service. */
  readonly baseUrl: string
  /** The page number of a list, starting at 1. Undefined for other calls. */
  readonly page: number | undefined
  /** The `timeout` of the call, in milliseconds. */
  readonly timeout: number
  /** Timeout for the call, from `next` on, in milliseconds. */
  readonly totalTimeout: number
  /** Whether the reply must come from the service. If true, a cache must pass the call on. */
  readonly fresh: boolean
  /** The `context` of the client: in a connection store, by default the key of the connection. */
  readonly context: unknown
}

/**
 * A function around every call of a client. It can change the call, send it with `next`, and see the reply or the
 * error. A list makes a call for each page. The retries of a call are inside `next`.
 *
 * When the call ends, its requests end as well. A read whose `signal` was replaced can finish, for example for a cache
 * that shares its reply with other calls.
 *
 * @example
 * const dry = workspace.withOptions({
 *   middleware(call, next) {
 *     if (call.operation.method !== 'GET') throw new Error(`${call.operation.id} would be sent.`)
 *     return next(call)
 *   },
 * })
 * await dry.me()
 */
export type Middleware = (call: OutgoingCall, next: (call: OutgoingCall) => Promise<Reply>) => Promise<Reply>

/**
 * What a journal does around the writes of the client that it makes. An internal option, so that a journal and a client
 * can come from two copies of this package (ESM and CommonJS).
 */
export interface Guard {
  /** Decides when a write is sent. It checks whether a write was applied before it sends the write again. */
  readonly middleware: Middleware
  /** Sends a request of a write, and does the work immediately before and after it. */
  around(send: () => Promise<Reply>, attempt: GuardedAttempt): Promise<Reply>
}

export interface GuardedAttempt {
  /** The token that the request has. */
  readonly accessToken: string
  /** Aborts when the call ends early. */
  readonly signal: AbortSignal
  /** The rest of the `totalTimeout` when the guard is called, in milliseconds. */
  readonly timeLeft: number
  /**
   * Returns the error for a request that is deferred. For example, a journal reads before it sends a write, and the
   * response to the read was a 429. The call then waits as if the response to the write had been the 429.
   *
   * @param retryAfter in seconds
   */
  readonly deferred: (retryAfter: number | undefined) => RequestError
  /** Returns the result of a step, or rejects as soon as the call ends. */
  readonly untilEnd: <Value>(step: PromiseLike<Value>) => Promise<Value>
  /** Whether the service might have applied the request that failed with this error. */
  readonly mayHaveBeenApplied: (thrown: unknown) => boolean
}
