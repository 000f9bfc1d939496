import type { Grant } from '../data/grants.ts'
import { limitScopesToRole, type Scope } from '../data/scope-catalog.ts'
import type { Member } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { actorSelfRequired, forbidden, HttpError } from '../http-error.ts'
import { bearerToken } from '../incoming-request.ts'
import type { Service } from '../service.ts'
import type { ServiceOperation } from './service-operation.ts'

/** The token of a request, and whom it acts as. */
export interface Caller {
  grant: Grant
  workspace: Workspace
  person: Member | undefined
  scopes: readonly Scope[]
}

/** Returns the caller that `Authorization: Bearer` identifies. Throws a 401 for an invalid token (RFC 6750, 3.1). */
export function authenticate(service: Service, headers: Headers): Caller {
  const value = bearerToken(headers)
  if (value === undefined) throw invalidToken('Send the header `Authorization: Bearer <token>`.')
  const grant = service.grants.token(value)
  const workspace = grant && service.workspaces.get(grant.organizationId)
  if (grant === undefined || workspace === undefined) throw invalidToken('The token is unknown or revoked.')
  if (grant.memberId === undefined) return { grant, workspace, person: undefined, scopes: grant.scopes }

  // The documents do not say whether the tokens of a former member stay valid. The sandbox rejects them.
  const person = workspace.members.get(grant.memberId)
  if (person === undefined || person.archived)
    throw invalidToken('The person that the token acts as has left the organization.')
  // Limited at each request, not only at consent, because the role may have changed (docs/service.md#actors).
  return { grant, workspace, person, scopes: limitScopesToRole(grant.scopes, person.role) }
}

/** Throws an `HttpError` unless the caller has the operation's scope, actor and role, checked in this order. */
export function checkAccess(caller: Caller, operation: ServiceOperation): void {
  if (operation.scope !== undefined && !caller.scopes.includes(operation.scope)) {
    throw new HttpError(403, 'insufficient_scope', `The token is missing the scope \`${operation.scope}\`.`)
  }
  if (operation.actor === 'self' && caller.grant.actor !== 'self') throw actorSelfRequired()
  if (operation.requiredRole !== undefined && !hasRole(caller, operation.requiredRole)) {
    throw forbidden(`Only the organization's ${operation.requiredRole} can do this.`)
  }
}

function hasRole({ person, workspace }: Caller, role: 'admin' | 'owner'): boolean {
  return role === 'owner' ? person?.id === workspace.owner?.id : person?.role === 'admin'
}

function invalidToken(description: string): HttpError {
  return new HttpError(401, 'invalid_token', description, { 'www-authenticate': 'Bearer error="invalid_token"' })
}
