import * as z from 'zod/mini'
import { flag, integer, isPlainObject, milliseconds, mustBe, oneOf, readOptions } from '../schema.ts'

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
  latency: z.optional(milliseconds),
  drop: z.optional(oneOf('before-effect', 'after-effect', 'mid-headers', 'mid-body')),
  truncate: z.optional(flag),
  garbage: z.optional(flag),
  drip: z.optional(
    mustBe(
      'an object with `bytes`, an integer of at least 1, and `interval`, a number of milliseconds',
      z.strictObject({ bytes: integer(1), interval: milliseconds }),
    ),
  ),
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
      'a pathname without a query, such as "/api/oauth/v1/me", or a RegExp',
      z.union([z.instanceof(RegExp), z.string().check(z.refine(isPathname))]),
    ),
  ),
  times: z.optional(mustBe('an integer of at least 1 or Infinity', z.union([integer(1), z.literal(Infinity)]))),
  after: z.optional(integer(0)),
} satisfies Record<keyof FaultRule, z.ZodMiniType>

/** Throws a `TypeError` unless the fault is valid and has no key of a {@link FaultRule}. */
export function checkFault(fault: Fault): void {
  readOptions('fault option', faultShape, fault)
}

/** Throws a `TypeError` unless the rule is valid. */
export function checkRule(rule: FaultRule): void {
  readOptions('fault option', ruleShape, rule)
  const { status, drop, truncate, garbage, drip, latency } = rule
  const kinds = [status !== undefined, drop !== undefined, truncate, garbage, drip !== undefined].filter(Boolean).length
  if (kinds > 1) {
    throw new TypeError(
      'A fault can have only one of `status`, `drop`, `truncate`, `garbage` and `drip`. Add one rule for each.',
    )
  }
  if (kinds === 0 && latency === undefined) {
    throw new TypeError('A fault must have one of `status`, `drop`, `truncate`, `garbage`, `drip` and `latency`.')
  }
  const { retryAfter, body, headers, effect } = rule
  if (status === undefined && [retryAfter, body, headers, effect].some((value) => value !== undefined)) {
    throw new TypeError('`retryAfter`, `body`, `headers` and `effect` require `status`. Set `status`, or remove them.')
  }
}

// Any other text never equals the pathname of a request.
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
