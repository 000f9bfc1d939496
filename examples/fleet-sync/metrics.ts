// The status of each organization, and the metrics for Prometheus.
import { setTimeout } from 'node:timers/promises'
import type { Database } from './database.ts'
import type { Organization } from './organizations.ts'
import type { SyncQueue } from './queue.ts'
import type { Settings } from './settings.ts'

export interface SiteParts extends Pick<Settings, 'interval' | 'host'> {
  readonly database: Database
  readonly queue: SyncQueue
}

const states = ['ok', 'late', 'revoked', 'no token'] as const

/** The status of an organization, for the page and the metrics. */
export interface Status extends Organization {
  /** Time since its last pass or, if it has none, since it was added, in milliseconds. */
  readonly lag: number
  readonly state: (typeof states)[number]
}

/**
 * Returns the status of each organization. An organization is late if its last pass was more than two intervals ago, or
 * if it was added that long ago and has none.
 */
export async function statusOf({ database, interval }: SiteParts): Promise<Status[]> {
  const lag = 'extract(epoch FROM now() - coalesce(completed_at, added_at))::float8 * 1000 AS lag'
  const { rows } = await database.query<Organization & { lag: number }>(`SELECT *, ${lag} FROM organizations`)
  return rows.map((row) => {
    const late = row.lag > 2 * interval ? 'late' : 'ok'
    return { ...row, state: row.ended ?? late }
  })
}

export function needsAttention({ state, problem }: Status): boolean {
  return problem !== null || state !== 'ok'
}

type Family = readonly [name: string, label: string, values: Record<string, number>]

/** Returns the metrics for Prometheus. If the database does not respond, they contain only this fact. */
export async function metrics(parts: SiteParts): Promise<string> {
  const counted = await familiesOf(parts).catch(() => undefined)
  const families: readonly Family[] = [
    ['fleet_database_up', '', { '': counted === undefined ? 0 : 1 }],
    ...(counted ?? []),
  ]
  const lines = families.flatMap(([name, label, values]) => [
    `# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}`,
    ...Object.entries(values).map(([value, count]) => `${name}${label && `{${label}="${value}"}`} ${count}`),
  ])
  return `${lines.join('\n')}\n`
}

/** Returns the metrics from the database and Redis. Counters include the counts of erased organizations. */
async function familiesOf(parts: SiteParts): Promise<Family[]> {
  type Counts = Pick<Organization, 'passes' | 'requests' | 'refused'>
  const all = await statusOf(parts)
  const { rows: erased } = await parts.database.query<Counts>('SELECT * FROM erased')
  const { rows: failures } = await parts.database.query('SELECT * FROM failures')
  const synced = all.filter(({ state }) => state === 'ok' || state === 'late')
  const lags = synced.map(({ lag }) => lag / 1_000).sort((one, other) => one - other)
  const quantile = (share: number) => lags[Math.ceil(lags.length * share) - 1] ?? 0
  const count = (state: Status['state']) => all.filter((each) => each.state === state).length
  const sum = (column: keyof Counts) => [...all, ...erased].reduce((total, row) => total + row[column], 0)
  const jobs = (await inTime(parts.queue.getJobCounts())) ?? {}
  return [
    ['fleet_organizations', 'state', Object.fromEntries(states.map((state) => [state, count(state)]))],
    ['fleet_lag_seconds', 'quantile', { 0.5: quantile(0.5), 0.95: quantile(0.95), 1: quantile(1) }],
    ['fleet_failures_total', 'remedy', Object.fromEntries(failures.map(({ remedy, count }) => [remedy, count]))],
    ['fleet_jobs', 'state', jobs],
    ['fleet_attention', '', { '': all.filter(needsAttention).length }],
    ['fleet_passes_total', '', { '': sum('passes') }],
    ['fleet_requests_total', '', { '': sum('requests') }],
    ['fleet_refused_requests_total', '', { '': sum('refused') }],
    ['fleet_skipped_conversations', '', { '': all.reduce((total, { skipped }) => total + skipped, 0) }],
  ]
}

/** Returns undefined instead of an answer that fails or takes too long. While Redis is down, BullMQ waits for it. */
export function inTime<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return Promise.race([answer.catch(() => undefined), setTimeout(2_000, undefined, { ref: false })])
}
