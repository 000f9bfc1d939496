import type { FreeForm } from './free-form.ts'
import type { User } from './user.ts'

/** A contact: a customer of the organization ([reference](docs/service.md#contacts)). */
export interface Contact {
  id: string
  /** The person, with name and email address. */
  user?: User | null
  /** The channel. The possible values are not documented. */
  source?: string | null
  blocked?: boolean | null
  starred?: boolean | null
  active?: boolean | null
  /** Details of the source, as a free-form object. */
  source_info?: FreeForm | null
  /** Free-form object. The chat widget merges its `userData` into it ([reference](docs/service.md#contacts)). */
  attributes?: FreeForm | null
  /** The possible values are not documented. */
  auth_type?: string | null
  /** Creation time, in seconds since the Unix epoch. */
  inserted_at?: number | null
  /** Time of the latest change, in seconds since the Unix epoch. */
  updated_at?: number | null
  /** Time of the latest activity, in seconds since the Unix epoch. */
  active_at?: number | null
}

/** The body of `contacts.create` ([reference](docs/service.md#contacts)). Pass undocumented fields in `extraBody`. */
export interface CreateContactBody {
  email: string
  /** Probable, not documented. */
  name?: string | undefined
}

/** The body of `contacts.update`. The field is probable, not documented ([reference](docs/service.md#contacts)). */
export interface UpdateContactBody {
  blocked?: boolean | undefined
}
