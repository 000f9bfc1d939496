import { type Checks, checkOptions, oneOf, text } from './check-values.ts'
import type { Grant } from './data/grants.ts'
import type { Scope, ScopeName } from './data/scope-catalog.ts'
import type { Member } from './data/shapes.ts'
import type { Workspace } from './data/workspace.ts'
import { scopesCheck } from './sandbox-settings.ts'
import type { Service } from './service.ts'

/** Options of `sandbox.issueToken`: what the token is bound to. */
export interface TokenOptions {
  /**
   * Whether the token acts as the app or as a person.
   * @default 'app'
   */
  actor?: 'app' | 'self'
  /**
   * Granted scopes. A `self` token can use only those that the person's role allows.
   * @default every scope that the app declares
   */
  scopes?: readonly ScopeName[]
  /**
   * Organization id.
   * @default the first organization
   */
  organization?: string
  /**
   * Membership id of the person that a `self` token acts as.
   * @default the first member with `role`
   */
  member?: string
  /**
   * Role of the person that a `self` token acts as. The first `'admin'` is the owner. Ignored with `member`.
   * @default 'admin'
   */
  role?: 'admin' | 'moderator' | 'agent'
}

const optionChecks: Checks<TokenOptions> = {
  actor: oneOf('app', 'self'),
  scopes: scopesCheck,
  organization: text,
  member: text,
  role: oneOf('admin', 'moderator', 'agent'),
}

/** Returns a token for this actor that a person can copy: the one in the options, or one that is issued on the first call. */
export function readyToken(service: Service, actor: 'app' | 'self'): string {
  return service.readyTokens.get(actor) ?? renewReadyToken(service, actor)
}

/** Issues the ready token for this actor again. A token in the options keeps its value. */
export function renewReadyToken(service: Service, actor: 'app' | 'self'): string {
  const token = issueToken(service, { actor }, service.settings.tokens[actor])
  service.readyTokens.set(actor, token)
  return token
}

/** Issues a token. Its value is random unless it is given. */
export function issueToken(service: Service, options: TokenOptions = {}, value?: string): string {
  checkOptions('`issueToken` option', options, optionChecks)
  const { actor = 'app', scopes = service.settings.app.scopes, organization, member, role = 'admin' } = options
  const workspace = organization === undefined ? service.firstWorkspace : service.workspace(organization)
  const person = actor === 'self' || member !== undefined ? personFor(workspace, member, role) : undefined
  const grant: Grant = {
    actor,
    scopes: [...scopes] as Scope[],
    organizationId: workspace.organization.id,
    memberId: actor === 'self' ? person?.id : undefined,
  }
  return service.grants.addToken(grant, { fromLogin: false, ...(value !== undefined && { value }) })
}

function personFor(workspace: Workspace, membershipId: string | undefined, role: string): Member {
  const person = membershipId === undefined ? workspace.memberWithRole(role) : workspace.members.get(membershipId)
  if (person !== undefined) return person
  const where = `The organization ${workspace.organization.id} has no member with the`
  if (membershipId !== undefined) {
    throw new TypeError(`${where} membership id ${membershipId}. Use an id from \`sandbox.state.members\`.`)
  }
  const members = workspace.members.all().filter(({ archived }) => !archived)
  const roles = [...new Set(members.map((member) => member.role))]
  throw new TypeError(`${where} role ${role}. Use one of: ${roles.join(', ')}.`)
}
