import { describeScope, limitScopesToRole } from '../data/scope-catalog.ts'
import type { Role } from '../data/shapes.ts'
import { badRequest, HttpError } from '../http-error.ts'
import type { Route } from '../incoming-request.ts'
import { type IncomingRequest, mediaType, parseJsonObject } from '../incoming-request.ts'
import type { Service } from '../service.ts'
import { type AuthorizationRequest, readAuthorizationRequest } from './authorization-request.ts'
import { consentPage, errorPage } from './consent-page.ts'
import { parameter } from './parameters.ts'
import { AuthorizationError, redirect, redirectLocation } from './redirect.ts'

/** `GET /api/oauth/authorize` (specification, section 4; reference, section 1, row 1). */
export function authorizeRoute(service: Service): Route {
  const handle = (incoming: IncomingRequest): Response => {
    const query = incoming.url.searchParams
    const automatic = parameter(query, 'auto') ?? service.settings.autoConsent
    return reportErrorInBrowser(302, wantsJson(incoming), () => {
      const request = readAuthorizationRequest(service.settings.app, query)
      if (automatic === 'allow' || automatic === 'deny') {
        const organizationId = parameter(query, 'organization') ?? service.firstWorkspace.organization.id
        const decision = { allow: automatic === 'allow', organizationId, role: parameter(query, 'role') }
        return redirect(302, decide(service, request, decision))
      }
      if (wantsJson(incoming)) return Response.json(consentMetadata(service, request), noStore)
      return consentPage({
        app: service.settings.app,
        request,
        organizations: eligibleOrganizations(service),
        roles: request.actor === 'app' ? ['admin'] : availableRoles(service),
      })
    })
  }
  return { name: 'authorize', method: 'GET', path: '/api/oauth/authorize', handle }
}

/**
 * `POST /api/oauth/authorize/consent` (reference, section 1, row 2): JSON from a program, a form from the consent page.
 * Everything is checked again, because nothing binds what is sent to what the page showed.
 */
export function consentRoute(service: Service): Route {
  const handle = (incoming: IncomingRequest): Response => {
    const type = mediaType(incoming.headers.get('content-type'))
    const settleBy = (parameters: URLSearchParams): string =>
      decide(service, readAuthorizationRequest(service.settings.app, parameters), decisionFrom(parameters))

    if (type === 'application/x-www-form-urlencoded') {
      const form = new URLSearchParams(incoming.bodyText)
      return reportErrorInBrowser(303, false, () => redirect(303, settleBy(form)))
    }
    if (type !== 'application/json') throw badRequest('Consent is sent as JSON or as a form.')
    return Response.json({ redirect_to: decidedLocation(() => settleBy(jsonParameters(incoming.bodyText))) }, noStore)
  }
  return { name: 'authorizeConsent', method: 'POST', path: '/api/oauth/authorize/consent', handle }
}

const noStore = { headers: { 'cache-control': 'no-store' } }

function reportErrorInBrowser(status: 302 | 303, json: boolean, answer: () => Response): Response {
  try {
    return answer()
  } catch (error) {
    if (error instanceof AuthorizationError) return redirect(status, error.location)
    if (error instanceof HttpError && !json) return errorPage(error)
    throw error
  }
}

// A refusal by the person is an answer like any other; a request that is wrong is the program's own mistake.
function decidedLocation(settled: () => string): string {
  try {
    return settled()
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error
    if (error.code === 'access_denied') return error.location
    throw new HttpError(400, error.code, error.message)
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
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(parseJsonObject(text))) {
    if (typeof value !== 'string') throw badRequest('Every value must be a string.')
    parameters.set(name, value)
  }
  return parameters
}

function wantsJson(incoming: IncomingRequest): boolean {
  const accept = incoming.headers.get('accept') ?? ''
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
      request.scopes.map((scope) => [scope, describeScope(scope, request.actor) ?? 'Nothing without actor=self']),
    ),
    state: request.state,
    eligible_organizations: eligibleOrganizations(service),
  }
}

function eligibleOrganizations(service: Service): { id: string; name: string; domain: string }[] {
  return [...service.workspaces.values()].map(({ organization: { id, display_name, domain } }) => {
    return { id, name: display_name, domain }
  })
}

/** What the person on the consent screen chose. */
export interface Decision {
  allow: boolean
  organizationId: string | undefined
  role: string | undefined
}

/** Where the browser goes after a decision. Throws an `AuthorizationError` unless a code was granted. */
export function decide(service: Service, request: AuthorizationRequest, decision: Decision): string {
  const fail = (code: string, description: string): AuthorizationError =>
    new AuthorizationError(request, code, description)
  if (!decision.allow) throw fail('access_denied', 'The person did not allow the access.')

  const workspace = service.workspaces.get(decision.organizationId ?? '')
  if (workspace === undefined) throw fail('invalid_request', 'target_organization_id is no eligible organization.')
  const person = workspace.memberWithRole(decision.role ?? 'admin')
  if (person === undefined) throw fail('invalid_request', 'The organization has nobody with this role.')
  // An organization admin authorizes an app (specification, section 1); others can only let it act as themselves.
  if (request.actor === 'app' && person.role !== 'admin') {
    throw fail('access_denied', 'Only an organization admin may connect an app.')
  }
  const scopes = request.actor === 'self' ? limitScopesToRole(request.scopes, person.role) : request.scopes
  if (scopes.length === 0) throw fail('invalid_scope', 'The role of this person allows none of the scopes.')

  const code = service.grants.addCode({
    grant: {
      actor: request.actor,
      scopes,
      organizationId: workspace.organization.id,
      memberId: request.actor === 'self' ? person.id : undefined,
    },
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge,
    expiresAt: service.settings.now() + service.settings.codeLifetime,
  })
  return redirectLocation(request, { code })
}

/** The roles that somebody has in every organization, most powerful first. */
export function availableRoles(service: Service): Role[] {
  const roles: Role[] = ['admin', 'moderator', 'agent']
  const workspaces = [...service.workspaces.values()]
  return roles.filter((role) => workspaces.every((workspace) => workspace.memberWithRole(role) !== undefined))
}
