import type { Grant } from '../data/grants.ts'
import type { Member, Organization } from '../data/shapes.ts'
import { escapeHtml } from '../html-page.ts'
import { consoleShell, copyButton } from './console-page.ts'

/** How a login ended. */
export type LoginResult =
  | {
      readonly kind: 'granted'
      readonly token: string
      readonly grant: Grant
      readonly organization: Organization
      /** The person that the token acts as. */
      readonly member: Member | undefined
      readonly requestedScopes: readonly string[]
      readonly me: ServiceResponse
    }
  | { readonly kind: 'denied' }
  | { readonly kind: 'failed'; readonly step: string; readonly problem: string }

/** The JSON of a successful response, or what is wrong with the response. */
export interface ServiceResponse {
  readonly body?: Record<string, unknown>
  readonly problem?: string
}

/** Returns the page that a login ends on. */
export function loginResultPage(result: LoginResult): string {
  if (result.kind === 'granted') return grantedPage(result)
  if (result.kind === 'denied') {
    return messagePage(
      'Access was denied',
      'The service redirected back with the error <code>access_denied</code>. No token was issued.',
    )
  }
  const problem = `<code>${escapeHtml(result.problem)}</code>`
  return messagePage(
    'The login failed',
    `${escapeHtml(result.step)} failed: ${problem}. If you injected a fault, it applied to this login.`,
  )
}

export function unknownLoginPage(): string {
  return messagePage(
    'This login is unknown',
    'It was not started in this console, or the sandbox was restarted. Start it again.',
  )
}

function grantedPage(result: Extract<LoginResult, { kind: 'granted' }>): string {
  const { token, grant, organization, member, requestedScopes, me } = result
  const withheld = requestedScopes.filter((scope) => !grant.scopes.some((granted) => granted === scope))
  const facts = [
    ['Actor', `<span class="tag">${grant.actor}</span>`],
    [
      'Acts as',
      member === undefined ? 'The app' : escapeHtml(`${member.user.name} (${member.role}), ${member.user.email}`),
    ],
    ['Organization', escapeHtml(`${organization.display_name}, ${organization.domain}`)],
    ['Granted scopes', tags(grant.scopes)],
    ...(withheld.length === 0
      ? []
      : [['Not granted', `${tags(withheld)} <span class="soft">The person’s role does not allow them.</span>`]]),
    ['Access token', `<code id="token" class="value">${escapeHtml(token)}</code> ${copyButton('token', 'token')}`],
  ]
  const call =
    me.body === undefined
      ? `<p class="error">The call failed: ${escapeHtml(me.problem ?? '')}</p>`
      : `<pre tabindex="0" aria-label="Response">${escapeHtml(JSON.stringify(me.body, null, 2))}</pre>`
  return consoleShell(
    'Access was granted',
    `<section class="card">
<p>The sandbox checked the code and its PKCE verifier, and issued this token.</p>
<dl class="facts">${facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>
${actions('Try another login')}
</section>
<section class="card">
<h2>Response of <code>GET /api/oauth/v1/me</code></h2>
${call}
</section>`,
  )
}

function tags(scopes: readonly string[]): string {
  return scopes.map((scope) => `<span class="tag">${escapeHtml(scope)}</span>`).join(' ')
}

function messagePage(title: string, markup: string): string {
  return consoleShell(title, `<section class="card"><p>${markup}</p>${actions('Try again')}</section>`)
}

function actions(again: string): string {
  return `<p class="actions"><a class="button primary" href="/">Open the console</a> <a class="button" href="/#login">${again}</a></p>`
}
