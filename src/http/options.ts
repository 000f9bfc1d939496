import type { Actor } from '../actor.ts'
import type { QueryValue } from '../operation.ts'
import type { WebAbortSignal, WebFetch } from '../web-types.ts'
import type { AccessTokenOption } from './authorization.ts'
import type { Hooks } from './hooks.ts'
import type { RateLimiter } from './rate-limiter.ts'
import type { Drift, ValidationMode } from './validation.ts'

/** Request headers by name. `undefined` values are omitted. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** The options of a single call. Read when the call is made. */
export interface CallOptions {
  /** Aborts the call, including waits. The call then rejects with the signal's reason. */
  readonly signal?: WebAbortSignal | undefined
  /**
   * Timeout for a single attempt, including reading the body, in milliseconds.
   *
   * @default the client's `timeout`
   */
  readonly timeout?: number | undefined
  /**
   * Timeout for the whole call, including retries and waits, in milliseconds.
   *
   * @default the client's `totalTimeout`
   */
  readonly totalTimeout?: number | undefined
  /**
   * Maximum number of retries, where a retry is safe. With 0, the call also rejects with a `RateLimitError` instead of
   * waiting for a `Retry-After`.
   *
   * @default the client's `maxRetries`
   */
  readonly maxRetries?: number | undefined
  /** Additional request headers. `authorization` is set by the client; passing it throws. */
  readonly headers?: RequestHeaders | undefined
  /** Undocumented query parameters to add to the request. */
  readonly extraQuery?: Readonly<Record<string, QueryValue>> | undefined
  /** Undocumented fields to add to the JSON body. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined
}

/** Your application, for the `User-Agent` header. */
export interface AppInfo {
  /** For example `my-sync`. */
  readonly name: string
  /** For example `1.4.2`. */
  readonly version?: string | undefined
  /** Home page of the application. */
  readonly url?: string | undefined
}

/** The options of a client. */
export interface ClientOptions<A extends Actor = Actor> {
  /**
   * Base URL of the service, for example `https://api.supportwire.app`. Can have a path prefix. The token is only sent
   * to its origin. Plain http is only allowed on loopback.
   */
  readonly baseUrl: string
  /** The access token, a function that returns it (called before each attempt), or an `AccessTokenSource`. */
  readonly accessToken: AccessTokenOption
  /**
   * The actor mode of the token ([specification](docs/service.md#actors)). With `app`, calls that author content don't
   * compile, and reject with `ActorSelfRequiredError` without sending a request.
   *
   * @default unknown: every call is sent
   */
  readonly actor?: A | undefined
  /** The scopes of the token, if known. `InsufficientScopeError` uses them to tell which are missing. */
  readonly scopes?: readonly string[] | undefined
  /**
   * Sends the requests. Called as `fetch(url, init)`. Use it for a proxy or a test double. If a write fails in a custom
   * function, its outcome is `unknown`, because the request may have been sent.
   *
   * @default the platform's `fetch`
   */
  readonly fetch?: WebFetch | undefined
  /**
   * Timeout for a single attempt, including reading the body, in milliseconds. `Infinity` for none.
   *
   * @default 30_000
   */
  readonly timeout?: number | undefined
  /**
   * Timeout for a whole call, including retries and waits, in milliseconds. `Infinity` for none.
   *
   * @default 120_000
   */
  readonly totalTimeout?: number | undefined
  /**
   * Maximum number of retries of a failed request. GET and DELETE are retried after 408, 429, 5xx and network errors;
   * writes only after 429, or if the connection could not be opened.
   *
   * @default 2
   */
  readonly maxRetries?: number | undefined
  /**
   * Longest `Retry-After` to wait for, in milliseconds. If it is longer, the call rejects immediately.
   *
   * @default 60_000
   */
  readonly maxRetryAfter?: number | undefined
  /**
   * Maximum size of a response body, in bytes after decompression.
   *
   * @default 33_554_432 (32 MiB)
   */
  readonly maxResponseBytes?: number | undefined
  /**
   * What to do with a response that does not match its schema.
   *
   * @default 'observe'
   */
  readonly validation?: ValidationMode | undefined
  /** Called for each mismatch between a response and its schema, in `observe` mode. Receives types, never values. */
  readonly onDrift?: ((drift: Drift) => void) | undefined
  /** Additional headers for every request. `authorization` is set by the client; passing it throws. */
  readonly headers?: RequestHeaders | undefined
  /** Functions called as calls start, wait, retry and end, for logs, metrics and traces. */
  readonly hooks?: Hooks | undefined
  /**
   * Decides when requests are sent. Share one between the clients of a connection, so that a 429 of one holds the others
   * back.
   *
   * @default an `AdaptiveRateLimiter` of the client's own
   */
  readonly rateLimiter?: RateLimiter | undefined
  /**
   * Identifies the connection for the `rateLimiter`: only requests with the same key are limited together. Not a secret. A
   * connection store passes the key of the connection.
   *
   * @default the SHA-256 digest of `accessToken` if it is a string, otherwise a key that no other client has
   */
  readonly rateLimitKey?: string | undefined
  /** Your application, for the `User-Agent` header on server runtimes. Browsers send their own. */
  readonly appInfo?: AppInfo | undefined
  /**
   * Allows plain http beyond loopback, where anyone on the network can read the token.
   *
   * @default false
   */
  readonly allowInsecureHttp?: boolean | undefined
}
