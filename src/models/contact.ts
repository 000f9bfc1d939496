import * as z from 'zod/mini'
import { type FreeForm, freeForm, nullish, schemaFor } from './schema.ts'
import { type User, userShape } from './user.ts'

/** A contact: a customer of the organization (reference, section 2). */
export interface Contact {
  /** The contact's id. */
  id: string
  /** The person. Name and email live here. */
  user?: User | null
  /** Where it came from. The spellings are not documented. */
  source?: string | null
  /** Whether the contact is blocked. */
  blocked?: boolean | null
  /** Whether the contact is starred. */
  starred?: boolean | null
  /** Whether the contact is active. */
  active?: boolean | null
  /** More about where it came from, free form. */
  source_info?: FreeForm | null
  /** The attributes of the contact, free form. The chat widget's `userData` is merged into them (reference, 5.6). */
  attributes?: FreeForm | null
  /** How the contact is authenticated. The spellings are not documented. */
  auth_type?: string | null
  /** When it was made, in epoch seconds. */
  inserted_at?: number | null
  /** When it was last changed, in epoch seconds. */
  updated_at?: number | null
  /** When it was last active, in epoch seconds. */
  active_at?: number | null
}

/** The body of `contacts.create` (reference, section 3.2). Put undocumented fields into `extraBody`. */
export interface CreateContactBody {
  /** The person's email address. */
  email: string
  /** The person's name. Probable, not documented. */
  name?: string | undefined
}

/** The body of `contacts.update`. That it takes `blocked` is probable, not documented (reference, section 3.2). */
export interface UpdateContactBody {
  /** Whether the contact is blocked. */
  blocked?: boolean | undefined
}

export const contactSchema = schemaFor<Contact>()(
  z.looseObject({
    id: z.string(),
    user: nullish(userShape),
    source: nullish(z.string()),
    blocked: nullish(z.boolean()),
    starred: nullish(z.boolean()),
    active: nullish(z.boolean()),
    source_info: nullish(freeForm),
    attributes: nullish(freeForm),
    auth_type: nullish(z.string()),
    inserted_at: nullish(z.number()),
    updated_at: nullish(z.number()),
    active_at: nullish(z.number()),
  }),
)

export const createContactBodySchema = schemaFor<CreateContactBody>()(
  z.looseObject({ email: z.string(), name: z.optional(z.string()) }),
)
export const updateContactBodySchema = schemaFor<UpdateContactBody>()(
  z.looseObject({ blocked: z.optional(z.boolean()) }),
)
