import { describeScope, type Scope } from '../data/scope-catalog.ts'
import type { Role } from '../data/shapes.ts'
import { escapeHtml, htmlPage } from '../html-page.ts'
import type { HttpError } from '../http-error.ts'
import type { SandboxSettings } from '../settings.ts'
import { type AuthorizationRequest, RedirectUriError } from './authorization-request.ts'

export interface ConsentPageContent {
  app: SandboxSettings['app']
  request: AuthorizationRequest
  organizations: readonly { id: string; name: string; domain: string }[]
  roles: readonly Role[]
}

/** Returns the page that asks a person for consent. It is a plain form and needs no JavaScript. */
export function consentPage({ app, request, organizations, roles }: ConsentPageContent): Response {
  const name = escapeHtml(app.name)
  return htmlPage(
    200,
    `Connect ${app.name}`,
    `<header>
<div class="mark" aria-hidden="true">${escapeHtml([...app.name][0]?.toUpperCase() ?? '?')}</div>
<h1>${name} requests access</h1>
</header>
<p class="soft">${escapeHtml(app.description)}</p>
<form method="post" action="/api/oauth/authorize/consent">
${hiddenFields(request)}
<section class="actor">
<h2>${request.actor === 'self' ? 'This app will act as you' : 'This app will act as itself'}</h2>
<p>${describeActor(request.actor, name)}</p>
</section>
<section>
<h2>This app will be able to</h2>
${scopeList(request)}
</section>
<fieldset>
<legend>Organization</legend>
<div class="choices">
${organizations.map(organizationChoice).join('\n')}
</div>
</fieldset>
<div class="field">
<label class="label" for="role">Signed in as</label>
<select id="role" name="role" aria-describedby="role-hint">
${roles.map((role) => `<option value="${role}">${roleLabels[role]}</option>`).join('\n')}
</select>
<p class="soft" id="role-hint">${roleHint(request.actor)}</p>
</div>
<div class="decision">
<div class="buttons">
<button class="allow" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</div>
<p class="soft target">You will be redirected to <code>${escapeHtml(request.redirectUri)}</code></p>
</div>
</form>`,
  )
}

/** Returns a page for an error that must not be redirected (RFC 6749, 4.1.2.1). */
export function errorPage(error: HttpError, app: SandboxSettings['app']): Response {
  return htmlPage(
    error.status,
    'Invalid authorization request',
    `<header>
<div class="mark" aria-hidden="true">!</div>
<h1>Invalid authorization request</h1>
</header>
<section>
<p>${escapeHtml(error.message)}</p>
${error instanceof RedirectUriError ? redirectUris(error, app) : ''}
</section>
<section>
<p class="soft">Error <code>${escapeHtml(error.code)}</code>. You were not redirected, because the app or its redirect URI
could not be verified. Correct the request in the app that sent you here.</p>
</section>`,
  )
}

function redirectUris({ received }: RedirectUriError, app: SandboxSettings['app']): string {
  const registered = app.redirectUris.map((uri) => `<li><code>${escapeHtml(uri)}</code></li>`).join('')
  return `<p>Received: <code>${escapeHtml(received ?? 'none, or more than one')}</code></p>
<p>Registered:</p>
<ul>${registered}</ul>
<p>Register another with the option <code>--redirect-uri</code>, or <code>app.redirectUris</code> in code.</p>`
}

function hiddenFields(request: AuthorizationRequest): string {
  const fields = {
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    scope: request.scopes.join(' '),
    state: request.state,
    actor: request.actor,
    code_challenge: request.codeChallenge,
    code_challenge_method: 'S256',
  }
  return Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`)
    .join('\n')
}

function describeActor(actor: 'app' | 'self', name: string): string {
  if (actor === 'self') return `Everything that ${name} writes, such as messages and notes, appears under your name.`
  return `${name} reads and manages your workspace as an app. It cannot write messages or notes, and nothing appears under your name.`
}

function scopeList({ scopes, actor }: AuthorizationRequest): string {
  const items = scopes.flatMap((scope) => {
    const words = describeScope(scope, actor)
    return words === null ? [] : scopeItem(scope, words)
  })
  const without = scopes.filter((scope) => describeScope(scope, actor) === null)
  return [
    ...(items.length === 0
      ? ['<p class="soft">Nothing: every requested scope requires an app that acts as you.</p>']
      : [`<ul>\n${items.join('\n')}\n</ul>`]),
    ...(without.length === 0 ? [] : [`<p class="soft">${unusableScopes(without)}</p>`]),
  ].join('\n')
}

function unusableScopes(scopes: readonly Scope[]): string {
  const names = scopes.map((scope) => `<code>${scope}</code>`).join(', ')
  return `These scopes have no effect for an app that acts as itself: ${names}.`
}

function scopeItem(scope: Scope, words: string): string {
  const writes = scope.endsWith(':write')
  const kind = `<span class="kind${writes ? ' write' : ''}">${writes ? 'write' : 'read'}</span>`
  return `<li>${words}${kind}</li>`
}

function organizationChoice({ id, name, domain }: ConsentPageContent['organizations'][number], index: number): string {
  return `<label class="choice">
<input type="radio" name="target_organization_id" value="${escapeHtml(id)}"${index === 0 ? ' checked' : ''} required>
<span>${escapeHtml(name)} <span class="soft">${escapeHtml(domain)}</span></span>
</label>`
}

const roleLabels = { admin: 'An admin (the owner)', moderator: 'A moderator', agent: 'An agent' } as const

function roleHint(actor: 'app' | 'self'): string {
  if (actor === 'app') return 'Only an admin can connect an app that acts as itself.'
  return 'For a moderator or an agent, scopes that require an admin are not granted, even if they are listed above.'
}
