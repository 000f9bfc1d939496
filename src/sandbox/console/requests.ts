import { html } from 'hono/html'
import { factList, type Markup } from '../html-page.ts'
import { type LogEntry, shortenTokens } from '../request-log.ts'
import { isPlainObject } from '../schema.ts'
import { actionButton, contains, copyButton, link, openLink, section, timeOf, type View, viewForm } from './view.ts'

/** Returns the requests that the service received, newest first. A row opens with everything that is known about it. */
export function requestsSection(view: View): Markup {
  const { entries, older, opened } = shownRequests(view)
  const isNewest = !view.url.searchParams.has('before')
  const name = view.url.searchParams.get('request')
  return section(
    'Requests',
    html`${filterForm(view)}
<div id="request-rows" data-live>
${name !== null && opened === undefined && html`<p class="soft">${name} is no longer in the log.</p>`}
${
  entries.length === 0 && opened === undefined
    ? html`<p class="soft">No requests${view.log.entries.length > 0 ? ' with these filters' : ' yet. Send one with a token from this page'}.</p>`
    : html`<table>
<thead><tr><th>Time (UTC)</th><th>Status</th><th>Request, below <code>${prefix}</code></th><th>Scope</th><th>Organization</th><th class="number">ms</th></tr></thead>
${opened && !entries.includes(opened) && html`<tbody>${requestRow(view, opened)}<tr><th colspan="6" scope="rowgroup">${isNewest ? 'Newest' : 'Older'} requests</th></tr></tbody>`}
<tbody>${entries.map((entry, index) => requestRow(view, entry, entries[index - 1]))}</tbody>
</table>`
}
<p class="bar">
${!isNewest && html`<a href="${link(view, { before: undefined }, 'requests')}">Newest</a>`}
${older !== undefined && html`<a href="${link(view, { before: older }, 'requests')}">Older</a>`}
</p>
</div>`,
  )
}

const filters = ['path', 'in', 'errors']

function filterForm(view: View): Markup {
  const value = (name: string) => view.url.searchParams.get(name) ?? ''
  const isFiltered = filters.some((name) => value(name) !== '')
  const fields = html`<label>Path <input name="path" value="${value('path')}" placeholder="/messages"></label>
<label>Organization <input name="in" value="${value('in')}" placeholder="name or id"></label>
<label><input type="checkbox" name="errors" value="1"${value('errors') !== '' && html` checked`}> Errors only</label>
<button class="small">Filter</button>
${isFiltered && html`<a href="${link(view, { path: undefined, in: undefined, errors: undefined }, 'requests')}">All</a>`}`
  const clear = html`<button class="small">Clear the log</button>`
  return html`<div class="bar">${viewForm(view, [...filters, 'before'], 'requests', fields)}
<span class="end">${actionButton('requests/clear', {}, clear, 'Cleared')}</span></div>`
}

const prefix = '/api/oauth/v1'
const pageSize = 25

/**
 * Returns a page of requests, where the next one starts, and the opened request, which stays when it is on no page. A
 * page starts at a request, so that it stays when more arrive.
 */
function shownRequests({ log, url, sandbox }: View) {
  const { path = '', in: organization = '', errors, request: name } = Object.fromEntries(url.searchParams)
  const before = Number(url.searchParams.get('before') ?? Number.POSITIVE_INFINITY)
  const isShown = ({ id, request, organization: own = '', duration }: LogEntry): boolean =>
    id < before &&
    request.path !== '/favicon.ico' &&
    request.path.includes(path) &&
    (organization === '' || contains(sandbox.organizations.get(own)?.organization ?? nobody, organization)) &&
    (!errors || (request.status ?? (duration === undefined ? 0 : 500)) >= 400)
  const earlier = log.entries.filter(isShown)
  const entries = earlier.slice(-pageSize).reverse()
  return {
    entries,
    older: earlier.length > pageSize ? entries.at(-1)?.id : undefined,
    opened: log.entries.find(({ id }) => `request-${id}` === name),
  }
}

const nobody = { id: '', display_name: '' }

/** Returns the row of a request, and its details if it is open. The organization is named where it changes. */
function requestRow(view: View, entry: LogEntry, above?: LogEntry): Markup {
  const error = errorIn(entry)
  const { duration } = entry
  const { method, path, status, fault, ignored, scope, actor, at } = entry.request
  const id = `request-${entry.id}`
  const isOpen = view.url.searchParams.get('request') === id
  const kind = status === undefined || status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'
  const organization = view.sandbox.organizations.get(entry.organization ?? '')?.organization.display_name
  const isSame = above !== undefined && above.organization === entry.organization
  return html`<tr id="${id}">
<td class="time">${timeOf(at)}</td>
<td class="status"><span class="tag ${kind}">${status ?? (duration === undefined ? 'waiting' : 'dropped')}</span></td>
<td class="main">${openLink(view, { request: id }, html`<code>${method} ${breakable(shortPath(path))}</code>`)}
${error && html`<span class="soft">${String(error.error)}</span>`} ${fault && html`<span class="tag bad fault">${breakable(fault)}</span>`}
${ignored.length > 0 && html`<span class="tag warn">ignored: ${ignored.join(', ')}</span>`}</td>
<td>${scope && breakable(scope)}</td>
<td>${organization && !isSame && html`<bdi>${organization}</bdi>`} ${actor && html`<span class="soft">as ${actor}</span>`}</td>
<td class="number">${duration !== undefined && Math.round(duration)}</td>
</tr>
${isOpen && html`<tr class="detail" id="${id}-detail"><td colspan="6">${details(view, entry)}</td></tr>`}`
}

function details(view: View, entry: LogEntry): Markup {
  const { request, duration, token, requestBody, responseBody, responseHeaders } = entry
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
    'Request headers': headerText(request.headers),
    'Request body': requestBody !== undefined && bodyText(requestBody),
    'Response headers': responseHeaders && headerText(responseHeaders),
    [`Response body${lossOf(entry)}`]: responseBody !== undefined && bodyText(responseBody),
    'To send it again': copyButton(curlOf(view, entry), 'of this request', 'Copy as curl'),
  })
}

/** Returns whether the client received the response, as the end of a sentence. Empty for a complete response. */
function lossOf({ request, duration }: LogEntry): string {
  if (request.status === undefined) return duration === undefined ? '' : ', never received'
  return /drop=mid|stall/.test(request.fault ?? '') ? ', not received as a whole' : ''
}

/** Returns headers as text. Tokens and passwords are shortened. */
function headerText(headers: Readonly<Record<string, string>>): Markup {
  const lines = Object.entries(headers).map(([name, value]) => {
    const isSecret = /^(authorization|cookie|set-cookie)$/.test(name)
    const shown = isSecret && !/\bswot_/.test(value) ? value.replace(/^(\w* ?).*$/, '$1…') : value
    return `${name}: ${shortenTokens(shown)}`
  })
  return html`<pre tabindex="0">${lines.join('\n')}</pre>`
}

/**
 * Returns a curl command that repeats the request. The token comes from a variable, because the log shortens tokens.
 */
function curlOf({ url }: View, { request, requestBody }: LogEntry): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const query = new URLSearchParams()
  for (const [name, values] of Object.entries(request.query)) {
    for (const value of [values].flat()) query.append(name, shortenTokens(value))
  }
  const address = `${url.origin}${request.path}${query.size > 0 ? `?${query}` : ''}`
  const type = request.headers['content-type']
  const parts = [
    `curl -X ${request.method} ${quote(address)}`,
    ...(request.headers.authorization ? ['-H "Authorization: Bearer $SUPPORT_WORKSPACE_TOKEN"'] : []),
    ...(type ? [`-H ${quote(`Content-Type: ${type}`)}`] : []),
    ...(requestBody === undefined ? [] : [`--data-raw ${quote(requestBody)}`]),
  ]
  return parts.join(' ')
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
