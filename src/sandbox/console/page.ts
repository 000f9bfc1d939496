import { html } from 'hono/html'
import type { IssuedToken } from '../data/grants.ts'
import { factList, type Markup } from '../html-page.ts'
import { dataSection } from './data.ts'
import { faultsSection } from './faults.ts'
import { loginSection } from './login.ts'
import { requestsSection } from './requests.ts'
import { actionButton, consoleFrame, copyButton, paginate, personOf, section, timeOf, type View } from './view.ts'

/** Returns the console. The script replaces the elements with `data-live` when their content changes. */
export function consolePage(view: View): Markup {
  const { name } = view.sandbox.settings.app
  const links = ['Requests', 'Connections', 'Data', 'App', 'Tokens', 'Login', 'Faults'].map((title) => {
    return html`<a href="#${title.toLowerCase()}">${title}</a>`
  })
  return consoleFrame(
    name,
    html`<main class="columns">
<div class="column">
${requestsSection(view)}
${connectionsSection(view)}
${dataSection(view)}
</div>
<div class="column">
${appSection(view)}
${tokensSection(view)}
${loginSection(view)}
${faultsSection(view)}
</div>
</main>`,
    html`<span id="live" class="tag" role="status" hidden>connecting</span><noscript><span class="tag">Reload to update</span></noscript>
<nav aria-label="Sections">${links}</nav>`,
  )
}

const actors = ['self', 'app'] as const

function appSection({ sandbox, url }: View): Markup {
  const { clientId, clientSecret, redirectUris } = sandbox.settings.app
  const copied = (value: string, what: string): Markup => {
    return html`<span class="copied"><code class="value">${value}</code> ${copyButton(value, what)}</span>`
  }
  const uris = redirectUris.map((uri) => html`<p><code>${uri}</code></p>`)
  const facts = factList({
    'Base URL': copied(url.origin, 'base URL'),
    'Client ID': copied(clientId, 'client ID'),
    'Client secret': copied(clientSecret, 'client secret'),
    'Redirect URIs': html`<div id="redirect-uris" data-live>${uris}</div>`,
  })
  return section('App', facts, { title: 'App credentials' })
}

function tokensSection({ sandbox, url }: View): Markup {
  const rows = actors.map((actor) => {
    const token = sandbox.readyToken(actor)
    const grant = sandbox.grants.token(token)
    const about = html`<code>actor=${actor}</code> <span class="soft">${personOf(grant, sandbox.firstOrganization)}</span>`
    if (grant === undefined) {
      const button = html`<button class="small" aria-label="Issue the ${actor} token again">Issue again</button>`
      return html`<li class="revoked"><p class="bar"><code>actor=${actor}</code> <span class="tag bad">revoked</span></p>
<p class="copied"><code class="value">${token}</code> ${actionButton('tokens', { actor }, button, 'Issued')}</p></li>`
    }
    const curl = `curl -H 'Authorization: Bearer ${token}' '${url.origin}/api/oauth/v1/me'`
    return html`<li><p class="bar">${about}
<span class="end">${copyButton(curl, `with the ${actor} token`, 'Copy as curl')}</span></p>
<p class="copied"><code class="value">${token}</code> ${copyButton(token, `${actor} token`)}</p></li>`
  })
  const content = html`<p class="soft">Ready to use, with every scope of the app.</p>
<ul class="rows">${rows}</ul>`
  return section('Tokens', content, { title: 'Access tokens', isLive: true })
}

function connectionsSection(view: View): Markup {
  const { grants } = view.sandbox
  const ready = new Set(actors.map((actor) => grants.token(view.sandbox.readyToken(actor))))
  const issued = grants.issuedTokens()
  const own = issued.filter(({ grant }) => ready.has(grant))
  const items = issued.filter(({ grant }) => !ready.has(grant))
  const page = paginate(view, { parameter: 'connections', section: 'connections', items, size: 15 })
  return section(
    'Connections',
    html`<p class="soft">What an admin sees in the service’s dashboard. A revoked token fails with 401 <code>invalid_token</code>.</p>
${items.length === 0 && html`<p class="soft">No app is connected.</p>`}
<table>
<thead><tr><th>Acts as</th><th>Scopes</th><th>Since (UTC)</th><th><span class="hidden">Action</span></th></tr></thead>
${[...Map.groupBy(page.items, ({ grant }) => grant.organizationId)].map(([id, tokens]) => {
  const { display_name: name } = view.sandbox.dataOf(id).organization
  return connectionRows(view, html`<bdi>${name}</bdi>`, tokens)
})}
${own.length > 0 && connectionRows(view, html`Used by this console`, own)}
</table>
${page.pager}`,
    { isLive: true },
  )
}

function connectionRows(view: View, heading: Markup, tokens: readonly IssuedToken[]): Markup {
  return html`<tbody><tr><th colspan="4" scope="rowgroup">${heading}</th></tr>${tokens.map((token) => connectionRow(view, token))}</tbody>`
}

function connectionRow({ sandbox }: View, { id, grant, fromLogin, issuedAt }: IssuedToken): Markup {
  const data = sandbox.dataOf(grant.organizationId)
  const { length } = grant.scopes
  const scopes = length > 2 ? html`<details id="${id}-scopes"><summary>${length} scopes</summary>` : ''
  const member = data.members.get(grant.memberId ?? '')
  const label = `Revoke ${member?.user.name ?? 'the app'} in ${data.organization.display_name}`
  const button = html`<button class="small danger" aria-label="${label}">Revoke</button>`
  return html`<tr id="${id}">
<td><code>${grant.actor}</code> <span class="soft">${personOf(grant, data)}</span></td>
<td>${scopes}<code>${grant.scopes.join(' ')}</code>${length > 2 && html`</details>`}</td>
<td class="time">${timeOf(issuedAt)} <span class="soft">${fromLogin ? 'by a login' : 'by the sandbox'}</span></td>
<td>${actionButton('connections/revoke', { id }, button, 'Revoked')}</td>
</tr>`
}
