import {
  boolean,
  type Checks,
  checkOptions,
  integer,
  isPlainObject,
  milliseconds,
  mustBe,
  oneOf,
} from '../check-values.ts'
import type { Fault, FaultRule, Faults } from './fault.ts'

/** The active rules, each with the number of requests that it still skips and applies to. */
export class FaultList implements Faults {
  #rules: ActiveRule[] = []
  #lastId = 0

  get pending(): number {
    return this.#rules.length
  }

  add(rule: FaultRule): () => void {
    checkRule(rule)
    this.#lastId += 1
    const active: ActiveRule = { id: this.#lastId, rule, skips: rule.after ?? 0, times: rule.times ?? 1 }
    this.#rules.push(active)
    return () => this.#remove(active)
  }

  clear(): void {
    this.#rules = []
  }

  /** Returns the active rules, in the order in which they apply. */
  list(): readonly Readonly<ActiveRule>[] {
    return this.#rules
  }

  /** Removes the rule with this id and returns whether it was active. */
  removeById(id: number): boolean {
    const active = this.#rules.find((each) => each.id === id)
    if (active !== undefined) this.#remove(active)
    return active !== undefined
  }

  /** Returns the fault that applies to a request and counts the request. */
  take(method: string, pathname: string): Fault | undefined {
    for (const active of this.#rules) {
      if (!matches(active.rule, method, pathname)) continue
      if (active.skips > 0) {
        active.skips -= 1
        continue
      }
      active.times -= 1
      if (active.times <= 0) this.#remove(active)
      return active.rule
    }
    return undefined
  }

  #remove(active: ActiveRule): void {
    this.#rules = this.#rules.filter((other) => other !== active)
  }
}

export interface ActiveRule {
  id: number
  rule: FaultRule
  /** Number of matching requests that it still lets through. */
  skips: number
  /** Number of requests that it still applies to. */
  times: number
}

function matches({ method, path }: FaultRule, actualMethod: string, pathname: string): boolean {
  if (method === undefined ? actualMethod === 'OPTIONS' : method.toUpperCase() !== actualMethod) return false
  if (path === undefined) return true
  // Unlike `test`, `search` ignores the `lastIndex` of an expression with the flag `g` or `y`.
  return typeof path === 'string' ? path === pathname : pathname.search(path) !== -1
}

/** Throws a `TypeError` unless the fault is valid and has no key of a {@link FaultRule}. */
export function checkFault(fault: Fault): void {
  checkOptions<Fault>('fault option', fault, faultChecks)
}

/** Throws a `TypeError` unless the rule is valid. */
export function checkRule(rule: FaultRule): void {
  checkOptions<FaultRule>('fault option', rule, ruleChecks)
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

const dripChecks: Checks<NonNullable<Fault['drip']>> = { bytes: integer(1), interval: milliseconds }

const faultChecks: Checks<Fault> = {
  status: integer(200, 599),
  retryAfter: mustBe('a number of seconds of at least 0, a valid Date or the text of a header', isRetryAfter),
  body: mustBe('a string or a JSON value', isBody),
  headers: mustBe('an object of header names and their text', isHeaders),
  effect: boolean,
  latency: milliseconds,
  drop: oneOf('before-effect', 'after-effect', 'mid-headers', 'mid-body'),
  truncate: boolean,
  garbage: boolean,
  drip: mustBe(
    'an object with `bytes`, an integer of at least 1, and `interval`, a number of milliseconds',
    (value) =>
      isPlainObject(value) &&
      Object.keys(value).every((name) => Object.hasOwn(dripChecks, name)) &&
      dripChecks.bytes(value.bytes) === undefined &&
      dripChecks.interval(value.interval) === undefined,
  ),
}

const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS']

const ruleChecks: Checks<FaultRule> = {
  ...faultChecks,
  method: mustBe(`one of ${methods.join(', ')}`, isMethod),
  path: mustBe('a pathname without a query, such as "/api/oauth/v1/me", or a RegExp', isPath),
  times: mustBe(
    'an integer of at least 1 or Infinity',
    (value) => value === Infinity || integer(1)(value) === undefined,
  ),
  after: integer(0),
}

function isMethod(value: unknown): boolean {
  return typeof value === 'string' && methods.includes(value.toUpperCase())
}

// Any other text never equals the pathname of a request.
function isPath(value: unknown): boolean {
  if (typeof value !== 'string') return value instanceof RegExp
  const url = `http://localhost${value}`
  return URL.canParse(url) && new URL(url).pathname === value
}

function isRetryAfter(value: unknown): boolean {
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  if (typeof value === 'number') return value >= 0 && value < Infinity
  return typeof value === 'string' && isHeaders({ 'retry-after': value })
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
