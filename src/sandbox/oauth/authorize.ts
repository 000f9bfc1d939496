// src/sandbox/oauth holds the routes of a login: authorization, consent and code exchange. It must not import the
// sandbox's operations, faults or server.

import { describeScope, limitScopesToRole } from '../data/scope-catalog.ts'
import type { Role } from '../data/shapes.ts'
import { badRequest, forbidden, HttpError } from '../http-error.ts'
import { type IncomingRequest, mediaType, parseJsonObject, type Route } from '../incoming-request.ts'
import { allowsOrigin, isLoopbackOrigin, type SandboxSettings } from '../sandbox-settings.ts'
import type { Service } from '../service.ts'
import { type AuthorizationRequest, readAuthorizationRequest } from './authorization-request.ts'
import { consentPage, errorPage } from './consent-page.ts'
import { parameter } from './parameters.ts'
import { AuthorizationError, redirect, redirectLocation } from './redirect.ts'

/** Returns the route `GET /api/oauth/authorize` (docs/service.md#login). */
export function authorizeRoute(service: Service): Route {
  const { app } = service.settings
  const handle = (incoming: IncomingRequest): Response => {
    const query = incoming.url.searchParams
    const auto = parameter(query, 'auto') ?? service.settings.autoConsent
    const describe = (error: HttpError): Response => errorPage(error, app, query)
    return withErrorsInBrowser(302, wantsJson(incoming) ? undefined : describe, () => {
      const request = readAuthorizationRequest(app, query)
      if (auto === 'allow' || auto === 'deny') {
        const organizationId = parameter(query, 'organization') ?? service.firstWorkspace.organization.id
        return redirect(
          302,
          decide(service, request, { allow: auto === 'allow', organizationId, role: parameter(query, 'role') }),
        )
      }
      if (wantsJson(incoming)) return Response.json(consentMetadata(service, request), noStore)
      return consentPage({
        app,
        request,
        organizations: eligibleOrganizations(service),
        roles: request.actor === 'app' ? ['admin'] : availableRoles(service),
      })
    })
  }
  return { name: 'authorize', method: 'GET', path: '/api/oauth/authorize', handle }
}

/**
 * Returns the route `POST /api/oauth/authorize/consent` (docs/service.md#login). A program sends JSON and the
 * consent page a form. The route checks the whole request again, because a client can send other values than the page showed.
 */
export function consentRoute(service: Service): Route {
  const handle = (incoming: IncomingRequest): Response => {
    const type = mediaType(incoming.headers.get('content-type'))
    const locationFor = (parameters: URLSearchParams): string => {
      checkOrigin(incoming, service.settings.cors)
      return decide(service, readAuthorizationRequest(service.settings.app, parameters), readDecision(parameters))
    }

    if (type === 'application/x-www-form-urlencoded') {
      const form = new URLSearchParams(incoming.bodyText)
      const describe = (error: HttpError): Response => errorPage(error, service.settings.app, form)
      return withErrorsInBrowser(303, describe, () => redirect(303, locationFor(form)))
    }
    if (type !== 'application/json') {
      throw badRequest('The body must be sent as `application/json` or `application/x-www-form-urlencoded`.')
    }
    const parameters = jsonParameters(incoming.bodyText)
    return Response.json({ redirect_to: locationOrBadRequest(() => locationFor(parameters)) }, noStore)
  }
  return { name: 'authorizeConsent', method: 'POST', path: '/api/oauth/authorize/consent', handle }
}

// The app's id and secret are well known, so any page that a person visits could log in to the sandbox.
function checkOrigin({ headers, url }: IncomingRequest, cors: SandboxSettings['cors']): void {
  const origin = headers.get('origin')
  // Programs that are not browsers send no origin. A proxy in front of the sandbox can change the scheme.
  const isOwn = origin === null || [`http://${url.host}`, `https://${url.host}`].includes(origin)
  if (isOwn || isLoopbackOrigin(origin) || allowsOrigin(cors, origin)) return
  throw forbidden('Pages of this origin cannot give consent. Allow the origin with the option `cors`.')
}

/** The decision of the person on the consent page. */
interface Decision {
  allow: boolean
  organizationId: string | undefined
  role: string | undefined
}

/** Returns the redirect location with a new code. Throws an `AuthorizationError` if no code can be granted. */
function decide(service: Service, request: AuthorizationRequest, decision: Decision): string {
  const fail = (code: string, description: string): AuthorizationError =>
    new AuthorizationError(request, code, description)
  if (!decision.allow) throw fail('access_denied', 'The person denied access.')

  const workspace = service.workspaces.get(decision.organizationId ?? '')
  if (workspace === undefined) throw fail('invalid_request', 'target_organization_id is not an eligible organization.')
  const person = workspace.memberWithRole(decision.role ?? 'admin')
  if (person === undefined) throw fail('invalid_request', 'The organization has no member with this role.')
  // An organization admin authorizes an app (docs/service.md#login); others can only let it act as themselves.
  if (request.actor === 'app' && person.role !== 'admin') {
    throw fail('access_denied', 'Only an organization admin can connect an app.')
  }
  const scopes = request.actor === 'self' ? limitScopesToRole(request.scopes, person.role) : request.scopes
  if (scopes.length === 0) throw fail('invalid_scope', 'The role of this person allows none of the requested scopes.')

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

function readDecision(parameters: URLSearchParams): Decision {
  return {
    allow: parameters.get('decision') !== 'deny',
    organizationId: parameter(parameters, 'target_organization_id'),
    role: parameter(parameters, 'role'),
  }
}

const noStore = { headers: { 'cache-control': 'no-store' } }

// A browser receives an `AuthorizationError` as a redirect to the app, and other errors as a page.
function withErrorsInBrowser(
  status: 302 | 303,
  describe: ((error: HttpError) => Response) | undefined,
  respond: () => Response,
): Response {
  try {
    return respond()
  } catch (error) {
    if (error instanceof AuthorizationError) return redirect(status, error.location)
    if (error instanceof HttpError && describe !== undefined) return describe(error)
    throw error
  }
}

// If the person denies access, the program receives a location too. Any other error is a mistake in its request.
function locationOrBadRequest(locate: () => string): string {
  try {
    return locate()
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error
    if (error.code === 'access_denied') return error.location
    throw new HttpError(400, error.code, error.message)
  }
}

function jsonParameters(text: string): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(parseJsonObject(text))) {
    if (typeof value !== 'string') throw badRequest(`\`${name}\` must be a string.`)
    // Unlike `set`, `append` does not search the others. The names in an object are unique.
    parameters.append(name, value)
  }
  return parameters
}

function wantsJson(incoming: IncomingRequest): boolean {
  const accept = incoming.headers.get('accept') ?? ''
  return accept.includes('application/json') && !accept.includes('text/html')
}

// The reference has the shape (docs/service.md#login).
function consentMetadata(service: Service, request: AuthorizationRequest): Record<string, unknown> {
  const { name, description } = service.settings.app
  return {
    client_id: request.clientId,
    app: { name, description, logo_url: null },
    actor: request.actor,
    redirect_uri: request.redirectUri,
    scopes: request.scopes,
    scope_details: Object.fromEntries(
      request.scopes.map((scope) => [scope, describeScope(scope, request.actor) ?? 'Requires actor=self']),
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

/** Returns the roles that every organization has an active member for, most powerful first. */
function availableRoles(service: Service): Role[] {
  const roles: Role[] = ['admin', 'moderator', 'agent']
  const workspaces = [...service.workspaces.values()]
  return roles.filter((role) => workspaces.every((workspace) => workspace.memberWithRole(role) !== undefined))
}
