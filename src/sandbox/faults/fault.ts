/**
 * Something to go wrong. At most one of `status`, `drop`, `truncate`, `garbage` and `drip`; `latency` goes with any of
 * them or alone. Except for `status` and `drop: 'before-effect'`, a write takes effect although its answer is spoiled.
 */
export interface Fault {
  /** Answer with this HTTP status, 200 to 599, instead of handling the request. */
  status?: number
  /** With `status`: the `Retry-After` header, as seconds, a date, or text that is sent as it stands. */
  retryAfter?: number | Date | string
  /** With `status`: the body; text is sent as it stands and anything else as JSON. Default: an error body that fits. */
  body?: unknown
  /** With `status`: headers of the answer. */
  headers?: Record<string, string>
  /** With `status`: whether the request is handled before it is answered so. Default: `false`. */
  effect?: boolean
  /** Wait this many milliseconds after the request was handled and before the answer begins. */
  latency?: number
  /**
   * Close the connection: before the request is handled, after it was handled but before an answer, after half of the
   * answer's headers, or after half of its body. An answer that has no body is dropped before its headers.
   */
  drop?: 'before-effect' | 'after-effect' | 'mid-headers' | 'mid-body'
  /** Answer with only the first half of the body, in a response that ends well. */
  truncate?: boolean
  /** Answer with status 200 and an HTML page, as a proxy in between might. */
  garbage?: boolean
  /** Send the body in pieces of `bytes` bytes, `interval` milliseconds apart. */
  drip?: { bytes: number; interval: number }
}

/** A {@link Fault} and which requests it befalls. CORS preflights are spared unless `method` is `'OPTIONS'`. */
export interface FaultRule extends Fault {
  /** Only requests with this method. Default: any. */
  method?: string
  /** Only this pathname exactly, or one that the expression finds something in. Default: any. */
  path?: string | RegExp
  /** How many requests it befalls; `Infinity` for all. Default: 1. */
  times?: number
  /** How many matching requests it lets pass first. Default: 0. */
  after?: number
}

/** What goes wrong on purpose. Of several rules that match a request, the one that was added first is used. */
export interface Faults {
  /** Adds a rule and gives a function that takes it away. Throws a `TypeError` for a rule that makes no sense. */
  add(rule: FaultRule): () => void
  /** Takes every rule away. */
  clear(): void
  /** How many rules have not run out. */
  readonly pending: number
}
