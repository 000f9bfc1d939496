import * as z from 'zod/mini'
import type {
  Organization,
  OrganizationSettings,
  UpdateOrganizationBody,
  UpdateOrganizationSettingsBody,
} from '../models/organization.ts'
import { freeForm, nullish, schemaFor } from './schema.ts'

export const organizationShape = z.object({
  id: z.string(),
  name: nullish(z.string()),
  display_name: nullish(z.string()),
  domain: nullish(z.string()),
  created_at: nullish(z.string()),
})

export const organizationSchema = schemaFor<Organization>()(organizationShape)

export const organizationSettingsSchema = schemaFor<OrganizationSettings>()(
  z.object({
    allow_guest_submission: nullish(z.boolean()),
    enable_ai_assistant: nullish(z.boolean()),
    bot_configuration: nullish(freeForm),
    locale: nullish(z.string()),
  }),
)

export const updateOrganizationBodySchema = schemaFor<UpdateOrganizationBody>()(
  z.object({ display_name: z.optional(z.string()) }),
)
export const updateOrganizationSettingsBodySchema = schemaFor<UpdateOrganizationSettingsBody>()(
  z.object({
    allow_guest_submission: z.optional(z.boolean()),
    enable_ai_assistant: z.optional(z.boolean()),
    bot_configuration: z.optional(freeForm),
    locale: z.optional(z.string()),
  }),
)
