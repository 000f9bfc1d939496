import type { Member, Role } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { capByRole } from '../scopes.ts'
import type { Service } from '../service.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { AuthorizationError, redirectLocation } from './redirect.ts'

/** What the person on the consent screen chose. */
export interface Decision {
  allow: boolean
  organizationId: string | undefined
  role: string | undefined
}

/** Where the browser goes after a decision. Throws an `AuthorizationError` unless a code was granted. */
export function settle(service: Service, request: AuthorizationRequest, decision: Decision): string {
  const fail = (code: string, description: string): AuthorizationError =>
    new AuthorizationError(request, code, description)
  if (!decision.allow) throw fail('access_denied', 'The person did not allow the access.')

  const workspace = service.workspaces.get(decision.organizationId ?? '')
  if (workspace === undefined) throw fail('invalid_request', 'target_organization_id is no eligible organization.')
  const person = memberWithRole(workspace, decision.role ?? 'admin')
  if (person === undefined) throw fail('invalid_request', 'The organization has nobody with this role.')
  // An organization admin authorizes an app (specification, section 1); others can only let it act as themselves.
  if (request.actor === 'app' && person.role !== 'admin') {
    throw fail('access_denied', 'Only an organization admin may connect an app.')
  }
  const scopes = request.actor === 'self' ? capByRole(request.scopes, person.role) : request.scopes
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

/** The first member with this role who has not left; for `admin` that is the owner. */
export function memberWithRole(workspace: Workspace, role: string): Member | undefined {
  return workspace.members.find((member) => member.role === role && !member.archived)
}

/** The roles that somebody has in every organization, most powerful first. */
export function rolesOnOffer(service: Service): Role[] {
  const roles: Role[] = ['admin', 'moderator', 'agent']
  const workspaces = [...service.workspaces.values()]
  return roles.filter((role) => workspaces.every((workspace) => memberWithRole(workspace, role) !== undefined))
}
