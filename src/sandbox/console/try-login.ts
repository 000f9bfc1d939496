import { createHash, randomBytes } from 'node:crypto'
import { splitScope } from '../data/scope-catalog.ts'
import { badRequest } from '../http-error.ts'
import { isPlainObject } from '../schema.ts'
import type { Service } from '../service.ts'
import { type LoginResult, loginResultPage, type ServiceResponse, unknownLoginPage } from './login-pages.ts'

/** A login that a person tries in the console, from the authorization request to the granted token. */
interface Attempt {
  readonly actor: 'app' | 'self'
  readonly scopes: readonly string[]
  readonly redirectUri: string
  readonly codeVerifier: string
  result?: Promise<LoginResult>
}

/** The logins that are tried in the console. They use the service as any app does, with PKCE. */
export class TryLogin {
  readonly #service: Service
  readonly #fetch: (request: Request) => Promise<Response>
  /** By state, oldest first. */
  readonly #attempts = new Map<string, Attempt>()

  constructor(service: Service, fetch: (request: Request) => Promise<Response>) {
    this.#service = service
    this.#fetch = fetch
  }

  /** Starts a login and returns the URL of the authorization request. Throws a 400 without a scope. */
  start(origin: string, actor: 'app' | 'self', scope: string): string {
    const scopes = splitScope(scope)
    if (scopes.length === 0) throw badRequest('Select at least one scope.')
    const { app } = this.#service.settings
    const redirectUri = `${origin}/_sandbox/callback`
    if (!app.redirectUris.includes(redirectUri)) app.redirectUris.push(redirectUri)
    const state = randomBytes(16).toString('base64url')
    const codeVerifier = randomBytes(32).toString('base64url')
    this.#attempts.set(state, { actor, scopes, redirectUri, codeVerifier })
    for (const oldest of this.#attempts.keys()) if (this.#attempts.size > maxAttempts) this.#attempts.delete(oldest)
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: app.clientId,
      redirect_uri: redirectUri,
      scope: scopes.join(' '),
      state,
      actor,
      code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    return `/api/oauth/authorize?${query}`
  }

  /** Handles the redirect of the service. Redirects to the result, so that reloading it does not send the code again. */
  async finish(url: URL): Promise<Response> {
    const state = url.searchParams.get('state') ?? ''
    const attempt = this.#attempts.get(state)
    if (attempt !== undefined) {
      attempt.result ??= this.#complete(attempt, url)
      await attempt.result
    }
    return new Response(null, { status: 303, headers: { location: `/_sandbox/login?id=${encodeURIComponent(state)}` } })
  }

  async resultPage(id: string): Promise<{ status: number; markup: string }> {
    const result = await this.#attempts.get(id)?.result
    return result === undefined
      ? { status: 404, markup: unknownLoginPage() }
      : { status: 200, markup: loginResultPage(result) }
  }

  async #complete(attempt: Attempt, { origin, searchParams }: URL): Promise<LoginResult> {
    const error = searchParams.get('error')
    const code = searchParams.get('code')
    if (error === 'access_denied') return { kind: 'denied' }
    if (error !== null || code === null) {
      const description = searchParams.get('error_description') ?? 'The redirect has no code.'
      return {
        kind: 'failed',
        step: 'The authorization request',
        problem: `${error ?? 'invalid_request'}: ${description}`,
      }
    }
    const service = this.#service
    const { clientId, clientSecret } = service.settings.app
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: attempt.redirectUri,
      client_id: clientId,
      client_secret: clientSecret,
      code_verifier: attempt.codeVerifier,
    })
    const exchange = await this.#send(new Request(`${origin}/api/oauth/token`, { method: 'POST', body }))
    const token = exchange.body?.access_token
    const grant = typeof token === 'string' ? service.grants.token(token) : undefined
    if (typeof token !== 'string' || grant === undefined) {
      return {
        kind: 'failed',
        step: 'The code exchange',
        problem: exchange.problem ?? 'The response has no valid token.',
      }
    }
    const headers = { authorization: `Bearer ${token}` }
    const me = await this.#send(new Request(`${origin}/api/oauth/v1/me`, { headers }))
    const workspace = service.workspace(grant.organizationId)
    const { organization } = workspace
    const member = workspace.members.get(grant.memberId ?? '')
    return { kind: 'granted', token, grant, organization, member, requestedScopes: attempt.scopes, me }
  }

  async #send(request: Request): Promise<ServiceResponse> {
    try {
      const response = await this.#fetch(request)
      const body: unknown = JSON.parse(await response.text())
      if (!isPlainObject(body)) return { problem: 'The body is not a JSON object.' }
      if (response.ok) return { body }
      return { problem: `${response.status} ${body.error}: ${body.error_description}` }
    } catch (error) {
      if (error instanceof SyntaxError) return { problem: 'The body is not valid JSON.' }
      return { problem: 'The connection was dropped.' }
    }
  }
}

const maxAttempts = 100
