// The status of each organization, and the metrics for Prometheus.
import { sql } from 'kysely'
import { type HealthParts, inTime } from './health.ts'
import type { Settings } from './settings.ts'
import { clock, type ErasedTable, type OrganizationTable } from './tables.ts'

export interface SiteParts extends HealthParts, Pick<Settings, 'interval' | 'host'> {
  /** How often the scheduler could not do its work, for example because the database was down. */
  readonly failures: () => number
}

const states = ['ok', 'late', 'paused', 'revoked', 'no token', 'unreadable'] as const

/** The status of an organization, for the page and the metrics. */
export interface Status extends OrganizationTable {
  /** Time since its last complete sync pass or, if it has none, since it was added, in milliseconds. */
  readonly lag: number
  readonly state: (typeof states)[number]
  /** Number of conversations whose messages are skipped. */
  readonly skipped: number
}

/**
 * Returns the status of each organization. An organization is late if its last complete sync pass is more than two
 * intervals ago, or if it was added that long ago and has none. It is also late if the last sync pass is in the future,
 * because then the database's clock was or is wrong.
 */
export async function statusOf({ database, interval }: SiteParts): Promise<Status[]> {
  const lag = sql<number>`${clock.now(database)} - coalesce(completed_at, added_at)`.as('lag')
  const rows = await database.selectFrom('organizations').selectAll().select(lag).execute()
  const skips = await database
    .selectFrom('items')
    .select(({ fn }) => ['key', fn.countAll<number>().as('count'), fn.max('problem').as('problem')])
    .where('problem', 'is not', null)
    .groupBy('key')
    .execute()
  const skipped = new Map(skips.map((skip) => [skip.key, skip]))
  return rows.map((row) => {
    const late = row.lag < 0 || row.lag > 2 * (row.interval ?? interval) ? 'late' : 'ok'
    const state = row.ended ?? (row.paused === 1 ? 'paused' : late)
    const { count = 0, problem = null } = skipped.get(row.key) ?? {}
    return { ...row, state, skipped: Number(count), problem: row.problem ?? problem }
  })
}

export function needsAttention({ state, skipped }: Status): boolean {
  return skipped > 0 || (state !== 'ok' && state !== 'paused')
}

type Family = readonly [name: string, label: string, values: Record<string, number>]

/** Returns the metrics for Prometheus. If the database does not respond, they contain only this fact. */
export async function metrics(parts: SiteParts): Promise<string> {
  const counted = await familiesOf(parts).catch(() => undefined)
  const families: readonly Family[] = [
    ['fleet_database_up', '', { '': counted === undefined ? 0 : 1 }],
    ['fleet_scheduler_failures_total', '', { '': parts.failures() }],
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
  const all = await statusOf(parts)
  const counted = [...all, ...(await parts.database.selectFrom('erased').selectAll().execute())]
  const failures = await parts.database.selectFrom('failures').selectAll().execute()
  const synced = all.filter(({ state }) => state === 'ok' || state === 'late')
  const lags = synced.map(({ lag }) => lag / 1_000).sort((one, other) => one - other)
  const quantile = (share: number) => lags[Math.ceil(lags.length * share) - 1] ?? 0
  const count = (state: Status['state']) => all.filter((each) => each.state === state).length
  const sum = (column: keyof ErasedTable) => counted.reduce((total, row) => total + row[column], 0)
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
