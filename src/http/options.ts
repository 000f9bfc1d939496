import type { Actor } from '../actor.ts'
import type { QueryValue } from '../operation.ts'
import type { WebAbortSignal, WebFetch } from '../web-types.ts'
import type { AccessTokenOption } from './authorization.ts'
import type { Hooks } from './hooks.ts'
import type { Drift, ValidationMode } from './validation.ts'

/** Request headers by name. One that is `undefined` is left out. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** The options of a single call. They are read when the call is made. */
export interface CallOptions {
  /** Aborts the call, whatever it is doing. It then rejects with the signal's own reason. */
  readonly signal?: WebAbortSignal | undefined
  /** Timeout for a single attempt, including reading the body, in milliseconds. Defaults to the client's. */
  readonly timeout?: number | undefined
  /** Timeout for the whole call, including retries and waits, in milliseconds. Defaults to the client's. */
  readonly totalTimeout?: number | undefined
  /**
   * Maximum number of retries, where a retry is safe. Defaults to the client's. With 0 the call does not wait for the
   * rate limit either: it rejects with a `RateLimitError` instead.
   */
  readonly maxRetries?: number | undefined
  /** Additional request headers. `authorization` is set by the client; passing it throws. */
  readonly headers?: RequestHeaders | undefined
  /** Query parameters that the SDK does not document, added to the request. */
  readonly extraQuery?: Readonly<Record<string, QueryValue>> | undefined
  /** Body fields that the SDK does not document, added to the JSON body. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined
}

/** The name of an application, for the `User-Agent` header. */
export interface AppInfo {
  /** For example `my-sync`. */
  readonly name: string
  /** For example `1.4.2`. */
  readonly version?: string | undefined
  /** Where to read about the application. */
  readonly url?: string | undefined
}

/** The options of a client. */
export interface ClientOptions<A extends Actor = Actor> {
  /**
   * The base URL of the service, for example `https://api.supportwire.app`. A path prefix is kept.
   * The token is bound to its origin. Plain http is refused except on loopback.
   */
  readonly baseUrl: string
  /** The access token, a function that returns it (called before each attempt), or an `AccessTokenSource`. */
  readonly accessToken: AccessTokenOption
  /**
   * The actor mode of the token (specification, section 5). With `app`, calls that author content do not compile and
   * reject with `ActorSelfRequiredError` before anything is sent. Defaults to unknown: every call is sent.
   */
  readonly actor?: A | undefined
  /** The scopes of the token, if known. They make `InsufficientScopeError` more helpful. */
  readonly scopes?: readonly string[] | undefined
  /**
   * Sends the requests; called as `fetch(url, init)`. Defaults to the platform's `fetch`. Use it for a proxy or a test
   * double. A write that fails inside your own function counts as possibly sent, whatever the error says.
   */
  readonly fetch?: WebFetch | undefined
  /** Timeout for a single attempt, including reading the body, in milliseconds. `Infinity` for none. Defaults to 30,000. */
  readonly timeout?: number | undefined
  /** Timeout for a whole call, including retries and waits, in milliseconds. `Infinity` for none. Defaults to 120,000. */
  readonly totalTimeout?: number | undefined
  /**
   * Maximum number of retries of a failed request. GET and DELETE are retried after 408, 429, 5xx and network errors;
   * writes only after 429, or when the connection could not be opened. Defaults to 2.
   */
  readonly maxRetries?: number | undefined
  /** The longest `Retry-After` that is waited for, in milliseconds. Past it the call rejects at once. Defaults to 60,000. */
  readonly maxRetryAfter?: number | undefined
  /** Maximum size of a response body, in bytes after decompression. Defaults to 33,554,432 (32 MiB). */
  readonly maxResponseBytes?: number | undefined
  /** What to do with a response that does not match its schema. Defaults to `observe`. */
  readonly validation?: ValidationMode | undefined
  /** Called for each mismatch between a response and its schema, in `observe` mode. Receives kinds, never values. */
  readonly onDrift?: ((drift: Drift) => void) | undefined
  /** Headers for every request. `authorization` is set by the client; passing it throws. */
  readonly headers?: RequestHeaders | undefined
  /** Functions called as calls start, wait, retry and end, for logs, metrics and traces. */
  readonly hooks?: Hooks | undefined
  /** Your application, named in the `User-Agent` header on server runtimes. Browsers send their own. */
  readonly appInfo?: AppInfo | undefined
  /** Allows plain http beyond loopback, where anyone on the network can read the token. Defaults to false. */
  readonly allowInsecureHttp?: boolean | undefined
}
