import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import { sql } from 'kysely'
import { messageOf } from './log.ts'
import type { SyncQueue } from './queue.ts'
import { clock, type Database, type OrganizationTable } from './tables.ts'

export interface SiteParts {
  readonly database: Database
  readonly queue: SyncQueue
  /** Time between two sync passes of an organization that has no interval of its own, in milliseconds. */
  readonly interval: number
}

const loopback = /^(localhost|\[::1\]|127(\.\d+){3})$/

/** The organizations at `/`, Prometheus metrics at `/metrics`, and bull-board at `/queues`. */
export function createSite(parts: SiteParts): Hono {
  const site = new Hono()
  site.use(async (context, next) => {
    const { method, url } = context.req
    // A site whose domain resolves to this machine (DNS rebinding) could read the pages otherwise.
    if (!loopback.test(URL.parse(url)?.hostname ?? '')) return context.text('Open this page at 127.0.0.1.', 403)
    // The pages only show. A page of another site could send requests that change the queue otherwise.
    if (method !== 'GET' && method !== 'HEAD') {
      return context.text('These pages can only be read.', 405, { allow: 'GET, HEAD' })
    }
    await next()
    context.header('cache-control', 'no-store')
  })
  site.onError((error, context) => context.text(`The database does not respond: ${messageOf(error)}`, 503))
  const board = new HonoAdapter(serveStatic)
  createBullBoard({ queues: [new BullMQAdapter(parts.queue, { readOnlyMode: true })], serverAdapter: board })
  site.use(secureHeaders())
  site.route('/queues', board.setBasePath('/queues').registerPlugin())
  site.get('/metrics', async (context) => context.text(await metrics(parts)))
  site.get('/', async (context) => context.html(await page(parts)))
  return site
}

/** Serves the site on loopback, because it asks nobody for a password. `port` 0 selects a free one. */
export async function serveSite(parts: SiteParts, port: number): Promise<{ url: string; close(): void }> {
  const server = serve({ fetch: createSite(parts).fetch, port, hostname: '127.0.0.1' })
  await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  }
}

const states = ['ok', 'late', 'paused', 'revoked', 'no token', 'unreadable'] as const

/** What the page and the metrics say of an organization. */
interface Status extends OrganizationTable {
  /** Time since its last complete sync pass or, if it has none, since it was added, in milliseconds. */
  readonly lag: number
  readonly state: (typeof states)[number]
  /** Number of conversations whose messages are skipped. */
  readonly skipped: number
}

/**
 * An organization is late after two intervals without a complete sync pass: also one that never had one, and one whose last
 * is in the future, because the clock of the database was wrong then or is wrong now.
 */
async function statusOf({ database, interval }: SiteParts): Promise<Status[]> {
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

function needsAttention({ state, skipped }: Status): boolean {
  return skipped > 0 || (state !== 'ok' && state !== 'paused')
}

async function metrics(parts: SiteParts): Promise<string> {
  const all = await statusOf(parts)
  const failures = await parts.database
    .selectFrom('failures')
    .select(({ fn }) => ['remedy', fn.sum<number>('count').as('count')])
    .groupBy('remedy')
    .execute()
  const failed = Object.fromEntries(failures.map(({ remedy, count }) => [remedy, Number(count)]))
  const lags = all.filter(({ state }) => state === 'ok' || state === 'late').map(({ lag }) => lag / 1_000)
  lags.sort((one, other) => one - other)
  const quantile = (share: number) => lags[Math.ceil(lags.length * share) - 1] ?? 0
  const count = (state: Status['state']) => all.filter((each) => each.state === state).length
  const sum = (column: 'sweeps' | 'requests' | 'refused' | 'skipped') =>
    all.reduce((total, row) => total + row[column], 0)
  // Redis may be away, and BullMQ waits for it.
  const jobs = await Promise.race([parts.queue.getJobCounts(), setTimeout(1_000, {}, { ref: false })])
  const families: readonly (readonly [name: string, label: string, values: Record<string, number>])[] = [
    ['fleet_organizations', 'state', Object.fromEntries(states.map((state) => [state, count(state)]))],
    ['fleet_lag_seconds', 'quantile', { 0.5: quantile(0.5), 0.95: quantile(0.95), 1: quantile(1) }],
    ['fleet_failures_total', 'remedy', failed],
    ['fleet_jobs', 'state', jobs],
    ['fleet_attention', '', { '': all.filter(needsAttention).length }],
    ['fleet_sweeps_total', '', { '': sum('sweeps') }],
    ['fleet_requests_total', '', { '': sum('requests') }],
    ['fleet_refused_requests_total', '', { '': sum('refused') }],
    ['fleet_skipped_conversations', '', { '': sum('skipped') }],
  ]
  const lines = families.flatMap(([name, label, values]) => [
    `# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}`,
    ...Object.entries(values).map(([value, count]) => `${name}${label && `{${label}="${value}"}`} ${count}`),
  ])
  return `${lines.join('\n')}\n`
}

/** The most rows of the page. What needs attention comes first, the oldest on top. */
const most = 200

async function page(parts: SiteParts) {
  const all = await statusOf(parts)
  const attention = all.filter(needsAttention)
  const rank = (status: Status) => (needsAttention(status) ? Number.MAX_SAFE_INTEGER / 2 : 0) + status.lag
  const shown = all.toSorted((one, other) => rank(other) - rank(one)).slice(0, most)
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="5">
<title>Fleet</title>
<style>
  body { font: 15px system-ui; margin: 2rem; color-scheme: light dark }
  td, th { padding: .3rem .8rem; text-align: left; border-bottom: 1px solid #8884 }
  td.number { text-align: right; font-variant-numeric: tabular-nums }
</style>
<h1>${all.length} organizations</h1>
<p><strong>Needs attention: ${attention.length}</strong>. <a href="/metrics">Metrics</a>, <a href="/queues">jobs</a>.</p>
<table>
  <tr><th>Organization<th>State<th>Last complete sync pass<th>Sync passes<th>Skipped<th>Problem</tr>
  ${shown.map(
    ({ key, name, state, lag, sweeps, skipped, completed_at, problem }) => html`<tr>
      <td title="${key}">${name}
      <td>${state}
      <td>${completed_at === null ? 'never, added ' : ''}${age(lag)}
      <td class="number">${sweeps}
      <td class="number">${skipped}
      <td>${problem ?? ''}
    </tr>`,
  )}
</table>
${all.length > most ? html`<p>The other ${all.length - most} are not shown.</p>` : ''}
</html>`
}

function age(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1_000)
  if (seconds < 120) return `${seconds} s ago`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3_600)} h ago`
}
