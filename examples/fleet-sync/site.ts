// The website: the page with the state of all organizations, the metrics, and `/health`.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import { messageOf } from './log.ts'
import { inTime, metrics, needsAttention, type SiteParts, type Status, statusOf } from './metrics.ts'
import type { Settings } from './settings.ts'

/** An IP address or localhost. Attackers cannot use these for DNS rebinding, which needs a domain. */
const address = /^(localhost|\[.*\]|\d+(\.\d+){3})$/

/** Serves the organizations at `/`, Prometheus metrics at `/metrics`, and `/health`. The site is read-only. */
export function createSite(parts: SiteParts): Hono {
  const { database, queue, host } = parts
  const site = new Hono()
  // Responds with 503 while the database or Redis does not respond. A restart would not help.
  site.get('/health', async (context) => {
    const answers = await Promise.all([inTime(database.query('SELECT 1')), inTime(queue.getJobCounts())])
    const [isDatabaseUp, isRedisUp] = answers.map((answer) => answer !== undefined)
    return context.json({ database: isDatabaseUp, redis: isRedisUp }, isDatabaseUp && isRedisUp ? 200 : 503)
  })
  site.use(async (context, next) => {
    // A site whose domain resolves to this machine (DNS rebinding) could read the pages otherwise.
    const name = URL.parse(context.req.url)?.hostname ?? ''
    if (!address.test(name) && name !== host) return context.text('Open this page by its IP address.', 403)
    await next()
    context.header('cache-control', 'no-store')
  })
  site.onError((error, context) => context.text(`The database does not respond: ${messageOf(error)}`, 503))
  site.use(secureHeaders())
  site.get('/metrics', async (context) => context.text(await metrics(parts)))
  site.get('/', async (context) => context.html(await page(parts)))
  return site
}

/** Starts the web server of a site, and returns its URL. Port 0 selects a free one. Rejects if the port is in use. */
export async function serveSite({ fetch }: Hono, { host, port }: Pick<Settings, 'host' | 'port'>): Promise<string> {
  const server = serve({ fetch, port, hostname: host })
  await once(server, 'listening')
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

/** Maximum number of rows of the page. Organizations that need attention come first, the longest waiting on top. */
const most = 200

async function page(parts: SiteParts) {
  const all = await statusOf(parts)
  const attention = all.filter(needsAttention)
  const isFirst = (status: Status) => Number(needsAttention(status))
  const shown = all.toSorted((one, other) => isFirst(other) - isFirst(one) || other.lag - one.lag).slice(0, most)
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
<p><strong>Needs attention: ${attention.length}</strong>. <a href="/metrics">Metrics</a>.</p>
<table>
  <tr><th>Organization<th>State<th>Last pass<th>Passes<th>Skipped<th>Problem</tr>
  ${shown.map(
    ({ key, name, state, lag, passes, skipped, completed_at, problem }) => html`<tr>
      <td title="${key}">${name}
      <td>${state}
      <td>${completed_at === null ? 'never, added ' : ''}${Math.round(lag / 1_000)} s ago
      <td class="number">${passes}
      <td class="number">${skipped}
      <td>${problem ?? ''}
    </tr>`,
  )}
</table>
${all.length > most ? html`<p>The other ${all.length - most} are not shown.</p>` : ''}
</html>`
}
