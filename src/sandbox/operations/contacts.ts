import type { Contact } from '../data/shapes.ts'
import { notFound, validationFailed } from '../http-error.ts'
import { optionalFlag, optionalText, requiredEmail } from './fields.ts'
import { listResponse } from './listing.ts'
import {
  created,
  type OperationContext,
  type OperationResponse,
  ok,
  type ServiceOperation,
} from './service-operation.ts'

export const contactOperations: readonly ServiceOperation[] = [
  {
    name: 'listContacts',
    method: 'GET',
    path: '/api/oauth/v1/contacts',
    scope: 'contacts:read',
    handle: (context) => listResponse(context, context.workspace.contacts),
  },
  {
    name: 'createContact',
    method: 'POST',
    path: '/api/oauth/v1/contacts',
    scope: 'contacts:write',
    actor: 'self',
    handle: createContact,
  },
  {
    name: 'getContact',
    method: 'GET',
    path: '/api/oauth/v1/contacts/:id',
    scope: 'contacts:read',
    handle: (context) => ok(contactOf(context)),
  },
  {
    name: 'updateContact',
    method: 'PATCH',
    path: '/api/oauth/v1/contacts/:id',
    scope: 'contacts:write',
    handle: updateContact,
  },
]

function contactOf(context: OperationContext): Contact {
  const contact = context.workspace.contacts.get(context.parameter('id'))
  if (contact === undefined) throw notFound('contact')
  return contact
}

function createContact(context: OperationContext): OperationResponse {
  const { workspace, service } = context
  const body = context.json()
  const email = requiredEmail(body, 'email')
  const name = optionalText(body, 'name') ?? null
  if (workspace.contactByEmail(email) !== undefined)
    throw validationFailed('A contact with this `email` already exists.')
  return created(workspace.addContact(email, name, 'api', service.seconds()))
}

function updateContact(context: OperationContext): OperationResponse {
  const contact = contactOf(context)
  const blocked = optionalFlag(context.json(), 'blocked')
  if (blocked !== undefined) contact.blocked = blocked
  contact.updated_at = context.service.seconds()
  return ok(contact)
}
