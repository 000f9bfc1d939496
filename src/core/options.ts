import type { RateLimiter } from '../rate-limiter/index.ts'
import type { Actor } from '../shared/actor.ts'
import type { WebFetch } from '../shared/web-types.ts'
import type { Hooks } from './hooks.ts'
import type { Guard, Middleware } from './middleware.ts'
import type { QueryValue } from './operation.ts'

/** Provides the access token of a client, and is notified when the service rejects it. */
export interface AccessTokenSource {
  /** Returns the token. Called before each attempt. Each time, it can take as long as the `timeout`. */
  getAccessToken(): string | Promise<string>
  /**
   * Called after a 401 `invalid_token` with the rejected token, and awaited before the call rejects. If it throws or
   * takes longer than `timeout`, the error becomes the `cause` of the call's error.
   */
  onInvalidToken?(accessToken: string): void | Promise<void>
}

/** An access token, a function that returns one (called before each attempt), or an `AccessTokenSource`. */
export type AccessTokenOption = string | (() => string | Promise<string>) | AccessTokenSource

/** Request headers by name. `undefined` values are omitted. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

/**
 * Request headers, or a function that returns them. The function is called before each attempt. Each time, it can take
 * as long as the `timeout`. If the function throws, the attempt is not sent.
 */
export type HeadersOption = RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>)

/**
 * The options of a single call. Read when the call is made. By default, the client's timeouts and `maxRetries` apply.
 * `headers` are added to the client's headers.
 */
export interface CallOptions extends Pick<ClientOptions, 'timeout' | 'totalTimeout' | 'maxRetries' | 'headers'> {
  /** Aborts the call, including waits. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Undocumented query parameters to add to the request. They take precedence over a parameter of the same name. */
  readonly extraQuery?: Readonly<Record<string, QueryValue>> | undefined
  /** Undocumented fields to add to the JSON body. They take precedence over a field of the same name. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined
}

/** Your application, for the `User-Agent` header. */
export interface AppInfo {
  /** Name of the application, for example `my-sync`. */
  readonly name: string
  /** Version of the application, for example `1.4.2`. */
  readonly version?: string | undefined
  /** Home page of the application, for example `https://example.com`. */
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
   * The actor mode of the token ([specification](docs/service.md#actors)). With `app`, calls that author content cause
   * a compiler error. At run time, they reject with `ActorSelfRequiredError` before a request is sent.
   *
   * @default unknown: every call is sent
   */
  readonly actor?: A | undefined
  /** The scopes of the token, if known. `InsufficientScopeError` uses them to tell which scopes are missing. */
  readonly scopes?: readonly string[] | undefined
  /**
   * Sends the requests. Called as `fetch(url, init)`. Use it for a proxy or a test. If a write fails in a custom
   * function, its outcome is `unknown`, unless the error has the property `outcome: 'not-sent'`.
   *
   * @default the platform's `fetch`
   */
  readonly fetch?: WebFetch | undefined
  /**
   * Timeout for the request of an attempt, including reading the body, in milliseconds. The token provider and each
   * headers function, which are called before the request, have the same time in addition. Waits are only limited by
   * `totalTimeout`. `Infinity` for no timeout. Node's `fetch` has a separate limit of 300,000 ms. For a longer timeout,
   * pass a `fetch` with an agent of undici whose `headersTimeout` and `bodyTimeout` are 0.
   *
   * @default 30_000
   */
  readonly timeout?: number | undefined
  /**
   * Timeout for a whole call, in milliseconds: every attempt, the functions called before it, and every wait. In a list,
   * each page is a call. The time of middleware outside of `next` does not count. `Infinity` for no timeout.
   *
   * @default 120_000
   */
  readonly totalTimeout?: number | undefined
  /**
   * Maximum number of retries of a failed request. GET and DELETE are retried after 408, 429, 5xx and network errors;
   * writes only after 429, or if the connection could not be opened. If the service refuses a call with a 429 but
   * serves other calls of the operation, the 429 does not count as a retry. The call then waits as long as its
   * `totalTimeout` allows. With 0, a call rejects with a `RateLimitError` instead of waiting.
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
   * Whether to report, reject or ignore a response that does not match its schema.
   *
   * @default 'observe'
   */
  readonly validation?: ValidationMode | undefined
  /** Called for each mismatch between a response and its schema, in `observe` mode. Receives types, never values. */
  readonly onDrift?: ((drift: Drift) => void) | undefined
  /**
   * Additional headers for every request, or a function that returns them, for example for tracing. `authorization` is
   * set by the client; passing it throws.
   */
  readonly headers?: HeadersOption | undefined
  /** Functions called as calls start, wait, retry and end, for logs, metrics and traces. */
  readonly hooks?: Hooks | undefined
  /**
   * Your own value, for example the id of a job. Every event of a hook has it as `context`. The SDK does not log it. A
   * connection store passes the key of the connection.
   *
   * @default undefined
   */
  readonly context?: unknown
  /**
   * Where to log, for example `console`, or a logger of pino or winston. Messages contain no token, id, query or body.
   *
   * @default nothing is logged, or `console` if the environment variable `SUPPORT_WORKSPACE_LOG` names a level
   */
  readonly logger?: Logger | undefined
  /**
   * The lowest level to log. Needs a `logger`, or the environment variable `SUPPORT_WORKSPACE_LOG`. Each level includes
   * the levels below it in this list:
   *
   * - `debug`: each request
   * - `info`: retries and waits
   * - `warn`: rejected tokens, and with `onDrift` also responses that differ from their schema
   * - `error`: unconfirmed writes
   * - `off`: logging is turned off
   *
   * @default the environment variable `SUPPORT_WORKSPACE_LOG` in Node and Bun, otherwise 'warn'
   */
  readonly logLevel?: LogLevel | undefined
  /**
   * Functions around every call, for example for a cache or a dry run. The first one is the outermost. `withOptions`
   * adds its middleware inside the middleware of the client.
   *
   * @default none
   */
  readonly middleware?: Middleware | readonly Middleware[] | undefined
  /** @internal What a journal does around the writes of the client that it makes. */
  readonly guard?: Guard | undefined
  /**
   * Whether replies must come from the service. Middleware sees this option as `call.fresh`, and a cache passes such a
   * call on. A `WriteJournal` sets it when it confirms a write.
   *
   * @default false
   */
  readonly fresh?: boolean | undefined
  /**
   * Whether calls are marked as `background` for the rate limiter, so that they give way to writes.
   *
   * @internal
   */
  readonly background?: boolean | undefined
  /**
   * Decides when requests are sent. Share a limiter between the clients of a connection, so that they find their rate
   * together.
   *
   * @default an `AdaptiveRateLimiter` for this client
   */
  readonly rateLimiter?: RateLimiter | undefined
  /**
   * Identifies the connection for the `rateLimiter`. Requests with the same key are limited together. The key is not a
   * secret. A connection store passes the key of the connection.
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

/** A logger, such as `console`, or one of pino or winston. */
export interface Logger {
  /** Logs each request. */
  debug(message: string): unknown
  /** Logs retries, and waits for a rate limit. */
  info(message: string): unknown
  /** Logs a rejected token, and responses that do not match their schema. */
  warn(message: string): unknown
  /** Logs an unconfirmed write. */
  error(message: string): unknown
}

/** The lowest level of messages to log. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'off'

/**
 * How to handle a response that does not match its schema:
 *
 * - With `observe`, the call returns the data as sent, and `onDrift` is called for each mismatch.
 * - With `strict`, the call rejects with `UnexpectedResponseError`.
 * - With `off`, only the envelope (`data`, `page_metadata`) is checked.
 *
 * The mode applies to built-in operations. Operations that you define always return the output of their `response`
 * schema, or reject.
 */
export type ValidationMode = 'observe' | 'strict' | 'off'

/** A mismatch between a response and its schema. Contains types, never values. */
export interface Drift {
  /** The id of the operation. */
  readonly operation: string
  /** The path of the field within an item, with `*` for an index. Empty for the item itself. */
  readonly path: readonly string[]
  /** The expected type, for example `string`, or `unknown` if the schema does not report it. */
  readonly expected: string
  /**
   * The received type: `string`, `number`, `boolean`, `object`, `array`, `null` or `missing`. If several items have
   * different types, the type in the first item.
   */
  readonly received: string
  /**
   * How often the field has this mismatch in the response, for example once for each item of a list, up to 1,000 items.
   */
  readonly count: number
}
