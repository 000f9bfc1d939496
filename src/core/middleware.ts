import type { WebAbortSignal } from '../shared/web-types.ts'
import type { Reply } from './layers.ts'
import type { Operation } from './operation.ts'

/**
 * A call on its way to the service. Its input was checked, and its schemas have run. To change `query`, `body`,
 * `headers` or `signal`, pass a changed copy to `next`. The other properties must stay the same. The call does not
 * contain the token.
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
   * The headers of this call, with names in lower case. Each attempt adds the client's headers and the results of
   * header functions.
   */
  readonly headers: Readonly<Record<string, string>>
  /** The signal of the caller. */
  readonly signal: WebAbortSignal | undefined
  /** The base URL of the service. */
  readonly baseUrl: string
  /** The page number of a list, starting at 1. Undefined for other calls. */
  readonly page: number | undefined
  /** Timeout for a single attempt, in milliseconds. */
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
