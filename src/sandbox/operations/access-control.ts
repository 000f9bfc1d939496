import type { Grant } from '../data/grants.ts'
import { limitScopesToRole, type Scope } from '../data/scope-catalog.ts'
import type { Member } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { actorSelfRequired, forbidden, HttpError } from '../http-error.ts'
import type { Service } from '../service.ts'
import type { ServiceOperation } from './service-operation.ts'

/** Whose request it is. */
export interface Caller {
  grant: Grant
  workspace: Workspace
  person: Member | undefined
  scopes: readonly Scope[]
}

/** Finds the token behind `Authorization: Bearer`; refuses with 401 (RFC 6750, 3.1). */
export function authenticate(service: Service, authorization: string | null): Caller {
  const value = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (value === undefined) throw invalidToken('The request needs the header `Authorization: Bearer <token>`.')
  const grant = service.grants.token(value)
  const workspace = grant && service.workspaces.get(grant.organizationId)
  if (grant === undefined || workspace === undefined) throw invalidToken('The token is unknown or was revoked.')
  if (grant.memberId === undefined) return { grant, workspace, person: undefined, scopes: grant.scopes }

  // The documents do not say what becomes of the tokens of somebody who left; the sandbox stops taking them.
  const person = workspace.members.get(grant.memberId)
  if (person === undefined || person.archived) throw invalidToken('The token’s person has left the organization.')
  // Capped at each context and not only at consent, because the role may have changed since (specification, section 5).
  return { grant, workspace, person, scopes: limitScopesToRole(grant.scopes, person.role) }
}

/** Refuses what the caller may not do: first by scope, then by actor, then by the person's place. */
export function checkAccess(caller: Caller, operation: ServiceOperation): void {
  if (operation.scope !== undefined && !caller.scopes.includes(operation.scope)) {
    throw new HttpError(403, 'insufficient_scope', `The token is missing the scope \`${operation.scope}\`.`)
  }
  if (operation.actor === 'self' && caller.grant.actor !== 'self') throw actorSelfRequired()
  if (operation.heldBy !== undefined && !holds(operation.heldBy, caller)) {
    throw forbidden(`Only the organization's ${operation.heldBy} may do this.`)
  }
}

function holds(place: 'admin' | 'owner', { person, workspace }: Caller): boolean {
  return place === 'owner' ? person?.id === workspace.owner?.id : person?.role === 'admin'
}

function invalidToken(description: string): HttpError {
  return new HttpError(401, 'invalid_token', description, { 'www-authenticate': 'Bearer error="invalid_token"' })
}
