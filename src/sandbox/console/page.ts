import { html } from 'hono/html'
import type { Addresses } from '../addresses.ts'
import type { Grant } from '../data/grants.ts'
import type { OrganizationData } from '../data/organization-data.ts'
import type { Conversation, Message } from '../data/shapes.ts'
import { factList, htmlPage, type Markup } from '../html-page.ts'
import type { LogEntry, RequestLog } from '../request-log.ts'
import type { SandboxData } from '../sandbox-data.ts'

/** The parts of the sandbox that the console shows and changes. */
export interface ConsoleContext {
  readonly sandbox: SandboxData
  readonly log: RequestLog
  readonly addresses: Addresses
}

/** The parts of the sandbox, and the URL of the page, whose query selects an organization. */
interface View extends ConsoleContext {
  readonly url: URL
  /** Differs after each change. The script compares it. */
  readonly version: string
}

/** Returns the page. It works without its script, which only loads it again. */
export function consolePage(view: View): Markup {
  const { name } = view.sandbox.settings.app
  return htmlPage(
    `${name} – Sandbox`,
    html`<div class="console">
<header class="top"><img src="/_sandbox/icon.svg" alt="" width="24" height="24"> <h1>${name}</h1>
<nav aria-label="Sections"><a href="#requests">Requests</a> <a href="#data">Data</a> <a href="#app">App</a> <a href="#tokens">Tokens</a></nav></header>
<main class="columns" data-version="${view.version}">
<div class="column">
${requestsSection(view)}
${dataSection(view)}
</div>
<div class="column">
${appSection(view)}
${tokensSection(view)}
</div>
</main>
<footer>A local imitation of the service. Its people and organizations are made up. Times are in UTC.</footer></div>`,
    html`<script type="module" src="/_sandbox/reload.js"></script>`,
  )
}

function section(title: string, content: Markup): Markup {
  const id = title.toLowerCase()
  return html`<section class="card" id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${content}
</section>`
}

function appSection({ sandbox, url }: View): Markup {
  const { clientId, clientSecret, redirectUris } = sandbox.settings.app
  const value = (text: string) => html`<code class="value">${text}</code>`
  return section(
    'App',
    factList({
      'Base URL': value(url.origin),
      'Client ID': value(clientId),
      'Client secret': value(clientSecret),
      'Redirect URIs': html`${redirectUris.map((uri) => html`<p><code>${uri}</code></p>`)}`,
    }),
  )
}

const actors = ['self', 'app'] as const

/** Shows the tokens that are ready to use, and all that are valid. Only the first are there to copy. */
function tokensSection({ sandbox }: View): Markup {
  const ready = actors.map((actor) => {
    const token = sandbox.readyToken(actor)
    const grant = sandbox.grants.token(token)
    const state =
      grant === undefined
        ? html`<span class="tag bad">revoked</span>
${action('tokens', { actor }, html`<button class="small" aria-label="Issue the ${actor} token again">Issue again</button>`)}`
        : html`<span class="soft">${personOf(grant, sandbox.firstOrganization)}</span>`
    return html`<li><p class="bar"><code>actor=${actor}</code> ${state}</p><code class="value">${token}</code></li>`
  })
  const issued = sandbox.grants.issuedTokens()
  const rows = issued.slice(0, mostRows).map(({ id, grant, fromLogin, issuedAt }) => {
    const data = sandbox.dataOf(grant.organizationId)
    const label = `Revoke ${data.members.get(grant.memberId ?? '')?.user.name ?? 'the app'} in ${data.organization.display_name}`
    const button = html`<button class="small danger" aria-label="${label}">Revoke</button>`
    return html`<li><p class="bar"><code>${grant.actor}</code> ${personOf(grant, data)}
<span class="end">${action('tokens/revoke', { id }, button)}</span></p>
<p class="soft"><bdi>${data.organization.display_name}</bdi>, ${grant.scopes.length} scopes, ${timeOf(issuedAt)}${fromLogin && ', by a login'}</p></li>`
  })
  return section(
    'Tokens',
    html`<p class="soft">Ready to use, with every scope of the app.</p>
<ul class="rows">${ready}</ul>
<h3>Valid tokens</h3>
<p class="soft">What an admin sees in the service’s dashboard. A revoked token fails with 401 <code>invalid_token</code>.</p>
<ul class="rows">${rows}</ul>${more(issued.length)}`,
  )
}

/** Maximum number of rows of a list. */
const mostRows = 50

function more(count: number): Markup | false {
  return count > mostRows && html`<p class="soft">${mostRows} of ${count} are shown.</p>`
}

/** Returns the last requests with their bodies, newest first. */
function requestsSection({ log }: View): Markup {
  const { entries } = log
  if (entries.length === 0) {
    return section('Requests', html`<p class="soft">No requests yet. Send one with a token from this page.</p>`)
  }
  const rows = entries.slice(-mostRows).reverse().map(requestRow)
  return section('Requests', html`${rows}${more(entries.length)}`)
}

function requestRow({ id, request, duration, requestBody, responseBody }: LogEntry): Markup {
  const { method, path, status, fault, ignored, scope, actor, at, query, operation } = request
  const kind = status === undefined || status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'
  const parameters = Object.entries(query).flatMap(([name, values]) => [values].flat().map((each) => `${name}=${each}`))
  const isLost = status === undefined && duration !== undefined
  return html`<details id="request-${id}"><summary><span class="tag ${kind}">${status ?? (isLost ? 'dropped' : 'waiting')}</span>
<code>${method} ${breakable(path)}</code> ${fault && html`<span class="tag bad">${fault}</span>`}
${ignored.length > 0 && html`<span class="tag warn">ignored: ${ignored.join(', ')}</span>`} <span class="soft">${timeOf(at)}</span></summary>
${factList({
  Operation: operation,
  Scope: scope,
  Actor: actor,
  Query: parameters.length > 0 && html`<code>${hideTokens(parameters.join('&'))}</code>`,
  Duration: duration !== undefined && `${duration.toFixed(1)} ms`,
  'Request body': requestBody !== undefined && bodyText(requestBody),
  [`Response body${isLost ? ', never received' : ''}`]: responseBody !== undefined && bodyText(responseBody),
})}</details>`
}

/** Returns the data of the selected organization. */
function dataSection({ sandbox, url }: View): Markup {
  const selected = url.searchParams.get('organization') ?? ''
  const data = sandbox.organizations.get(selected) ?? sandbox.firstOrganization
  const all = [...sandbox.organizations.values()]
  const tabs = all.slice(0, mostRows).map(({ organization: { id, display_name: name } }) => {
    const isCurrent = id === data.organization.id
    return html`<a href="/?organization=${id}#data"${isCurrent && html` aria-current="true"`}><bdi>${name}</bdi></a>`
  })
  // The newest first, although the service lists some of them oldest first.
  const { conversations, contacts, members, tasks, segments } = data
  return section(
    'Data',
    html`<nav class="tabs" aria-label="Organization">${tabs}</nav>${more(all.length)}
<h3>Conversations</h3>
${conversations
  .all()
  .slice(0, mostRows)
  .map((each) => thread(data, each))}${more(conversations.size)}
${list('Contacts', contacts.all().reverse())}
${list('Team members', members.all())}
${list('Tasks', tasks.all().reverse())}
${list('Segments', segments.all())}`,
  )
}

/** Returns items as JSON, which has all of their fields. */
function list(title: string, items: readonly { readonly id: string }[]): Markup {
  const rows = items.slice(0, mostRows).map((item) => html`<li><code>${JSON.stringify(item)}</code></li>`)
  return html`<details id="${title.replace(' ', '-').toLowerCase()}"><summary>${title} <span class="soft">${items.length}</span></summary>
<ul class="rows">${rows}</ul>${more(items.length)}</details>`
}

/** Returns a conversation with its messages and notes, newest first, and the form that writes into it. */
function thread(data: OrganizationData, { id, status, user, last_message: last }: Conversation): Markup {
  const notes = new Set<Message>(data.notes(id).all())
  const items = [...data.messages(id).all(), ...notes].sort((one, other) => other.inserted_at - one.inserted_at)
  const texts = items.slice(0, mostRows).map((item) => {
    const tag = notes.has(item) && html`<span class="tag warn">note</span>`
    return html`<div class="message ${tag && 'note'}"><p class="bar"><b><bdi>${item.user.name ?? item.user.email}</bdi></b> ${tag}
<span class="soft">${item.source}, ${timeOf(item.inserted_at * 1_000)}</span></p><p><code>${item.body_html}</code></p></div>`
  })
  return html`<details id="${id}"><summary><code>${id}</code> <span class="tag">${status}</span> <bdi>${user.name ?? user.email}</bdi>
<span class="soft line">${last}</span></summary>
<form method="post" action="/_sandbox/messages" class="bar">
<input type="hidden" name="conversation" value="${id}"><input type="hidden" name="organization" value="${data.organization.id}">
<label class="grow"><span class="hidden">New message</span><input name="text" placeholder="A message" autocomplete="off" required></label>
<button>Write as the customer</button> <button name="as" value="colleague">Answer as a colleague</button></form>
${texts}${more(items.length)}</details>`
}

function action(path: string, fields: Readonly<Record<string, string>>, button: Markup): Markup {
  const inputs = Object.entries(fields).map(([name, value]) => {
    return html`<input type="hidden" name="${name}" value="${value}">`
  })
  return html`<form method="post" action="/_sandbox/${path}">${inputs}${button}</form>`
}

/** Returns the person that a token acts as, such as `Ada Abara (admin)`, or "The app". */
function personOf(grant: Grant, data: OrganizationData): Markup {
  const member = data.members.get(grant.memberId ?? '')
  return member === undefined ? html`The app` : html`<bdi>${member.user.name}</bdi> (${member.role})`
}

/** Returns a time in milliseconds since the epoch. */
function timeOf(at: number): Markup {
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}</time>`
}

/** Returns a body, indented if it is JSON. A long one was cut off when it was captured. */
function bodyText(body: string): Markup {
  const hidden = hideTokens(body)
  let shown = hidden
  try {
    shown = JSON.stringify(JSON.parse(hidden), null, 2)
  } catch {}
  return html`<pre tabindex="0">${shown}</pre>`
}

/** Shortens access tokens and authorization codes, because only the tokens that are ready to use are there to copy. */
function hideTokens(text: string): string {
  return text.replace(/\b(swot|code)_([\w-]{4})[\w.-]+/g, '$1_$2…')
}

/** Text that can break before a slash. */
function breakable(text: string): Markup {
  return html`${text.split(/(?=\/)/).map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}`
}
