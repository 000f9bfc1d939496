import { InvalidArgumentError } from '../../errors/index.ts'
import { type Check, longestTimer, readOptions } from '../../shared/check-options.ts'
import { isPlainObject } from '../../shared/json.ts'
import { accepts, callback, flag, integer, number, oneOf, textThat, valid } from '../checks.ts'

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
  /** Adds a rule and returns a function that removes it. Throws `InvalidArgumentError` for an invalid rule. */
  add(rule: FaultRule): () => void
  /** Removes every rule. */
  clear(): void
  /** Number of rules that still apply to a future request. */
  readonly pending: number
}

const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS']

const milliseconds = number(0, longestTimer, 'of milliseconds ')
const dripChecks = { bytes: integer(1), interval: milliseconds }

const faultChecks = {
  status: integer(200, 599),
  retryAfter: valid<number | Date | string>(
    'a number of seconds of at least 0, a valid Date or the text of a header',
    (value) =>
      (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) ||
      (value instanceof Date && !Number.isNaN(value.getTime())) ||
      (typeof value === 'string' && isHeaders({ text: value })),
  ),
  body: valid<unknown>('a string or a JSON value', isBody),
  headers: valid<Record<string, string>>('an object of header names and their text', isHeaders),
  effect: flag,
  lateEffect: milliseconds,
  latency: milliseconds,
  drop: oneOf('before-effect', 'after-effect', 'mid-headers', 'mid-body', 'refused'),
  onDrop: callback<() => void>(),
  truncate: flag,
  garbage: flag,
  drip: valid<NonNullable<Fault['drip']>>(
    'an object with `bytes`, an integer of at least 1, and `interval`, a number of milliseconds',
    (value) =>
      isPlainObject(value) &&
      Object.keys(value).every((name) => name in dripChecks) &&
      accepts(dripChecks.bytes, value.bytes) &&
      accepts(milliseconds, value.interval),
  ),
  stall: flag,
} satisfies Record<keyof Fault, Check<unknown>>

const ruleChecks = {
  ...faultChecks,
  method: textThat(`one of ${methods.join(', ')}`, (method) => methods.includes(method.toUpperCase())),
  path: valid<string | RegExp>(
    'the end of a path, such as "/messages", or a RegExp',
    (value) => value instanceof RegExp || (typeof value === 'string' && isPathname(value)),
  ),
  times: valid<number>(
    'an integer of at least 1 or Infinity',
    (value) => value === Number.POSITIVE_INFINITY || accepts(integer(1), value),
  ),
  after: integer(0),
  probability: number(0, 1),
  seed: integer(0, 0xffff_ffff),
} satisfies Record<keyof FaultRule, Check<unknown>>

/** Throws `InvalidArgumentError` if the fault is invalid, or has a key that only a {@link FaultRule} can have. */
export function checkFault(fault: Fault): void {
  readOptions(fault, faultChecks, 'a fault', 'fault')
}

/** Throws `InvalidArgumentError` unless the rule is valid. */
export function checkRule(rule: FaultRule): void {
  readOptions(rule, ruleChecks, 'a fault', 'fault')
  const { status, drop, truncate, garbage, drip, stall, latency } = rule
  const kinds = [status !== undefined, drop !== undefined, truncate, garbage, drip !== undefined, stall]
  const count = kinds.filter(Boolean).length
  if (count > 1) {
    throw invalid(
      'A fault can have only one of `status`, `drop`, `truncate`, `garbage`, `drip` and `stall`.',
      'Add one rule for each.',
    )
  }
  if (count === 0 && latency === undefined) {
    throw invalid(
      'A fault must have one of `status`, `drop`, `truncate`, `garbage`, `drip`, `stall` and `latency`.',
      'Add one of them.',
    )
  }
  const { retryAfter, body, headers, effect } = rule
  if (status === undefined && [retryAfter, body, headers, effect].some((value) => value !== undefined)) {
    throw invalid('`retryAfter`, `body`, `headers` and `effect` require `status`.', 'Set `status`, or remove them.')
  }
  if (rule.onDrop !== undefined && drop === undefined) {
    throw invalid('`onDrop` requires `drop`.', 'Set `drop`, or remove it.')
  }
  if (rule.lateEffect !== undefined && (effect || (status === undefined && drop !== 'before-effect'))) {
    throw invalid(
      "`lateEffect` requires `status` without `effect`, or `drop: 'before-effect'`.",
      'Set one of them, or remove it.',
    )
  }
}

function invalid(message: string, hint: string): InvalidArgumentError {
  return new InvalidArgumentError('fault', message, hint)
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
