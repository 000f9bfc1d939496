import type { FreeForm } from './free-form.ts'

/** The organization of the token ([reference](docs/service.md#organization)). */
export interface Organization {
  /** The id of the organization. */
  id: string
  /** The name (inferred). */
  name?: string | null
  /** The name that people see (inferred). */
  display_name?: string | null
  /** The domain (inferred). */
  domain?: string | null
  /** Creation time, as an ISO 8601 string (inferred). All other timestamps are in seconds since the Unix epoch. */
  created_at?: string | null
}

/** The settings of the organization ([reference](docs/service.md#organization)). */
export interface OrganizationSettings {
  /** Whether guests can start conversations (inferred). */
  allow_guest_submission?: boolean | null
  /** Whether the AI assistant is enabled (inferred). */
  enable_ai_assistant?: boolean | null
  /** Bot configuration, as a free-form object (inferred). */
  bot_configuration?: FreeForm | null
  /** The language (inferred). The format is not documented. */
  locale?: string | null
}

/** The body of `organization.update`. Its field is inferred ([reference](docs/service.md#organization)). */
export interface UpdateOrganizationBody {
  /** The name that people see. The field is inferred. */
  display_name?: string | undefined
}

/** The body of `organization.updateSettings`. Its fields are inferred ([reference](docs/service.md#organization)). */
export interface UpdateOrganizationSettingsBody {
  /** Whether guests can start conversations. The field is inferred. */
  allow_guest_submission?: boolean | undefined
  /** Whether the AI assistant is enabled. The field is inferred. */
  enable_ai_assistant?: boolean | undefined
  /** Bot configuration, as a free-form object. The field is inferred. */
  bot_configuration?: FreeForm | undefined
  /** The language. The format is not documented. The field is inferred. */
  locale?: string | undefined
}
