import { isPlainObject } from '../../shared/json.ts'
import type { Operation } from '../app-env.ts'
import { email, flag, nonEmptyText, role, valid } from '../checks.ts'
import type { Collection } from '../data/collection.ts'
import { findByEmail, type OrganizationData } from '../data/organization-data.ts'
import type { LooseRecord, Member } from '../data/shapes.ts'
import { alreadyExists, forbidden } from '../http.ts'
import { type Caller, finder, operation } from './operation.ts'

const findOrganization = ({ data }: Caller) => data.organization
const findContact = finder('contact', ({ contacts }) => contacts)
const findMember = finder('team member', ({ members }) => members)

/** Operations on the token, the organization, its contacts, team members, tasks and segments. */
export const organizationOperations = {
  getMe: operation({
    route: 'GET /me',
    // The only resource that is not wrapped in `data` (docs/service.md#identity).
    unwrapped: true,
    handle: ({ sandbox, data, grant, scopes, person }) => {
      const { clientId, name } = sandbox.settings.app
      return {
        application: { id: `application_${clientId}`, name, client_id: clientId },
        organization: data.organization,
        actor: grant.actor,
        scopes,
        user: person?.user ?? null,
      }
    },
  }),
  getOrganization: operation({ route: 'GET /organization', scope: 'organization:read', find: findOrganization }),
  updateOrganization: operation({
    route: 'PATCH /organization',
    scope: 'organization:write',
    actor: 'self',
    role: 'owner',
    optional: { display_name: nonEmptyText },
    find: findOrganization,
  }),
  getOrganizationSettings: operation({
    route: 'GET /organization/settings',
    scope: 'organization:read',
    find: ({ data }) => data.settings,
  }),
  updateOrganizationSettings: operation({
    route: 'PATCH /organization/settings',
    scope: 'organization:write',
    optional: {
      allow_guest_submission: flag,
      enable_ai_assistant: flag,
      bot_configuration: valid<Record<string, unknown>>('an object', isPlainObject),
      locale: nonEmptyText,
    },
    find: ({ data }) => data.settings,
  }),
  listContacts: operation({
    route: 'GET /contacts',
    scope: 'contacts:read',
    list: ({ data }) => data.contacts,
  }),
  createContact: operation({
    route: 'POST /contacts',
    scope: 'contacts:write',
    actor: 'self',
    required: { email },
    optional: { name: nonEmptyText },
    handle({ data, sandbox, body: { email, name = null } }) {
      if (findByEmail(data.contacts, email) !== undefined) throw alreadyExists('contact')
      return data.addContact(email, name, 'api', sandbox.seconds())
    },
  }),
  getContact: operation({ route: 'GET /contacts/:id', scope: 'contacts:read', find: findContact }),
  updateContact: operation({
    route: 'PATCH /contacts/:id',
    scope: 'contacts:write',
    find: findContact,
    optional: { blocked: flag },
    handle: ({ sandbox, found, body }) => Object.assign(found, body, { updated_at: sandbox.seconds() }),
  }),
  listUsers: operation({ route: 'GET /users', scope: 'users:read', list: ({ data }) => data.members }),
  createUser: operation({
    route: 'POST /users',
    scope: 'users:write',
    actor: 'self',
    role: 'admin',
    required: { email },
    optional: { name: nonEmptyText, role },
    handle({ data, body: { email, name = null, role = 'agent' } }) {
      if (findByEmail(data.members, email) !== undefined) throw alreadyExists('team member')
      const user = data.newUser(email, name)
      return data.members.add({ id: data.random.id('mem'), role, archived: false, user })
    },
  }),
  getUser: operation({ route: 'GET /users/:id', scope: 'users:read', find: findMember }),
  updateUser: operation({
    route: 'PATCH /users/:id',
    scope: 'users:write',
    actor: 'self',
    find: findMember,
    optional: { role, archived: flag },
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
      call.data.members.remove(call.found.id)
    },
  }),
  ...recordOperations('Task', 'tsk', (data) => data.tasks),
  ...recordOperations('Segment', 'seg', (data) => data.segments),
}

/**
 * Returns operations on tasks or segments, which exist because the documents list their scopes
 * (docs/service.md#scopes). The documents show neither paths nor fields. The paths are therefore inferred by analogy,
 * and any JSON object is stored unchanged.
 */
function recordOperations(
  noun: 'Task' | 'Segment',
  idPrefix: string,
  collectionOf: (data: OrganizationData) => Collection<LooseRecord>,
): Record<string, Operation> {
  const kind = noun === 'Task' ? 'task' : 'segment'
  const path = `/${kind}s` as const
  const [read, write] = [`${kind}s:read`, `${kind}s:write`] as const
  const isOpen = true
  const find = finder(kind, collectionOf)
  return {
    [`list${noun}s`]: operation({
      route: `GET ${path}`,
      scope: read,
      list: ({ data }) => collectionOf(data),
    }),
    [`create${noun}`]: operation({
      route: `POST ${path}`,
      scope: write,
      isOpen,
      handle: ({ data, body }) => collectionOf(data).add({ ...body, id: data.random.id(idPrefix) }),
    }),
    [`get${noun}`]: operation({ route: `GET ${path}/:id`, scope: read, find }),
    [`update${noun}`]: operation({
      route: `PATCH ${path}/:id`,
      scope: write,
      find,
      isOpen,
      handle: ({ found, body }) => Object.assign(found, body, { id: found.id }),
    }),
    [`delete${noun}`]: operation({
      route: `DELETE ${path}/:id`,
      scope: write,
      find,
      handle: ({ data, found }) => collectionOf(data).remove(found.id),
    }),
  }
}

// This rule is inferred. If the owner could be removed, the organization could never be renamed again.
function checkNotOwner({ data }: Caller, member: Member): void {
  if (member.id === data.owner?.id) throw forbidden('The owner of the organization cannot be removed.')
}
