import * as z from 'zod/mini'
import { callback, flag, integer, isPlainObject, milliseconds, mustBe, oneOf, readOptions } from '../schema.ts'

/**
 * A fault to inject into a response. Set at most one of `status`, `drop`, `truncate`, `garbage`, `drip` and `stall`;
 * `latency` can be combined with any of them or used alone. A write still takes effect, except with `status` (unless
 * `effect` is set), `drop: 'before-effect'` and `drop: 'refused'`.
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
  /**
   * Time from the response until the request takes effect, in milliseconds. Imitates a server that still works after
   * its gateway has timed out. Requires `status` without `effect`, or `drop: 'before-effect'`. Closing the sandbox ends
   * the wait.
   */
  lateEffect?: number
  /** Delay between handling the request and sending the response, in milliseconds. */
  latency?: number
  /**
   * Closes the connection before the request is handled, after it was handled but before the response, after half of
   * the response headers, or after half of the response body. A response without a body is dropped before its headers.
   *
   * With `'refused'`, `sandbox.fetch` rejects as if nothing listened on the port (`ECONNREFUSED`). A server cannot
   * refuse a single request on its port, so there it is the same as `'before-effect'`.
   */
  drop?: 'before-effect' | 'after-effect' | 'mid-headers' | 'mid-body' | 'refused'
  /**
   * Called at the moment the connection is closed, before the client notices, for example to kill the process under
   * test. An error that it throws is reported as an uncaught exception. Requires `drop`.
   */
  onDrop?: () => void
  /** Sends only the first half of the body, as a response that looks complete. */
  truncate?: boolean
  /** Sends an HTML page with status 200, as a captive portal might. */
  garbage?: boolean
  /** Sends the body in chunks of `bytes` bytes, `interval` milliseconds apart. */
  drip?: {
    /** Number of bytes in a chunk, at least 1. */
    bytes: number
    /** Time between two chunks, in milliseconds. */
    interval: number
  }
  /** Sends the headers and the first half of the body, and then nothing until the client gives up. */
  stall?: boolean
}

/** A {@link Fault} and the requests that it applies to. CORS preflights are skipped unless `method` is `'OPTIONS'`. */
export interface FaultRule extends Fault {
  /** Applies only to requests with this method, in any case. By default to all. */
  method?: string
  /**
   * Applies only to pathnames that end with this text, such as `/messages`, or that match the expression. By default to
   * all.
   */
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
  /**
   * Probability that the fault applies to a matching request, from 0 to 1. `times` counts only requests that the fault
   * applies to.
   * @default 1
   */
  probability?: number
  /**
   * Seed of the random choice for `probability`, from 0 to 4294967295. The same seed chooses the same requests of a
   * sequence.
   * @default 1
   */
  seed?: number
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

const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS']

const faultShape = {
  status: z.optional(integer(200, 599)),
  retryAfter: z.optional(
    mustBe(
      'a number of seconds of at least 0, a valid Date or the text of a header',
      z.union([z.number().check(z.gte(0)), z.date(), z.string().check(z.refine((text) => isHeaders({ text })))]),
    ),
  ),
  body: z.optional(mustBe('a string or a JSON value', z.custom<unknown>(isBody))),
  headers: z.optional(mustBe('an object of header names and their text', z.custom<Record<string, string>>(isHeaders))),
  effect: z.optional(flag),
  lateEffect: z.optional(milliseconds),
  latency: z.optional(milliseconds),
  drop: z.optional(oneOf('before-effect', 'after-effect', 'mid-headers', 'mid-body', 'refused')),
  onDrop: z.optional(callback<() => void>()),
  truncate: z.optional(flag),
  garbage: z.optional(flag),
  drip: z.optional(
    mustBe(
      'an object with `bytes`, an integer of at least 1, and `interval`, a number of milliseconds',
      z.strictObject({ bytes: integer(1), interval: milliseconds }),
    ),
  ),
  stall: z.optional(flag),
} satisfies Record<keyof Fault, z.ZodMiniType>

const ruleShape = {
  ...faultShape,
  method: z.optional(
    mustBe(
      `one of ${methods.join(', ')}`,
      z.string().check(z.refine((method) => methods.includes(method.toUpperCase()))),
    ),
  ),
  path: z.optional(
    mustBe(
      'the end of a path, such as "/messages", or a RegExp',
      z.union([z.instanceof(RegExp), z.string().check(z.refine(isPathname))]),
    ),
  ),
  times: z.optional(mustBe('an integer of at least 1 or Infinity', z.union([integer(1), z.literal(Infinity)]))),
  after: z.optional(integer(0)),
  probability: z.optional(mustBe('a number from 0 to 1', z.number().check(z.gte(0), z.lte(1)))),
  seed: z.optional(integer(0, 0xffff_ffff)),
} satisfies Record<keyof FaultRule, z.ZodMiniType>

/** Throws a `TypeError` if the fault is invalid, or has a key that only a {@link FaultRule} can have. */
export function checkFault(fault: Fault): void {
  readOptions('fault option', faultShape, fault)
}

/** Throws a `TypeError` unless the rule is valid. */
export function checkRule(rule: FaultRule): void {
  readOptions('fault option', ruleShape, rule)
  const { status, drop, truncate, garbage, drip, stall, latency } = rule
  const kinds = [status !== undefined, drop !== undefined, truncate, garbage, drip !== undefined, stall]
  const count = kinds.filter(Boolean).length
  if (count > 1) {
    throw new TypeError(
      'A fault can have only one of `status`, `drop`, `truncate`, `garbage`, `drip` and `stall`. Add one rule for each.',
    )
  }
  if (count === 0 && latency === undefined) {
    throw new TypeError(
      'A fault must have one of `status`, `drop`, `truncate`, `garbage`, `drip`, `stall` and `latency`.',
    )
  }
  const { retryAfter, body, headers, effect } = rule
  if (status === undefined && [retryAfter, body, headers, effect].some((value) => value !== undefined)) {
    throw new TypeError('`retryAfter`, `body`, `headers` and `effect` require `status`. Set `status`, or remove them.')
  }
  if (rule.onDrop !== undefined && drop === undefined) {
    throw new TypeError('`onDrop` requires `drop`. Set `drop`, or remove it.')
  }
  if (rule.lateEffect !== undefined && (effect || (status === undefined && drop !== 'before-effect'))) {
    throw new TypeError("`lateEffect` requires `status` without `effect`, or `drop: 'before-effect'`.")
  }
}

// No pathname of a request ends with any other text.
function isPathname(path: string): boolean {
  const url = `http://localhost${path}`
  return URL.canParse(url) && new URL(url).pathname === path
}

function isHeaders(value: unknown): boolean {
  if (!isPlainObject(value) || !Object.values(value).every((header) => typeof header === 'string')) return false
  try {
    new Headers(value as Record<string, string>)
    return true
  } catch {
    return false
  }
}

// Sent as JSON, a stream or a `Map` would be `{}`.
function isBody(value: unknown): boolean {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isPlainObject(value)) return false
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}
