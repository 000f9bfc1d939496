// src/sandbox/oauth holds the operations of a login: authorization, consent and code exchange. It must not import the
// sandbox's faults or server.

import type { Context } from 'hono'
import { allowsOrigin, isLoopbackOrigin } from '../addresses.ts'
import type { AppEnv, Operation } from '../app-env.ts'
import { describeScope, limitScopesToRole } from '../data/scope-catalog.ts'
import type { Role } from '../data/shapes.ts'
import { badRequest, forbidden, formType, HttpError, readJsonObject } from '../http.ts'
import type { SandboxData } from '../sandbox-data.ts'
import {
  AuthorizationError,
  type AuthorizationRequest,
  type Parameters,
  parameter,
  readAuthorizationRequest,
  redirectLocation,
} from './authorization-request.ts'
import { type ConsentPageContent, consentPage, errorPage } from './consent-page.ts'

/** The consent page, or its metadata as JSON (docs/service.md#login). */
export const authorize: Operation = {
  route: 'GET /api/oauth/authorize',
  handler: (sandbox) => (c) => {
    const { query } = c.get('entry').request
    const { app, autoConsent } = sandbox.settings
    const auto = parameter(query, 'auto') ?? autoConsent
    const accept = c.req.header('accept') ?? ''
    const json = accept.includes('application/json') && !accept.includes('text/html')
    const describe = json ? undefined : (error: HttpError) => errorPage(error, app, query)
    return respondInBrowser(302, describe, () => {
      const request = readAuthorizationRequest(app, query)
      if (auto === 'allow' || auto === 'deny') {
        const organizationId = parameter(query, 'organization') ?? sandbox.firstOrganization.organization.id
        return decide(sandbox, request, { allow: auto === 'allow', organizationId, role: parameter(query, 'role') })
      }
      const organizations = eligibleOrganizations(sandbox)
      if (json) return Response.json(consentMetadata(sandbox, request, organizations), noStore)
      const roles: Role[] = request.actor === 'app' ? ['admin'] : availableRoles(sandbox)
      return consentPage({ app, request, organizations, roles })
    })
  },
}

/**
 * The decision on the consent page (docs/service.md#login). A program sends JSON and the consent page a form. The whole
 * request is checked again, because a client can send other values than the page showed.
 */
export const authorizeConsent: Operation = {
  route: 'POST /api/oauth/authorize/consent',
  handler: (sandbox) => (c) => {
    const { app, cors } = sandbox.settings
    const locationFor = (parameters: Parameters): string => {
      checkOrigin(c, cors)
      return decide(sandbox, readAuthorizationRequest(app, parameters), {
        allow: parameter(parameters, 'decision') !== 'deny',
        organizationId: parameter(parameters, 'target_organization_id'),
        role: parameter(parameters, 'role'),
      })
    }
    const body = c.get('body')
    if (body.type === formType) {
      const form = (body.value ?? {}) as Parameters
      return respondInBrowser(
        303,
        (error) => errorPage(error, app, form),
        () => locationFor(form),
      )
    }
    if (body.type !== 'application/json') {
      throw badRequest('The body must be sent as `application/json` or `application/x-www-form-urlencoded`.')
    }
    const parameters = readJsonObject(body)
    for (const [name, value] of Object.entries(parameters)) {
      if (typeof value !== 'string') throw badRequest(`\`${name}\` must be a string.`)
    }
    return Response.json({ redirect_to: locationFor(parameters as Parameters) }, noStore)
  },
}

// The app's id and secret are public, so any page that a person visits could log in to the sandbox. The check applies
// to browsers, because other programs send no `Origin` header.
function checkOrigin(c: Context<AppEnv>, cors: SandboxData['settings']['cors']): void {
  const origin = c.req.header('origin')
  if (origin === undefined || c.env.isOwnOrigin(origin) || isLoopbackOrigin(origin) || allowsOrigin(cors, origin))
    return
  // The browser itself sends this header. It knows the address of a proxy in front of the sandbox.
  if (c.req.header('sec-fetch-site') === 'same-origin') return
  throw forbidden('Pages of this origin cannot give consent. Allow the origin with the option `cors`.')
}

/** In milliseconds. The service's documents do not specify it. */
const codeLifetime = 60_000

/** The decision of the person on the consent page. */
interface Decision {
  allow: boolean
  organizationId: string | undefined
  role: string | undefined
}

/** Returns the redirect location, with a new code or a denial. Throws an `AuthorizationError` for a wrong request. */
function decide(sandbox: SandboxData, request: AuthorizationRequest, decision: Decision): string {
  const fail = (code: string, description: string): AuthorizationError =>
    new AuthorizationError(request, code, description)
  const deny = (description: string): string =>
    redirectLocation(request, { error: 'access_denied', error_description: description })
  if (!decision.allow) return deny('The person denied access.')

  const data = sandbox.organizations.get(decision.organizationId ?? '')
  if (data === undefined) throw fail('invalid_request', 'target_organization_id is not an eligible organization.')
  const person = data.memberWithRole(decision.role ?? 'admin')
  if (person === undefined) throw fail('invalid_request', 'The organization has no member with this role.')
  // An organization admin authorizes an app (docs/service.md#login); others can only let it act as themselves.
  if (request.actor === 'app' && person.role !== 'admin') {
    return deny('Only an organization admin can connect an app.')
  }
  const scopes = request.actor === 'self' ? limitScopesToRole(request.scopes, person.role) : request.scopes
  if (scopes.length === 0) throw fail('invalid_scope', 'The role of this person allows none of the requested scopes.')

  const code = sandbox.grants.addCode({
    grant: {
      actor: request.actor,
      scopes,
      organizationId: data.organization.id,
      memberId: request.actor === 'self' ? person.id : undefined,
    },
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge,
    expiresAt: sandbox.settings.now() + codeLifetime,
  })
  return redirectLocation(request, { code })
}

const noStore = { headers: { 'cache-control': 'no-store' } }

/**
 * Returns the response of a function, or a redirect to the location that it returns. A browser receives an
 * `AuthorizationError` as a redirect to the app, and other errors as a page. After a form the status is 303, so that
 * the browser continues with GET.
 */
function respondInBrowser(
  status: 302 | 303,
  describe: ((error: HttpError) => Response) | undefined,
  respond: () => Response | string,
): Response {
  try {
    const result = respond()
    return typeof result === 'string' ? redirect(status, result) : result
  } catch (error) {
    if (error instanceof AuthorizationError) return redirect(status, error.location)
    if (error instanceof HttpError && describe !== undefined) return describe(error)
    throw error
  }
}

function redirect(status: 302 | 303, location: string): Response {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return new Response(null, { status, headers })
}

// The reference has the shape (docs/service.md#login).
function consentMetadata(
  { settings }: SandboxData,
  { actor, redirectUri, scopes, state }: AuthorizationRequest,
  organizations: ConsentPageContent['organizations'],
): Record<string, unknown> {
  const { clientId, name, description } = settings.app
  return {
    client_id: clientId,
    app: { name, description, logo_url: null },
    actor,
    redirect_uri: redirectUri,
    scopes,
    scope_details: Object.fromEntries(
      scopes.map((scope) => [scope, describeScope(scope, actor) ?? 'Requires actor=self']),
    ),
    state,
    eligible_organizations: organizations,
  }
}

function eligibleOrganizations(sandbox: SandboxData): ConsentPageContent['organizations'] {
  return [...sandbox.organizations.values()].map(({ organization: { id, display_name, domain } }) => {
    return { id, name: display_name, domain }
  })
}

/** Returns the roles that every organization has an active member for, most powerful first. */
function availableRoles(sandbox: SandboxData): Role[] {
  const roles: Role[] = ['admin', 'moderator', 'agent']
  const organizations = [...sandbox.organizations.values()]
  return roles.filter((role) => organizations.every((data) => data.memberWithRole(role) !== undefined))
}
