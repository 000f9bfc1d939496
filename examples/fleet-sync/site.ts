// The page with the state of all organizations.
import { Hono } from 'hono'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import { createHealthSite } from './health.ts'
import { messageOf } from './log.ts'
import { metrics, needsAttention, type SiteParts, type Status, statusOf } from './metrics.ts'

/** An IP address or localhost. Attackers cannot use these for DNS rebinding, which needs a domain. */
const address = /^(localhost|\[.*\]|\d+(\.\d+){3})$/

/** Serves the organizations at `/`, Prometheus metrics at `/metrics`, and `/health`. The site is read-only. */
export function createSite(parts: SiteParts): Hono {
  const site = new Hono()
  site.route('/', createHealthSite(parts))
  site.use(async (context, next) => {
    // A site whose domain resolves to this machine (DNS rebinding) could read the pages otherwise.
    const name = URL.parse(context.req.url)?.hostname ?? ''
    if (!address.test(name) && name !== parts.host) return context.text('Open this page by its IP address.', 403)
    await next()
    context.header('cache-control', 'no-store')
  })
  site.onError((error, context) => context.text(`The database does not respond: ${messageOf(error)}`, 503))
  site.use(secureHeaders())
  site.get('/metrics', async (context) => context.text(await metrics(parts)))
  site.get('/', async (context) => context.html(await page(parts)))
  return site
}

/** Maximum number of rows of the page. Organizations that need attention come first, the longest waiting on top. */
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
<p><strong>Needs attention: ${attention.length}</strong>. <a href="/metrics">Metrics</a>.</p>
<table>
  <tr><th>Organization<th>State<th>Last complete sync pass<th>Sync passes<th>Skipped<th>Problem</tr>
  ${shown.map(
    ({ key, name, state, lag, passes, skipped, completed_at, problem }) => html`<tr>
      <td title="${key}">${name}
      <td>${state}
      <td>${completed_at === null ? 'never, added ' : ''}${age(lag)}
      <td class="number">${passes}
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
