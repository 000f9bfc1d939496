import { html } from 'hono/html'
import { describeScope, type Scope } from '../data/scope-catalog.ts'
import type { Role } from '../data/shapes.ts'
import { factList, htmlPage, type Markup } from '../html-page.ts'
import type { HttpError } from '../http.ts'
import type { SandboxSettings } from '../sandbox-options.ts'
import type { AuthorizationRequest, Parameters } from './authorization-request.ts'

export interface ConsentPageContent {
  app: SandboxSettings['app']
  request: AuthorizationRequest
  organizations: readonly { id: string; name: string; domain: string }[]
  roles: readonly Role[]
}

/** Returns the page that asks a person for consent. It is a plain form and needs no JavaScript. */
export function consentPage({ app, request, organizations, roles }: ConsentPageContent): Response {
  return loginPage(
    200,
    `Connect ${app.name}`,
    html`<header class="title">
<div class="mark" aria-hidden="true">${[...app.name][0]?.toUpperCase() ?? '?'}</div>
<div><h1>${app.name} requests access</h1><p class="soft">${app.description}</p></div>
</header>
<form method="post" action="/api/oauth/authorize/consent">
${hiddenFields(app.clientId, request)}
<div class="field">
<label for="organization">Organization</label>
<select id="organization" name="target_organization_id">
${organizations.map(({ id, name, domain }) => html`<option value="${id}">${name} (${domain})</option>`)}
</select>
</div>
<div class="field">
<label for="role">Signed in as</label>
<select id="role" name="role" aria-describedby="role-hint">
${roles.map((role) => html`<option value="${role}">${roleLabels[role]}</option>`)}
</select>
<p class="soft" id="role-hint">${roleHints[request.actor]}</p>
</div>
<section class="box">
<h2>${request.actor === 'self' ? 'This app will act as you' : 'This app will act as itself'}</h2>
<p>${describeActor(request.actor, app.name)}</p>
</section>
${scopeList(request)}
<div class="decision">
<div><button class="primary" name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></div>
<p class="soft">You will be redirected to <code>${request.redirectUri}</code></p>
</div>
</form>`,
  )
}

/** Returns a page for an error that must not be redirected (RFC 6749, 4.1.2.1). */
export function errorPage(error: HttpError, app: SandboxSettings['app'], parameters: Parameters): Response {
  const received = [parameters.redirect_uri ?? []].flat()
  const isKnown = received.length === 1 && received.every((uri) => app.redirectUris.includes(uri))
  return loginPage(
    error.status,
    'Invalid authorization request',
    html`<section class="refused">
<header class="title">
<div class="mark" aria-hidden="true">!</div>
<h1>Invalid authorization request</h1>
</header>
<p>${error.message}</p>
${!isKnown && redirectUris(received, app.redirectUris)}
<p class="soft">Error <code>${error.code}</code>. You were not redirected, because the app or its redirect URI could not be
verified. Correct the request in the app that sent you here.</p>
</section>`,
  )
}

/** Returns a page of a login. Its headers allow only the sandbox's style and icon. */
function loginPage(status: number, title: string, content: Markup): Response {
  const page = htmlPage(
    title,
    html`<main class="dialog card">
${content}
</main>
<footer>Local sandbox. The people and organizations on this page are made up.</footer>`,
  )
  return new Response(page.toString(), {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // No form-action: Chromium applies it to every redirect after a form, and an app's redirect URI can redirect the
      // browser to any origin.
      'content-security-policy':
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      // With `no-referrer` the consent form would be sent with `Origin: null`, as a form of another site can be.
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  })
}

function redirectUris(received: readonly string[], registered: readonly string[]): Markup {
  const list = (uris: readonly string[]): Markup => html`${uris.map((uri) => html`<p><code>${uri}</code></p>`)}`
  const facts = { Received: received.length === 0 ? 'No redirect URI.' : list(received), Registered: list(registered) }
  return html`${factList(facts)}
<p>To register another one, start the sandbox with <code>--redirect-uri</code>, or call <code>sandbox.registerRedirectUri(uri)</code>.</p>`
}

function hiddenFields(clientId: string, request: AuthorizationRequest): Markup[] {
  const fields = {
    client_id: clientId,
    redirect_uri: request.redirectUri,
    scope: request.scopes.join(' '),
    state: request.state,
    actor: request.actor,
    code_challenge: request.codeChallenge,
    code_challenge_method: 'S256',
  }
  return Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
}

const roleLabels = { admin: 'An admin (the owner)', moderator: 'A moderator', agent: 'An agent' } as const

const roleHints = {
  app: 'Only an admin can connect an app that acts as itself.',
  self: 'For a moderator or an agent, scopes that require an admin are not granted, even if they are listed below.',
} as const

function describeActor(actor: 'app' | 'self', name: string): string {
  if (actor === 'self') return `Everything that ${name} writes, such as messages and notes, appears under your name.`
  return `${name} reads and manages your workspace as an app. It cannot write messages or notes, and nothing appears under your name.`
}

/** Returns the scopes. A long list is closed, and its heading still says what the app can write. */
function scopeList({ scopes, actor }: AuthorizationRequest): Markup {
  const isUsable = (scope: Scope): boolean => describeScope(scope, actor) !== null
  const usable = scopes.filter(isUsable)
  const unusable = scopes.filter((scope) => !isUsable(scope))
  const writes = usable.filter(isWrite)
  if (usable.length === 0) {
    return html`<p class="soft">Nothing: every requested scope requires an app that acts as you.</p>`
  }
  return html`<details class="scopes"${usable.length <= 6 && html` open`}>
<summary><h2>This app will be able to</h2> <span class="tag">read ${usable.length - writes.length}</span>
${
  writes.length > 0 &&
  html`<span class="tag warn">write ${writes.length}</span>
<p class="soft">Writes ${writes.map((scope) => scope.split(':')[0]).join(', ')}.</p>`
}</summary>
<ul>
${usable.map((scope) => {
  const kind = isWrite(scope) ? html`<span class="tag warn">write</span>` : html`<span class="tag">read</span>`
  return html`<li>${describeScope(scope, actor)}${kind}</li>`
})}
</ul>
${
  unusable.length > 0 &&
  html`<p class="soft">These scopes have no effect for an app that acts as itself: ${unusable.map((scope, index) => {
    return html`${index > 0 && ', '}<code>${scope}</code>`
  })}.</p>`
}
</details>`
}

function isWrite(scope: Scope): boolean {
  return scope.endsWith(':write')
}
