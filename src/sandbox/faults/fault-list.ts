import type { Fault, FaultRule, Faults } from './fault.ts'

/** The rules in force, and how many requests each still lets pass and befalls. */
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

  /** The fault that befalls this request, if any, used up by it. */
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
  // `search` starts at the beginning each time, whatever flags and last index the expression has.
  return typeof path === 'string' ? path === pathname : pathname.search(path) !== -1
}

function checkRule(rule: FaultRule): void {
  const { status, drop, truncate, garbage, drip, latency, times = 1, after = 0 } = rule
  const kinds = [status !== undefined, drop !== undefined, truncate, garbage, drip !== undefined].filter(Boolean).length
  if (kinds > 1)
    throw new TypeError('A fault is one of `status`, `drop`, `truncate`, `garbage` and `drip`, not several.')
  if (kinds === 0 && latency === undefined) {
    throw new TypeError('A fault needs one of `status`, `drop`, `truncate`, `garbage`, `drip` and `latency`.')
  }
  if (status === undefined && ['retryAfter', 'body', 'headers', 'effect'].some((name) => name in rule)) {
    throw new TypeError('`retryAfter`, `body`, `headers` and `effect` belong to a fault with `status`.')
  }
  if (status !== undefined && !(Number.isInteger(status) && status >= 200 && status <= 599)) {
    throw new TypeError(`The \`status\` of a fault is a whole number from 200 to 599, not ${status}.`)
  }
  if (!(times >= 1) || !(after >= 0)) throw new TypeError('`times` is at least 1 and `after` at least 0.')
  if (latency !== undefined && !(latency >= 0)) throw new TypeError('`latency` is a number of milliseconds.')
  if (drip !== undefined && !(Number.isInteger(drip.bytes) && drip.bytes >= 1 && drip.interval >= 0)) {
    throw new TypeError('`drip` takes `bytes`, at least 1, and `interval` in milliseconds.')
  }
}
