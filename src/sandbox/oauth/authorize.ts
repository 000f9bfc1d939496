import { type Exchange, mediaType } from '../http/exchange.ts'
import { badRequest, Refusal } from '../http/refusal.ts'
import type { Route } from '../http/route.ts'
import { isObject } from '../operations/fields.ts'
import { wordsFor } from '../scopes.ts'
import type { Service } from '../service.ts'
import { type AuthorizationRequest, readAuthorizationRequest } from './authorization-request.ts'
import { consentPage, refusalPage } from './consent-page.ts'
import { type Decision, rolesOnOffer, settle } from './decision.ts'
import { parameter } from './parameters.ts'
import { AuthorizationError, redirect } from './redirect.ts'

/** `GET /api/oauth/authorize` (specification, section 4; reference, section 1, row 1). */
export function authorizeRoute(service: Service): Route {
  const answer = (exchange: Exchange): Response => {
    const query = exchange.url.searchParams
    const automatic = parameter(query, 'auto') ?? service.settings.autoConsent
    return inBrowser(302, wantsJson(exchange), () => {
      const request = readAuthorizationRequest(service.settings.app, query)
      if (automatic === 'allow' || automatic === 'deny') {
        const organizationId = parameter(query, 'organization') ?? service.home.organization.id
        const decision = { allow: automatic === 'allow', organizationId, role: parameter(query, 'role') }
        return redirect(302, settle(service, request, decision))
      }
      if (wantsJson(exchange)) return Response.json(consentMetadata(service, request), noStore)
      return consentPage({
        app: service.settings.app,
        request,
        organizations: organizationsOnOffer(service),
        roles: request.actor === 'app' ? ['admin'] : rolesOnOffer(service),
      })
    })
  }
  return { name: 'authorize', method: 'GET', path: '/api/oauth/authorize', answer }
}

/**
 * `POST /api/oauth/authorize/consent` (reference, section 1, row 2): JSON from a program, a form from the consent page.
 * Everything is checked again, because nothing binds what is sent to what the page showed.
 */
export function consentRoute(service: Service): Route {
  const answer = (exchange: Exchange): Response => {
    const type = mediaType(exchange.headers.get('content-type'))
    const settleBy = (parameters: URLSearchParams): string =>
      settle(service, readAuthorizationRequest(service.settings.app, parameters), decisionFrom(parameters))

    if (type === 'application/x-www-form-urlencoded') {
      const form = new URLSearchParams(exchange.bodyText)
      return inBrowser(303, false, () => redirect(303, settleBy(form)))
    }
    if (type !== 'application/json') throw badRequest('Consent is sent as JSON or as a form.')
    return Response.json({ redirect_to: redirectFor(() => settleBy(jsonParameters(exchange.bodyText))) }, noStore)
  }
  return { name: 'authorizeConsent', method: 'POST', path: '/api/oauth/authorize/consent', answer }
}

const noStore = { headers: { 'cache-control': 'no-store' } }

function inBrowser(status: 302 | 303, json: boolean, answer: () => Response): Response {
  try {
    return answer()
  } catch (error) {
    if (error instanceof AuthorizationError) return redirect(status, error.location)
    if (error instanceof Refusal && !json) return refusalPage(error)
    throw error
  }
}

// A refusal by the person is an answer like any other; a request that is wrong is the program's own mistake.
function redirectFor(settled: () => string): string {
  try {
    return settled()
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error
    if (error.code === 'access_denied') return error.location
    throw new Refusal(400, error.code, error.message)
  }
}

function decisionFrom(parameters: URLSearchParams): Decision {
  return {
    allow: parameters.get('decision') !== 'deny',
    organizationId: parameter(parameters, 'target_organization_id'),
    role: parameter(parameters, 'role'),
  }
}

function jsonParameters(text: string): URLSearchParams {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw badRequest('The body is not JSON.')
  }
  if (!isObject(body)) throw badRequest('The body must be a JSON object.')
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(body)) {
    if (typeof value !== 'string') throw badRequest('Every value must be a string.')
    parameters.set(name, value)
  }
  return parameters
}

function wantsJson(exchange: Exchange): boolean {
  const accept = exchange.headers.get('accept') ?? ''
  return accept.includes('application/json') && !accept.includes('text/html')
}

/** ConsentMetadata (reference, section 2). */
function consentMetadata(service: Service, request: AuthorizationRequest): Record<string, unknown> {
  const { name, description } = service.settings.app
  return {
    client_id: request.clientId,
    app: { name, description, logo_url: null },
    actor: request.actor,
    redirect_uri: request.redirectUri,
    scopes: request.scopes,
    scope_details: Object.fromEntries(
      request.scopes.map((scope) => [scope, wordsFor(scope, request.actor) ?? 'Nothing without actor=self']),
    ),
    state: request.state,
    eligible_organizations: organizationsOnOffer(service),
  }
}

function organizationsOnOffer(service: Service): { id: string; name: string; domain: string }[] {
  return [...service.workspaces.values()].map(({ organization: { id, display_name, domain } }) => {
    return { id, name: display_name, domain }
  })
}
