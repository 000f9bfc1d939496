import * as z from 'zod/mini'
import type { Contact, CreateContactBody, UpdateContactBody } from '../models/contact.ts'
import { freeForm, nullish, schemaFor } from './schema.ts'
import { userShape } from './user.ts'

export const contactSchema = schemaFor<Contact>()(
  z.object({
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
  z.object({ email: z.string(), name: z.optional(z.string()) }),
)
export const updateContactBodySchema = schemaFor<UpdateContactBody>()(z.object({ blocked: z.optional(z.boolean()) }))
