import { rejectUnknownKeys } from '../unknown-keys.ts'
import type { Fault, FaultRule, Faults } from './fault.ts'

/** The active rules, each with the number of requests that it still skips and applies to. */
export class FaultList implements Faults {
  #rules: ActiveRule[] = []

  get pending(): number {
    return this.#rules.length
  }

  add(rule: FaultRule): () => void {
    checkRule(rule)
    const active: ActiveRule = { rule, skips: rule.after ?? 0, times: rule.times ?? 1 }
    this.#rules.push(active)
    return () => this.#remove(active)
  }

  clear(): void {
    this.#rules = []
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

interface ActiveRule {
  rule: FaultRule
  skips: number
  times: number
}

function matches({ method, path }: FaultRule, actualMethod: string, pathname: string): boolean {
  if (method === undefined ? actualMethod === 'OPTIONS' : method.toUpperCase() !== actualMethod) return false
  if (path === undefined) return true
  // Unlike `test`, `search` ignores the `lastIndex` of an expression with the flag `g` or `y`.
  return typeof path === 'string' ? path === pathname : pathname.search(path) !== -1
}

function checkRule(rule: FaultRule): void {
  rejectUnknownKeys('fault key', rule, Object.keys(ruleKeys))
  const { status, drop, truncate, garbage, drip, latency, times = 1, after = 0 } = rule
  const kinds = [status !== undefined, drop !== undefined, truncate, garbage, drip !== undefined].filter(Boolean).length
  if (kinds > 1) {
    throw new TypeError(
      'A fault can have only one of `status`, `drop`, `truncate`, `garbage` and `drip`. Add one rule for each.',
    )
  }
  if (kinds === 0 && latency === undefined) {
    throw new TypeError('A fault must have one of `status`, `drop`, `truncate`, `garbage`, `drip` and `latency`.')
  }
  if (status === undefined && ['retryAfter', 'body', 'headers', 'effect'].some((name) => name in rule)) {
    throw new TypeError('`retryAfter`, `body`, `headers` and `effect` require `status`. Set `status`, or remove them.')
  }
  if (status !== undefined && !(Number.isInteger(status) && status >= 200 && status <= 599)) {
    throw new TypeError(`The \`status\` of a fault must be an integer from 200 to 599, not ${status}.`)
  }
  if (!(times >= 1)) throw new TypeError(`The \`times\` of a fault must be at least 1, not ${times}.`)
  if (!(after >= 0)) throw new TypeError(`The \`after\` of a fault must be at least 0, not ${after}.`)
  if (latency !== undefined && !(latency >= 0)) {
    throw new TypeError(`The \`latency\` of a fault must be a number of milliseconds, not ${latency}.`)
  }
  if (drip !== undefined && !(Number.isInteger(drip.bytes) && drip.bytes >= 1 && drip.interval >= 0)) {
    throw new TypeError(
      'The `drip` of a fault must have `bytes`, an integer of at least 1, and `interval`, a number of milliseconds.',
    )
  }
}

// A record, so that the compiler reports a key that is missing here.
const ruleKeys: Record<keyof FaultRule, true> = {
  status: true,
  retryAfter: true,
  body: true,
  headers: true,
  effect: true,
  latency: true,
  drop: true,
  truncate: true,
  garbage: true,
  drip: true,
  method: true,
  path: true,
  times: true,
  after: true,
}
