import type { FreeForm } from './free-form.ts'
import type { User } from './user.ts'

/** A contact: a customer of the organization ([reference](docs/service.md#contacts)). */
export interface Contact {
  /** The id of the contact. */
  id: string
  /** The person, with name and email address (inferred). */
  user?: User | null
  /** The channel (inferred). The possible values are not documented. */
  source?: string | null
  /** Whether the contact is blocked (inferred). */
  blocked?: boolean | null
  /** Whether the contact is starred (inferred). */
  starred?: boolean | null
  /** Whether the contact is active (inferred). */
  active?: boolean | null
  /** Details of the source, as a free-form object (inferred). */
  source_info?: FreeForm | null
  /** Free-form object, into which the chat widget merges its `userData`. */
  attributes?: FreeForm | null
  /** How the contact identified itself (inferred). The possible values are not documented. */
  auth_type?: string | null
  /** Creation time, in seconds since the Unix epoch (inferred). */
  inserted_at?: number | null
  /** Time of the latest change, in seconds since the Unix epoch (inferred). */
  updated_at?: number | null
  /** Time of the latest activity, in seconds since the Unix epoch (inferred). */
  active_at?: number | null
}

/** The body of `contacts.create` ([reference](docs/service.md#contacts)). Pass undocumented fields in `extraBody`. */
export interface CreateContactBody {
  /** Email address of the contact (inferred). */
  email: string
  /** Full name. The field is inferred. */
  name?: string | undefined
}

/** The body of `contacts.update`. Its field is inferred ([reference](docs/service.md#contacts)). */
export interface UpdateContactBody {
  /** Whether the contact is blocked. The field is inferred. */
  blocked?: boolean | undefined
}
