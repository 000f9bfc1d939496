import { checkRule, type Fault, type FaultRule, type Faults } from './fault.ts'

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
