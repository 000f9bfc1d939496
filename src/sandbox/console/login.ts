import { createHash, randomBytes } from 'node:crypto'
import { html } from 'hono/html'
import type { Grant } from '../data/grants.ts'
import { splitScope } from '../data/scope-catalog.ts'
import { factList, type Markup } from '../html-page.ts'
import { isPlainObject } from '../schema.ts'
import { type ConsoleContext, consoleFrame, copyButton, personOf, section, type View } from './view.ts'

/** Returns the form that starts a login. */
export function loginSection({ sandbox, url }: View): Markup {
  const { scopes } = sandbox.settings.app
  const sent = url.searchParams.get('login')
  const form = new URLSearchParams(sent ?? scopes.map((scope) => ['scope', scope]))
  const isWrong = sent !== null && form.getAll('scope').length === 0
  const actor = (value: 'self' | 'app', text: string): Markup => {
    const isChecked = (form.get('actor') ?? 'self') === value
    return html`<label><input type="radio" name="actor" value="${value}"${isChecked && html` checked`}> <span><code>${value}</code>, ${text}</span></label>`
  }
  return section(
    'Login',
    html`<p class="soft">Runs the OAuth flow with PKCE and shows what the token can do.</p>
<form method="post" action="/_sandbox/login/start">
<fieldset class="checks one"><legend class="hidden">Actor</legend>
${actor('self', 'acts as a person')}
${actor('app', 'acts as the app')}
</fieldset>
<details${isWrong && html` open`}>
<summary>Scopes <span class="soft">all ${scopes.length}, unless you change them</span></summary>
<fieldset class="checks"><legend class="hidden">Scopes</legend>
${scopes.map((scope) => {
  const isChecked = form.getAll('scope').includes(scope)
  return html`<label><input type="checkbox" name="scope" value="${scope}"${isChecked && html` checked`}> <code>${scope}</code></label>`
})}
</fieldset>
</details>
${isWrong && html`<p class="error" role="alert">Select at least one scope.</p>`}
<p class="bar"><button class="primary">Start login</button></p>
</form>`,
    { title: 'Try a login' },
  )
}

/** A login that a person tries in the console, from the authorization request to the page that it ends on. */
interface LoginAttempt {
  readonly scopes: readonly string[]
  readonly redirectUri: string
  readonly codeVerifier: string
  page?: Promise<Markup>
}

/** The logins that are tried in the console. They use the service as any app does, with PKCE. */
export function createLogins({ sandbox, addresses, fetch }: ConsoleContext) {
  /** By state, oldest first. */
  const attempts = new Map<string, LoginAttempt>()
  /** The redirect URIs that were added for the names at which the console was open, oldest first. */
  const callbacks: string[] = []
  return { start, finish }

  /** Starts a login and returns the URL of the authorization request. Returns undefined for a form without a scope. */
  function start(form: URLSearchParams, requestedOrigin: string): string | undefined {
    const scopes = splitScope(form.getAll('scope').join(' '))
    if (scopes.length === 0) return undefined
    const { app } = sandbox.settings
    // Any other origin that a request names would get a code.
    const origin = addresses.isOwnOrigin(requestedOrigin) ? requestedOrigin : addresses.url
    const redirectUri = `${origin}/_sandbox/callback`
    if (!app.redirectUris.includes(redirectUri)) {
      app.redirectUris.push(redirectUri)
      callbacks.push(redirectUri)
      // This machine has any number of names, such as `a.localhost`.
      const [oldest = ''] = callbacks
      if (callbacks.length > maxCallbacks) app.redirectUris.splice(app.redirectUris.indexOf(oldest), 1)
      if (callbacks.length > maxCallbacks) callbacks.shift()
    }
    const state = randomBytes(16).toString('base64url')
    const codeVerifier = randomBytes(32).toString('base64url')
    attempts.set(state, { scopes, redirectUri, codeVerifier })
    for (const oldest of attempts.keys()) if (attempts.size > maxAttempts) attempts.delete(oldest)
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: app.clientId,
      redirect_uri: redirectUri,
      scope: scopes.join(' '),
      state,
      actor: form.get('actor') === 'app' ? 'app' : 'self',
      code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    return `/api/oauth/authorize?${query}`
  }

  /** Handles the redirect of the service and returns the page that the login ends on, the same for every reload. */
  function finish(query: URLSearchParams): Promise<Markup> | undefined {
    const attempt = attempts.get(query.get('state') ?? '')
    if (attempt !== undefined) attempt.page ??= complete(attempt, query)
    return attempt?.page
  }

  async function complete(attempt: LoginAttempt, query: URLSearchParams): Promise<Markup> {
    const error = query.get('error')
    const code = query.get('code')
    if (error === 'access_denied') {
      const text = html`The service redirected back with the error <code>access_denied</code>. No token was issued.`
      return textPage('Access was denied', text)
    }
    if (error !== null || code === null) {
      const description = query.get('error_description') ?? 'The redirect has no code.'
      return failedPage('The authorization request', `${error ?? 'invalid_request'}: ${description}`)
    }
    const { clientId, clientSecret } = sandbox.settings.app
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: attempt.redirectUri,
      client_id: clientId,
      client_secret: clientSecret,
      code_verifier: attempt.codeVerifier,
    })
    const exchange = await send(new Request(`${addresses.url}/api/oauth/token`, { method: 'POST', body }))
    const token = exchange.body?.access_token
    const grant = typeof token === 'string' ? sandbox.grants.token(token) : undefined
    if (typeof token !== 'string' || grant === undefined) {
      return failedPage('The code exchange', exchange.problem ?? 'The response has no valid token.')
    }
    const headers = { authorization: `Bearer ${token}` }
    const me = await send(new Request(`${addresses.url}/api/oauth/v1/me`, { headers }))
    return grantedPage(token, grant, attempt.scopes, me)
  }

  async function send(request: Request): Promise<ServiceResponse> {
    try {
      const response = await fetch(request)
      const body: unknown = JSON.parse(await response.text())
      if (!isPlainObject(body)) return { problem: 'The body is not a JSON object.' }
      if (response.ok) return { body }
      return { problem: `${response.status} ${body.error}: ${body.error_description}` }
    } catch (error) {
      if (error instanceof SyntaxError) return { problem: 'The body is not valid JSON.' }
      return { problem: 'The connection was dropped.' }
    }
  }

  function grantedPage(token: string, grant: Grant, requested: readonly string[], me: ServiceResponse): Markup {
    const data = sandbox.dataOf(grant.organizationId)
    const { organization } = data
    const email = data.members.get(grant.memberId ?? '')?.user.email
    const withheld = requested.filter((scope) => !grant.scopes.some((granted) => granted === scope))
    const facts = factList({
      Actor: html`<code>${grant.actor}</code>`,
      'Acts as': html`${personOf(grant, data)}${email !== undefined && `, ${email}`}`,
      Organization: html`<bdi>${organization.display_name}</bdi>, ${organization.domain}`,
      'Granted scopes': tags(grant.scopes),
      'Not granted':
        withheld.length > 0 && html`${tags(withheld)} <span class="soft">The person’s role does not allow them.</span>`,
      'Access token': html`<span class="copied"><code id="token" class="value">${token}</code> ${copyButton(token, 'token')}</span>`,
    })
    return narrowPage(
      'Access was granted',
      html`<section class="card">
<p>The sandbox checked the code and its PKCE verifier, and issued this token.</p>
${facts}
${actions('Try another login')}
</section>
<section class="card">
<h2>Response of <code>GET /api/oauth/v1/me</code></h2>
${
  me.body === undefined
    ? html`<p class="error">The call failed: ${me.problem}</p>`
    : html`<pre tabindex="0">${JSON.stringify(me.body, null, 2)}</pre>`
}
</section>`,
    )
  }
}

const maxAttempts = 100
const maxCallbacks = 10

/** The JSON of a successful response, or what is wrong with the response. */
interface ServiceResponse {
  readonly body?: Record<string, unknown>
  readonly problem?: string
}

export function unknownLoginPage(): Markup {
  const text = 'It was not started in this console, or the sandbox was restarted. Start it again.'
  return textPage('This login is unknown', html`${text}`)
}

function failedPage(step: string, problem: string): Markup {
  const text = html`${step} failed: <code>${problem}</code>. If you injected a fault, it applied to this login.`
  return textPage('The login failed', text)
}

function textPage(title: string, text: Markup): Markup {
  return narrowPage(title, html`<section class="card"><p>${text}</p>${actions('Try again')}</section>`)
}

function narrowPage(title: string, content: Markup): Markup {
  return consoleFrame(title, html`<main class="columns narrow">${content}</main>`)
}

function actions(again: string): Markup {
  return html`<p class="bar"><a class="button primary" href="/">Open the console</a> <a class="button" href="/#login">${again}</a></p>`
}

function tags(scopes: readonly string[]): Markup {
  return html`${scopes.map((scope) => html`<span class="tag">${scope}</span> `)}`
}
