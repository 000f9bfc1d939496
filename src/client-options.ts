import type { Actor } from './actor.ts'
import type { AccessTokenOption } from './http/authorization.ts'
import type { Hooks } from './http/hooks.ts'
import type { Drift, ValidationMode } from './http/validation.ts'
import type { QueryValue } from './operation.ts'
import type { WebAbortSignal, WebFetch } from './web-types.ts'

/** What can be set for one call. */
export interface CallOptions {
  /** Ends the call at once, wherever it is; it then rejects with the signal's own reason. */
  readonly signal?: WebAbortSignal | undefined
  /** Limit of one attempt, body included, in ms. Default: the client's. */
  readonly timeout?: number | undefined
  /** Limit of the call with its retries and waits, in ms. Default: the client's. */
  readonly totalTimeout?: number | undefined
  /** How often a failed request is sent again, where that is safe. Default: the client's. */
  readonly maxRetries?: number | undefined
  /** Further request headers. `authorization` is the client's own and refused here. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Query parameters that the SDK does not document, added to the request. */
  readonly extraQuery?: Readonly<Record<string, QueryValue>> | undefined
  /** Body fields that the SDK does not document, added to the JSON body. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined
}

/** The options of a client. */
export interface ClientOptions<A extends Actor = Actor> {
  /**
   * The address of the service, for example `https://api.supportwire.app`; a path prefix is kept.
   * The token is bound to its origin. Plain http is refused off loopback.
   */
  readonly baseUrl: string
  /** The access token, a function that gives it before each attempt, or an `AccessTokenSource`. */
  readonly accessToken: AccessTokenOption
  /**
   * The actor mode of the token (specification, section 5). With `app`, calls that author content do not compile and
   * throw `ActorSelfRequiredError` before anything is sent. Default: not known, every call goes out.
   */
  readonly actor?: A | undefined
  /** The scopes of the token, if you know them: they make `InsufficientScopeError` more helpful. */
  readonly scopes?: readonly string[] | undefined
  /** Sends the requests. Default: the platform's `fetch`. The place for a proxy or a test double. */
  readonly fetch?: WebFetch | undefined
  /** Limit of one attempt, body included, in ms. `Infinity` for none. Default: 30,000. */
  readonly timeout?: number | undefined
  /** Limit of a call with its retries and waits, in ms. `Infinity` for none. Default: 120,000. */
  readonly totalTimeout?: number | undefined
  /**
   * How often a failed request is sent again. GET and DELETE: after 408, 429, 5xx and network faults. Writes: only after
   * 429, or when the connection never opened. Default: 2.
   */
  readonly maxRetries?: number | undefined
  /** The longest `Retry-After` that is obeyed, in ms; past it the call fails at once. Default: 60,000. */
  readonly maxRetryAfter?: number | undefined
  /** The longest body that is read, in bytes after decompression. Default: 33,554,432 (32 MiB). */
  readonly maxResponseBytes?: number | undefined
  /** What is done with an answer that differs from its schema. Default: `observe`. */
  readonly validation?: ValidationMode | undefined
  /** Hears of each difference between an answer and its schema, in `observe` mode. Gets kinds, never values. */
  readonly onDrift?: ((drift: Drift) => void) | undefined
  /** Request headers of every call. `authorization` is the client's own and refused here. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Functions that watch the calls, for logs, metrics and traces. */
  readonly hooks?: Hooks | undefined
  /** Allows plain http off loopback, which shows the token to the network. Default: false. */
  readonly allowInsecureHttp?: boolean | undefined
}
