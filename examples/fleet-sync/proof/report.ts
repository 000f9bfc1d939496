import type { Differences } from './compare.ts'
import type { Measurement } from './measured-rate-limiter.ts'
import type { LimiterName } from './options.ts'
import type { Account, Traffic } from './service.ts'

/** What was counted in one part of the run. */
export interface Period {
  readonly seconds: number
  readonly traffic: ReadonlyMap<string, Traffic>
  readonly requests: readonly Measurement[]
  /** CPU time of all workers, in seconds. */
  readonly workerCpu: number
  /** CPU time of the service, in seconds. */
  readonly serviceCpu: number
  /** Complete sweeps of busy connections. */
  readonly sweeps: number
}

export interface Report {
  readonly limiter: LimiterName
  readonly connections: number
  readonly workers: number
  readonly differences: Differences
  readonly revocations: number
  readonly notices: number
  readonly kills: number
  readonly faults: number
  readonly changes: number
  readonly items: number
  /** Sweeps that ended with an error that a person has to look at. */
  readonly failures: number
  /** Share of all requests that got a 429: in the whole run, and after the warm-up. */
  readonly refusedShare: { readonly all: number; readonly afterWarmUp: number }
  /** Accepted requests of a busy connection as a share of its hidden limit, without kills. */
  readonly goodput: { readonly mean: number; readonly lowest: number; readonly withKills: number }
  /** Busy connections that this machine kept at their limit, which the goodput is about. */
  readonly saturated: { readonly connections: number; readonly of: number }
  /** Time from call to response of quiet connections, in milliseconds. */
  readonly quietLatency: { readonly alone: Percentiles; readonly withNoisyNeighbor: Percentiles }
  readonly cost: {
    readonly requestsPerSecond: number
    readonly workerCpuPerSecond: number
    readonly workerCpuPerThousandRequests: number
    readonly serviceCpuPerSecond: number
    readonly redisBytesPerConnection: number
    readonly secondsPerSweep: number
  }
}

export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly requests: number
}

export function refusedShare(periods: readonly Period[]): number {
  const all = periods.flatMap(({ traffic }) => [...traffic.values()])
  return round(sum(all.map(({ refused }) => refused)) / Math.max(1, sum(all.map(({ sent }) => sent))), 5)
}

/**
 * Returns the goodput of each busy connection that was at its limit, by organization. A connection was not if this machine
 * is so slow that it would not have reached the limit either if the limiter had never held it back.
 */
export function goodputs(
  { seconds, requests, traffic }: Period,
  accounts: readonly Account[],
  keys: ReadonlyMap<string, string>,
): Map<string, number> {
  const held = new Map<string, number>()
  for (const { key, held: time } of requests) held.set(key, (held.get(key) ?? 0) + time / 1_000)
  const found = new Map<string, number>()
  for (const { id, role, limit } of accounts) {
    if (role !== 'busy') continue
    const { sent, refused, others } = traffic.get(id) ?? { sent: 0, refused: 0, others: 0 }
    const allowed = (limit / 60) * seconds
    const secondsNotHeld = Math.max(0, seconds - (held.get(keys.get(id) ?? '') ?? 0))
    const possible = (sent + others) * (seconds / secondsNotHeld)
    if (possible >= allowed) found.set(id, (sent - refused + others) / allowed)
  }
  return found
}

export function latency(period: Period, keys: ReadonlySet<string>): Percentiles {
  const times = period.requests.filter(({ key }) => keys.has(key)).map(({ total }) => total)
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => round(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN, 1)
  return { p50: at(0.5), p95: at(0.95), requests: sorted.length }
}

export function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

/** Returns the report as a short table. */
export function toTable(report: Report): string {
  const { differences, goodput, quietLatency, cost, saturated } = report
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`
  const ms = ({ p50, p95, requests }: Percentiles) => `${p50} ms, p95 ${p95} ms (${requests} requests)`
  const rows: [string, string | number][] = [
    ['connections, workers, limiter', `${report.connections}, ${report.workers}, ${report.limiter}`],
    ['items compared', report.items],
    ['lost items', differences.lost],
    ['doubled items and changes', differences.doubled],
    ['false deletions', differences.falseDeletions],
    ['missed deletions', differences.missedDeletions],
    ['notices / revocations', `${report.notices} / ${report.revocations}`],
    ['failed sweeps', report.failures],
    ['killed workers, faults, changes', `${report.kills}, ${report.faults}, ${report.changes}`],
    ['429 share after the warm-up', percent(report.refusedShare.afterWarmUp)],
    ['429 share of the whole run', percent(report.refusedShare.all)],
    ['goodput at the limit, mean', percent(goodput.mean)],
    ['goodput at the limit, lowest', percent(goodput.lowest)],
    ['goodput during the kills, mean', percent(goodput.withKills)],
    ['connections at their limit', `${saturated.connections} of ${saturated.of}`],
    ['quiet connection, median', ms(quietLatency.alone)],
    ['the same beside a noisy neighbor', ms(quietLatency.withNoisyNeighbor)],
    ['requests a second', cost.requestsPerSecond],
    ['worker CPU seconds a second', cost.workerCpuPerSecond],
    ['worker CPU seconds for 1,000 requests', cost.workerCpuPerThousandRequests],
    ['service CPU seconds a second', cost.serviceCpuPerSecond],
    ['Redis memory of a connection, bytes', cost.redisBytesPerConnection],
    ['seconds for a complete sweep', cost.secondsPerSweep],
  ]
  return rows.map(([name, value]) => `${name.padEnd(40)}${value}`).join('\n')
}
