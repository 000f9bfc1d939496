import type { Contact } from '../data/shapes.ts'
import { notFound, validationFailed } from '../http-error.ts'
import { optionalFlag, optionalText, requiredEmail } from './fields.ts'
import { pageOrAll } from './listing.ts'
import { type Answer, type Call, created, type Operation, ok } from './service-operation.ts'

export const contactOperations: readonly Operation[] = [
  {
    name: 'listContacts',
    method: 'GET',
    path: '/api/oauth/v1/contacts',
    scope: 'contacts:read',
    answer: (call) => pageOrAll(call, call.workspace.contacts),
  },
  {
    name: 'createContact',
    method: 'POST',
    path: '/api/oauth/v1/contacts',
    scope: 'contacts:write',
    actor: 'self',
    answer: createContact,
  },
  {
    name: 'getContact',
    method: 'GET',
    path: '/api/oauth/v1/contacts/:id',
    scope: 'contacts:read',
    answer: (call) => ok(contactOf(call)),
  },
  {
    name: 'updateContact',
    method: 'PATCH',
    path: '/api/oauth/v1/contacts/:id',
    scope: 'contacts:write',
    answer: updateContact,
  },
]

function contactOf(call: Call): Contact {
  const contact = call.workspace.contacts.get(call.parameter('id'))
  if (contact === undefined) throw notFound('contact')
  return contact
}

function createContact(call: Call): Answer {
  const { workspace, service } = call
  const body = call.json()
  const email = requiredEmail(body, 'email')
  const name = optionalText(body, 'name') ?? null
  if (workspace.contactByEmail(email) !== undefined) throw validationFailed('A contact with this `email` exists.')
  return created(workspace.addContact(email, name, 'api', service.seconds()))
}

function updateContact(call: Call): Answer {
  const contact = contactOf(call)
  const blocked = optionalFlag(call.json(), 'blocked')
  if (blocked !== undefined) contact.blocked = blocked
  contact.updated_at = call.service.seconds()
  return ok(contact)
}
