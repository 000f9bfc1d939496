import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import type { Contact, CreateContactBody, UpdateContactBody } from '../generated/models.ts'
import { contactOperations } from '../generated/operations.ts'
import { Resource, type SelfOnly } from './resource.ts'

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
