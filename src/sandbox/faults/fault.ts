/**
 * A fault to inject into a response. Set at most one of `status`, `drop`, `truncate`, `garbage` and `drip`; `latency`
 * can be combined with any of them or used alone. A write still takes effect, except with `status` (unless `effect` is
 * set) and `drop: 'before-effect'`.
 */
export interface Fault {
  /** Status of the response, 200 to 599, sent instead of handling the request. */
  status?: number
  /** Value of the `Retry-After` header: seconds, a date, or text that is sent unchanged. Requires `status`. */
  retryAfter?: number | Date | string
  /**
   * Body of the response: text is sent unchanged, anything else as JSON. Requires `status`.
   * @default an error body that matches the status
   */
  body?: unknown
  /** Headers of the response. Requires `status`. */
  headers?: Record<string, string>
  /**
   * Whether the request takes effect before the response with `status` is sent. Requires `status`.
   * @default false
   */
  effect?: boolean
  /** Delay between handling the request and sending the response, in milliseconds. */
  latency?: number
  /**
   * Closes the connection before the request is handled, after it was handled but before the response, after half of
   * the response headers, or after half of the response body. A response without a body is dropped before its headers.
   */
  drop?: 'before-effect' | 'after-effect' | 'mid-headers' | 'mid-body'
  /** Sends only the first half of the body, as a response that looks complete. */
  truncate?: boolean
  /** Sends an HTML page with status 200, as a captive portal might. */
  garbage?: boolean
  /** Sends the body in chunks of `bytes` bytes, `interval` milliseconds apart. */
  drip?: { bytes: number; interval: number }
}

/** A {@link Fault} and the requests that it applies to. CORS preflights are skipped unless `method` is `'OPTIONS'`. */
export interface FaultRule extends Fault {
  /** Applies only to requests with this method, in any case. By default to all. */
  method?: string
  /** Applies only to this exact pathname, or to pathnames that match the expression. By default to all. */
  path?: string | RegExp
  /**
   * Number of requests that the fault applies to; `Infinity` for all.
   * @default 1
   */
  times?: number
  /**
   * Number of matching requests to let through first.
   * @default 0
   */
  after?: number
}

/** The faults of a sandbox. If several rules match a request, the one that was added first applies. */
export interface Faults {
  /** Adds a rule and returns a function that removes it. Throws a `TypeError` for an invalid rule. */
  add(rule: FaultRule): () => void
  /** Removes every rule. */
  clear(): void
  /** Number of rules that still apply to a future request. */
  readonly pending: number
}
