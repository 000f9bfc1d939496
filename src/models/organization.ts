import * as z from 'zod/mini'
import { type FreeForm, freeForm, nullish, schemaFor } from './schema.ts'

/** The organization of the token ([reference](docs/service.md#organization)). */
export interface Organization {
  id: string
  name?: string | null
  display_name?: string | null
  domain?: string | null
  /** Creation time, as an ISO 8601 string. All other timestamps are in seconds since the Unix epoch. */
  created_at?: string | null
}

/** The settings of the organization ([reference](docs/service.md#organization)). */
export interface OrganizationSettings {
  allow_guest_submission?: boolean | null
  /** Whether the AI assistant is enabled. */
  enable_ai_assistant?: boolean | null
  /** Bot configuration, as a free-form object. */
  bot_configuration?: FreeForm | null
  /** The language. The format is not documented. */
  locale?: string | null
}

/**
 * The body of `organization.update`. The name of the field is probable, not documented
 * ([reference](docs/service.md#organization)).
 */
export interface UpdateOrganizationBody {
  display_name?: string | undefined
}

/**
 * The body of `organization.updateSettings`. Its fields are probable, not documented
 * ([reference](docs/service.md#organization)).
 */
export interface UpdateOrganizationSettingsBody {
  allow_guest_submission?: boolean | undefined
  /** Whether the AI assistant is enabled. */
  enable_ai_assistant?: boolean | undefined
  /** Bot configuration, as a free-form object. */
  bot_configuration?: FreeForm | undefined
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
