import type { Member, Role } from '../data/shapes.ts'
import { forbidden, notFound, validationFailed } from '../http-error.ts'
import { optionalChoice, optionalFlag, optionalText, requiredEmail } from './fields.ts'
import { pageOrAll } from './listing.ts'
import { type Answer, type Call, created, noContent, type Operation, ok } from './service-operation.ts'

export const userOperations: readonly Operation[] = [
  {
    name: 'listUsers',
    method: 'GET',
    path: '/api/oauth/v1/users',
    scope: 'users:read',
    answer: (call) => pageOrAll(call, call.workspace.members),
  },
  {
    name: 'createUser',
    method: 'POST',
    path: '/api/oauth/v1/users',
    scope: 'users:write',
    actor: 'self',
    heldBy: 'admin',
    answer: createUser,
  },
  {
    name: 'getUser',
    method: 'GET',
    path: '/api/oauth/v1/users/:id',
    scope: 'users:read',
    answer: (call) => ok(memberOf(call)),
  },
  {
    name: 'updateUser',
    method: 'PATCH',
    path: '/api/oauth/v1/users/:id',
    scope: 'users:write',
    actor: 'self',
    answer: updateUser,
  },
  {
    name: 'removeUser',
    method: 'DELETE',
    path: '/api/oauth/v1/users/:id',
    scope: 'users:write',
    // Managing members takes a person (specification, section 5).
    actor: 'self',
    answer: (call) => {
      const member = memberOf(call)
      sparesOwner(call, member)
      call.workspace.members.remove(member.id)
      return noContent()
    },
  },
]

const roles: readonly Role[] = ['admin', 'moderator', 'agent']

function memberOf(call: Call): Member {
  const member = call.workspace.members.get(call.parameter('id'))
  if (member === undefined) throw notFound('team member')
  return member
}

function createUser(call: Call): Answer {
  const { workspace } = call
  const body = call.json()
  const email = requiredEmail(body, 'email')
  const name = optionalText(body, 'name') ?? null
  const role = optionalChoice(body, 'role', roles) ?? 'agent'
  if (workspace.memberByEmail(email) !== undefined) throw validationFailed('A team member with this `email` exists.')
  const user = workspace.newUser(email, name)
  return created(workspace.members.add({ id: workspace.random.id('mem'), role, archived: false, user }))
}

function updateUser(call: Call): Answer {
  const member = memberOf(call)
  const body = call.json()
  const role = optionalChoice(body, 'role', roles)
  const archived = optionalFlag(body, 'archived')
  if ((role ?? 'admin') !== 'admin' || archived === true) sparesOwner(call, member)
  if (role !== undefined) member.role = role
  if (archived !== undefined) member.archived = archived
  return ok(member)
}

// The sandbox's own rule: an organization that lost its owner could never be renamed again.
function sparesOwner(call: Call, member: Member): void {
  if (member.id === call.workspace.owner?.id) throw forbidden('The owner of the organization cannot be removed.')
}
