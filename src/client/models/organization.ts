import type { FreeForm } from './free-form.ts'

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
