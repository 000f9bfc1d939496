import * as z from 'zod/mini'
import { type FreeForm, freeForm, nullish, schemaFor } from './schema.ts'

/** The organization of the token (reference, section 2). */
export interface Organization {
  /** The organization's id. */
  id: string
  /** Its name. */
  name?: string | null
  /** The name that it goes by. */
  display_name?: string | null
  /** Its domain. */
  domain?: string | null
  /** When it was made: the one timestamp that is an ISO 8601 string and not epoch seconds. */
  created_at?: string | null
}

/** The settings of the organization (reference, section 2). */
export interface OrganizationSettings {
  /** Whether guests may submit conversations. */
  allow_guest_submission?: boolean | null
  /** Whether the AI assistant is on. */
  enable_ai_assistant?: boolean | null
  /** How the bot is set up, free form. */
  bot_configuration?: FreeForm | null
  /** The language. How it is written is not documented. */
  locale?: string | null
}

/** The body of `organization.update`. That the field is `display_name` is probable (reference, section 3.2). */
export interface UpdateOrganizationBody {
  /** The new display name. */
  display_name?: string | undefined
}

/** The body of `organization.updateSettings`. Its fields are probable, not documented (reference, section 3.2). */
export interface UpdateOrganizationSettingsBody {
  /** Whether guests may submit conversations. */
  allow_guest_submission?: boolean | undefined
  /** Whether the AI assistant is on. */
  enable_ai_assistant?: boolean | undefined
  /** How the bot is set up, free form. */
  bot_configuration?: FreeForm | undefined
  /** The language. */
  locale?: string | undefined
}

export const organizationShape = z.looseObject({
  id: z.string(),
  name: nullish(z.string()),
  display_name: nullish(z.string()),
  domain: nullish(z.string()),
  created_at: nullish(z.string()),
})

export const organizationSchema = schemaFor<Organization>()(organizationShape)

export const organizationSettingsSchema = schemaFor<OrganizationSettings>()(
  z.looseObject({
    allow_guest_submission: nullish(z.boolean()),
    enable_ai_assistant: nullish(z.boolean()),
    bot_configuration: nullish(freeForm),
    locale: nullish(z.string()),
  }),
)

export const updateOrganizationBodySchema = schemaFor<UpdateOrganizationBody>()(
  z.looseObject({ display_name: z.optional(z.string()) }),
)
export const updateOrganizationSettingsBodySchema = schemaFor<UpdateOrganizationSettingsBody>()(
  z.looseObject({
    allow_guest_submission: z.optional(z.boolean()),
    enable_ai_assistant: z.optional(z.boolean()),
    bot_configuration: z.optional(freeForm),
    locale: z.optional(z.string()),
  }),
)
