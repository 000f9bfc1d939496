// src/sandbox/data holds the stored data and the sample data of the sandbox. It imports nothing from other folders.

// The shapes have the fields of the samples in the reference (docs/service.md). The samples do not say which fields can
// be null, so the sandbox chose the nullable fields.

/** A customer, an author or a team member, as embedded in other shapes ([reference](docs/service.md#people)). */
export interface User {
  id: string
  name: string | null
  email: string
  instagram_handle: string | null
  profile_picture_url: string | null
}

/** A group that a conversation belongs to ([reference](docs/service.md#conversations)). */
export interface Group {
  id: string
  name: string
  slug: string
  color: string
}

/**
 * The assignment of a conversation to a team member. `assigned_at` is in epoch seconds
 * ([reference](docs/service.md#conversations)).
 */
export interface ConversationAssignee {
  id: string
  conversation_id: string
  user_id: string
  assignor_id: string | null
  assigned_at: number
}

/** A conversation. Times are in epoch seconds ([reference](docs/service.md#conversations)). */
export interface Conversation {
  id: string
  inserted_at: number
  initial_message: string
  is_spam: boolean
  last_message: string
  last_message_inserted_at: number
  status: string
  user: User
  pinned: boolean
  unread_count: number
  summary: string | null
  meta_info: Record<string, unknown>
  guest_submission: boolean
  group_id: string | null
  group: Group | null
  conversation_assignee: ConversationAssignee | null
}

/** A file attached to a message. `file_size` is in bytes ([reference](docs/service.md#messages)). */
export interface Attachment {
  id: string
  presigned_url: string
  original_filename: string
  extension: string
  file_size: number
  resource_type: string
  resource_id: string
}

/**
 * A message or a note; both have the same shape. Times are in epoch seconds ([reference](docs/service.md#messages)).
 */
export interface Message {
  id: string
  conversation_id: string
  source: string
  is_spam: boolean
  inserted_at: number
  body_html: string
  marked_as_solution_at: number | null
  user: User
  meta_info: Record<string, unknown>
  is_ai_message: boolean
  reply_to: { id: string; body_html: string; user: User } | null
  attachments: Attachment[]
}

/** A customer of the organization. Times are in epoch seconds ([reference](docs/service.md#contacts)). */
export interface Contact {
  id: string
  user: User
  source: string
  blocked: boolean
  starred: boolean
  active: boolean
  source_info: Record<string, unknown>
  attributes: Record<string, unknown>
  auth_type: string
  inserted_at: number
  updated_at: number
  active_at: number | null
}

/** The roles of team members. Only `admin` is documented ([reference](docs/service.md#team-members)). */
export type Role = 'admin' | 'moderator' | 'agent'

/**
 * A team member. `id` is the membership id and `user.id` the person's id ([reference](docs/service.md#team-members)).
 */
export interface Member {
  id: string
  role: Role
  archived: boolean
  user: User
}

/**
 * An organization. `created_at` is an ISO 8601 date-time, not epoch seconds
 * ([reference](docs/service.md#organization)).
 */
export interface Organization {
  id: string
  name: string
  display_name: string
  domain: string
  created_at: string
}

/** The settings of an organization ([reference](docs/service.md#organization)). */
export interface OrganizationSettings {
  allow_guest_submission: boolean
  enable_ai_assistant: boolean
  bot_configuration: Record<string, unknown>
  locale: string
}

/** A task or a segment. Their fields are not documented, so the sandbox stores any JSON object under an `id`. */
export interface LooseRecord {
  id: string
  [field: string]: unknown
}
