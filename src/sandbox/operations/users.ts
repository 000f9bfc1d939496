import type { Member, Role } from '../data/shapes.ts'
import { forbidden, notFound, validationFailed } from '../http-error.ts'
import { optionalChoice, optionalFlag, optionalText, requiredEmail } from './fields.ts'
import { listResponse } from './listing.ts'
import {
  created,
  noContent,
  type OperationContext,
  type OperationResponse,
  ok,
  type ServiceOperation,
} from './service-operation.ts'

export const userOperations: readonly ServiceOperation[] = [
  {
    name: 'listUsers',
    method: 'GET',
    path: '/api/oauth/v1/users',
    scope: 'users:read',
    handle: (context) => listResponse(context, context.workspace.members),
  },
  {
    name: 'createUser',
    method: 'POST',
    path: '/api/oauth/v1/users',
    scope: 'users:write',
    actor: 'self',
    requiredRole: 'admin',
    handle: createUser,
  },
  {
    name: 'getUser',
    method: 'GET',
    path: '/api/oauth/v1/users/:id',
    scope: 'users:read',
    handle: (context) => ok(memberOf(context)),
  },
  {
    name: 'updateUser',
    method: 'PATCH',
    path: '/api/oauth/v1/users/:id',
    scope: 'users:write',
    actor: 'self',
    handle: updateUser,
  },
  {
    name: 'removeUser',
    method: 'DELETE',
    path: '/api/oauth/v1/users/:id',
    scope: 'users:write',
    // Managing members requires a person (docs/service.md#actors).
    actor: 'self',
    handle: (context) => {
      const member = memberOf(context)
      checkNotOwner(context, member)
      context.workspace.members.remove(member.id)
      return noContent()
    },
  },
]

const roles: readonly Role[] = ['admin', 'moderator', 'agent']

function memberOf(context: OperationContext): Member {
  const member = context.workspace.members.get(context.parameter('id'))
  if (member === undefined) throw notFound('team member')
  return member
}

function createUser(context: OperationContext): OperationResponse {
  const { workspace } = context
  const body = context.json()
  const email = requiredEmail(body, 'email')
  const name = optionalText(body, 'name') ?? null
  const role = optionalChoice(body, 'role', roles) ?? 'agent'
  if (workspace.memberByEmail(email) !== undefined)
    throw validationFailed('A team member with this `email` already exists.')
  const user = workspace.newUser(email, name)
  return created(workspace.members.add({ id: workspace.random.id('mem'), role, archived: false, user }))
}

function updateUser(context: OperationContext): OperationResponse {
  const member = memberOf(context)
  const body = context.json()
  const role = optionalChoice(body, 'role', roles)
  const archived = optionalFlag(body, 'archived')
  if ((role ?? 'admin') !== 'admin' || archived === true) checkNotOwner(context, member)
  if (role !== undefined) member.role = role
  if (archived !== undefined) member.archived = archived
  return ok(member)
}

// The documents have no such rule. Without it an organization could lose its owner and never be renamed again.
function checkNotOwner(context: OperationContext, member: Member): void {
  if (member.id === context.workspace.owner?.id) throw forbidden('The owner of the organization cannot be removed.')
}
