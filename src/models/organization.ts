import * as z from 'zod/mini'
import { documents, type FreeForm, field, freeForm } from './schema.ts'

/** The organization of the token (reference, section 2). */
export interface Organization {
  /** The organization's id. */
  id: string
  name?: string | null
  display_name?: string | null
  domain?: string | null
  /** When it was made: the one timestamp that is an ISO 8601 string and not epoch seconds. */
  created_at?: string | null
}

/** The settings of the organization (reference, section 2). */
export interface OrganizationSettings {
  allow_guest_submission?: boolean | null
  enable_ai_assistant?: boolean | null
  /** Free form. */
  bot_configuration?: FreeForm | null
  locale?: string | null
}

/** The body of `organization.update`. That the field is `display_name` is probable (reference, section 3.2). */
export interface UpdateOrganizationBody {
  display_name?: string
  [field: string]: unknown
}

/** The body of `organization.updateSettings`. Its fields are probable, not documented (reference, section 3.2). */
export interface UpdateOrganizationSettingsBody {
  allow_guest_submission?: boolean
  enable_ai_assistant?: boolean
  bot_configuration?: FreeForm
  locale?: string
  [field: string]: unknown
}

export const organizationShape = z.looseObject({
  id: z.string(),
  name: field(z.string()),
  display_name: field(z.string()),
  domain: field(z.string()),
  created_at: field(z.string()),
})

export const organizationSchema = documents<Organization>()(organizationShape)

export const organizationSettingsSchema = documents<OrganizationSettings>()(
  z.looseObject({
    allow_guest_submission: field(z.boolean()),
    locale: field(z.string()),
    enable_ai_assistant: field(z.boolean()),
    bot_configuration: field(freeForm),
  }),
)

export const updateOrganizationBodySchema = documents<UpdateOrganizationBody>()(
  z.looseObject({ display_name: z.exactOptional(z.string()) }),
)
export const updateOrganizationSettingsBodySchema = documents<UpdateOrganizationSettingsBody>()(
  z.looseObject({
    allow_guest_submission: z.exactOptional(z.boolean()),
    enable_ai_assistant: z.exactOptional(z.boolean()),
    bot_configuration: z.exactOptional(freeForm),
    locale: z.exactOptional(z.string()),
  }),
)
