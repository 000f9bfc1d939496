import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import { lazyBodySchema, lazySchema } from '../lazy-schemas.ts'
import type { Contact, CreateContactBody, UpdateContactBody } from '../models/contact.ts'
import { type Operations, Resource, type SelfOnly } from './resource.ts'

export const contactOperations = {
  list: {
    id: 'contacts.list',
    method: 'GET',
    path: '/api/oauth/v1/contacts',
    scope: 'contacts:read',
    evidence: 'reference',
    envelope: 'list',
    response: lazySchema('contact'),
  },
  get: {
    id: 'contacts.get',
    method: 'GET',
    path: '/api/oauth/v1/contacts/{id}',
    scope: 'contacts:read',
    evidence: 'inferred',
    response: lazySchema('contact'),
  },
  create: {
    id: 'contacts.create',
    method: 'POST',
    path: '/api/oauth/v1/contacts',
    scope: 'contacts:write',
    actor: 'self',
    evidence: 'reference',
    body: lazyBodySchema('createContactBody'),
    response: lazySchema('contact'),
  },
  update: {
    id: 'contacts.update',
    method: 'PATCH',
    path: '/api/oauth/v1/contacts/{id}',
    scope: 'contacts:write',
    evidence: 'reference',
    body: lazyBodySchema('updateContactBody'),
    response: lazySchema('contact'),
  },
} as const satisfies Operations

/** The contacts of the organization: its customers. */
export class Contacts<out A extends Actor = Actor> extends Resource<A> {
  /** Lists the contacts. Scope `contacts:read`. Evidence: [reference](docs/service.md#contacts). */
  list(query?: ListQuery, options?: ListOptions): Paginated<Contact> {
    return this.call(contactOperations.list, { query }, options)
  }

  /**
   * Gets a contact. Scope `contacts:read`.
   *
   * @experimental Inferred: the path is a guess by analogy (see [what is known](docs/service.md#contacts)).
   */
  get(id: string, options?: CallOptions): Call<Contact> {
    return this.call(contactOperations.get, { path: { id } }, options)
  }

  /** Creates a contact. Scope `contacts:write`, `actor=self` only. Evidence: [reference](docs/service.md#contacts). */
  create(this: SelfOnly<A, Contacts>, body: CreateContactBody, options?: CallOptions): Call<Contact>
  create(body: CreateContactBody, options?: CallOptions): Call<Contact> {
    return this.call(contactOperations.create, { body }, options)
  }

  /** Updates a contact. Scope `contacts:write`. Evidence: [reference](docs/service.md#contacts). */
  update(id: string, body: UpdateContactBody, options?: CallOptions): Call<Contact> {
    return this.call(contactOperations.update, { path: { id }, body }, options)
  }
}
