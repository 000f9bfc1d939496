import * as z from 'zod/mini'
import type { Contact, Member } from '../data/shapes.ts'
import { forbidden, notFound, validationFailed } from '../http-error.ts'
import { flag, oneOf } from '../schema.ts'
import { type Caller, operation, requiredEmail, requiredText } from './operation.ts'

const role = oneOf('admin', 'moderator', 'agent')

/** Operations on contacts, the customers of an organization, and on users, its team members. */
export const peopleOperations = {
  listContacts: operation({
    route: 'GET /contacts',
    scope: 'contacts:read',
    list: ({ workspace }) => workspace.contacts,
  }),
  createContact: operation({
    route: 'POST /contacts',
    scope: 'contacts:write',
    actor: 'self',
    body: z.object({ email: requiredEmail, name: z.optional(requiredText) }),
    handle({ workspace, service, body: { email, name = null } }) {
      if (workspace.contactByEmail(email) !== undefined)
        throw validationFailed('A contact with this `email` already exists.')
      return workspace.addContact(email, name, 'api', service.seconds())
    },
  }),
  getContact: operation({ route: 'GET /contacts/:id', scope: 'contacts:read', find: findContact }),
  updateContact: operation({
    route: 'PATCH /contacts/:id',
    scope: 'contacts:write',
    find: findContact,
    body: z.object({ blocked: z.optional(flag) }),
    handle: ({ service, found, body }) => Object.assign(found, body, { updated_at: service.seconds() }),
  }),
  listUsers: operation({ route: 'GET /users', scope: 'users:read', list: ({ workspace }) => workspace.members }),
  createUser: operation({
    route: 'POST /users',
    scope: 'users:write',
    actor: 'self',
    role: 'admin',
    body: z.object({ email: requiredEmail, name: z.optional(requiredText), role: z.optional(role) }),
    handle({ workspace, body: { email, name = null, role = 'agent' } }) {
      if (workspace.memberByEmail(email) !== undefined)
        throw validationFailed('A team member with this `email` already exists.')
      const user = workspace.newUser(email, name)
      return workspace.members.add({ id: workspace.random.id('mem'), role, archived: false, user })
    },
  }),
  getUser: operation({ route: 'GET /users/:id', scope: 'users:read', find: findMember }),
  updateUser: operation({
    route: 'PATCH /users/:id',
    scope: 'users:write',
    actor: 'self',
    find: findMember,
    body: z.object({ role: z.optional(role), archived: z.optional(flag) }),
    handle(call) {
      const { found, body } = call
      if ((body.role ?? 'admin') !== 'admin' || body.archived === true) checkNotOwner(call, found)
      return Object.assign(found, body)
    },
  }),
  removeUser: operation({
    route: 'DELETE /users/:id',
    scope: 'users:write',
    // Managing members requires a person (docs/service.md#actors).
    actor: 'self',
    find: findMember,
    handle(call) {
      checkNotOwner(call, call.found)
      call.workspace.members.remove(call.found.id)
    },
  }),
}

function findContact({ workspace, parameters }: Caller): Contact {
  const contact = workspace.contacts.get(parameters.id ?? '')
  if (contact === undefined) throw notFound('contact')
  return contact
}

function findMember({ workspace, parameters }: Caller): Member {
  const member = workspace.members.get(parameters.id ?? '')
  if (member === undefined) throw notFound('team member')
  return member
}

// The documents have no such rule. Without it an organization could lose its owner and never be renamed again.
function checkNotOwner({ workspace }: Caller, member: Member): void {
  if (member.id === workspace.owner?.id) throw forbidden('The owner of the organization cannot be removed.')
}
