import type { Member } from './data/shapes.ts'
import type { Workspace } from './data/workspace.ts'
import { memberWithRole } from './oauth/decision.ts'
import { checkScopes } from './options.ts'
import type { Service } from './service.ts'
import { workspaceOf } from './state.ts'

/** What a token is to be bound to. */
export interface TokenOptions {
  /** Default: `'app'`. */
  actor?: 'app' | 'self'
  /** Granted scopes; for `self` less what the person's role may not have. Default: all that the app declares. */
  scopes?: readonly string[]
  /** Organization id. Default: the first organization. */
  organization?: string
  /** Membership id of the person that a `self` token acts as. Default: the first member with `role`. */
  member?: string
  /** Role of the person that a `self` token acts as, `'admin'` being the owner. Default: `'admin'`. */
  role?: 'admin' | 'moderator' | 'agent'
}

export function issueToken(service: Service, options: TokenOptions = {}): string {
  const { actor = 'app', scopes = service.settings.app.scopes, organization, member, role = 'admin' } = options
  const workspace = organization === undefined ? service.home : workspaceOf(service, organization)
  return service.grants.addToken({
    actor,
    scopes: checkScopes(scopes),
    organizationId: workspace.organization.id,
    memberId: actor === 'self' ? personFor(workspace, member, role).id : undefined,
  })
}

function personFor(workspace: Workspace, membershipId: string | undefined, role: string): Member {
  const person = membershipId === undefined ? memberWithRole(workspace, role) : workspace.members.get(membershipId)
  if (person !== undefined) return person
  const wanted = membershipId === undefined ? `with the role ${role}` : `with the membership id ${membershipId}`
  throw new TypeError(`The organization ${workspace.organization.id} has no member ${wanted}.`)
}
