import { html } from 'hono/html'
import { factList, type Markup } from '../html-page.ts'
import { type LogEntry, shortenTokens } from '../request-log.ts'
import { isPlainObject } from '../schema.ts'
import { link, openLink, section, timeOf, type View } from './view.ts'

/** Returns the requests that the service received, newest first. A row opens with everything that is known about it. */
export function requestsSection(view: View): Markup {
  const { entries, older } = shownRequests(view)
  const isNewest = !view.url.searchParams.has('before')
  return section(
    'Requests',
    html`<div id="request-rows" data-live>
${
  entries.length === 0
    ? html`<p class="soft">No requests yet. Send one with a token from this page.</p>`
    : html`<table>
<thead><tr><th>Time</th><th>Status</th><th>Request, below <code>${prefix}</code></th><th>Scope</th><th>Organization</th><th class="number">ms</th></tr></thead>
<tbody>${entries.map((entry) => requestRow(view, entry))}</tbody>
</table>`
}
<p class="bar">
${!isNewest && html`<a href="${link(view, { before: undefined }, 'requests')}">Newest</a>`}
${older !== undefined && html`<a href="${link(view, { before: older }, 'requests')}">Older</a>`}
</p>
</div>`,
  )
}

const prefix = '/api/oauth/v1'
const pageSize = 25

/** Returns a page of requests, and where the next one starts. It starts at a request, so that it stays when more arrive. */
function shownRequests({ log, url }: View): { entries: LogEntry[]; older: number | undefined } {
  const before = Number(url.searchParams.get('before') ?? Number.POSITIVE_INFINITY)
  const earlier = log.entries.filter(({ id, request }) => id < before && request.path !== '/favicon.ico')
  const entries = earlier.slice(-pageSize).reverse()
  return { entries, older: earlier.length > pageSize ? entries.at(-1)?.id : undefined }
}

function requestRow(view: View, entry: LogEntry): Markup {
  const error = errorIn(entry)
  const { duration } = entry
  const { method, path, status, fault, ignored, scope, actor, at } = entry.request
  const id = `request-${entry.id}`
  const isOpen = view.url.searchParams.get('request') === id
  const kind = status === undefined || status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'
  const organization = view.service.workspaces.get(entry.organization ?? '')?.organization.display_name
  return html`<tr id="${id}">
<td class="time"><time datetime="${new Date(at).toISOString()}">${timeOf(at)}</time></td>
<td class="status"><span class="tag ${kind}">${status ?? (duration === undefined ? 'waiting' : 'dropped')}</span></td>
<td class="main">${openLink(view, { request: id }, html`<code>${method} ${breakable(shortPath(path))}</code>`)}
${error && html`<span class="soft">${String(error.error)}</span>`} ${fault && html`<span class="tag bad fault">${breakable(fault)}</span>`}
${ignored.length > 0 && html`<span class="tag warn">ignored: ${ignored.join(', ')}</span>`}</td>
<td>${scope && breakable(scope)}</td>
<td>${organization} ${actor && html`<span class="soft">as ${actor}</span>`}</td>
<td class="number">${duration !== undefined && Math.round(duration)}</td>
</tr>
${isOpen && html`<tr class="detail" id="${id}-detail"><td colspan="6">${details(entry)}</td></tr>`}`
}

function details(entry: LogEntry): Markup {
  const { request, duration, token, requestBody, responseBody } = entry
  const error = errorIn(entry)
  const query = Object.entries(request.query).flatMap(([name, values]) => {
    return [values].flat().map((value) => `${name}=${value}`)
  })
  return factList({
    Operation: request.operation,
    Path: html`<code>${request.path}</code>`,
    Query: query.length > 0 && html`<code>${shortenTokens(query.join('&'))}</code>`,
    Error: error && html`<code>${String(error.error)}</code> ${String(error.error_description)}`,
    Fault: request.fault && html`<code>${request.fault}</code>`,
    Duration: duration !== undefined && `${duration.toFixed(1)} ms`,
    Token: token && html`<code>${token}</code>`,
    'Request body': requestBody !== undefined && bodyText(requestBody),
    'Response body': responseBody !== undefined && bodyText(responseBody),
  })
}

/** Returns the body of an error response. */
function errorIn({ request, responseBody }: LogEntry): Record<string, unknown> | undefined {
  const body = (request.status ?? 0) >= 400 ? parsed(responseBody) : undefined
  return isPlainObject(body) ? body : undefined
}

/** A body, indented if it is JSON. Long ones were cut off when they were captured. */
function bodyText(body: string): Markup {
  const json = parsed(body)
  return html`<pre tabindex="0">${json === undefined ? body : JSON.stringify(json, null, 2)}</pre>`
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

function shortPath(path: string): string {
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path
}

/** Text that can break before a slash, and after a colon or a comma. */
function breakable(text: string): Markup {
  const parts = text.split(/(?=\/)|(?<=[:,])/)
  return html`${parts.map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}`
}
