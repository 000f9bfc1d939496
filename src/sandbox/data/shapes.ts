// src/sandbox/data holds the stored data and the sample data of the sandbox. It imports nothing from other folders.

// The shapes have the fields of the samples in the reference (docs/service.md). The samples do not say which fields can
// be null, so the sandbox chose the nullable fields.

/** A customer, an author or a team member, as embedded in other shapes ([reference](docs/service.md#people)). */
export interface User {
  /** The id of the person. */
  id: string
  /** Full name. */
  name: string | null
  /** Email address. */
  email: string
  /** Instagram handle, without `@`. */
  instagram_handle: string | null
  /** URL of a picture of the person. */
  profile_picture_url: string | null
}

/** A group that a conversation belongs to ([reference](docs/service.md#conversations)). */
export interface Group {
  /** The id of the group. */
  id: string
  /** The name that people see. */
  name: string
  /** The name as used in a URL. */
  slug: string
  /** A color, as `#` and six hexadecimal digits. */
  color: string
}

/**
 * The assignment of a conversation to a team member. `assigned_at` is in epoch seconds
 * ([reference](docs/service.md#conversations)).
 */
export interface ConversationAssignee {
  /** The id of the assignment. */
  id: string
  /** The id of the conversation. */
  conversation_id: string
  /** The id of the assigned team member. */
  user_id: string
  /** The id of the person who assigned it. Null for an app. */
  assignor_id: string | null
  /** Assignment time, in epoch seconds. */
  assigned_at: number
}

/** A conversation. Times are in epoch seconds ([reference](docs/service.md#conversations)). */
export interface Conversation {
  /** The id of the conversation. */
  id: string
  /** Creation time, in epoch seconds. */
  inserted_at: number
  /** Text of the first message. */
  initial_message: string
  /** Whether it is marked as spam. */
  is_spam: boolean
  /** Text of the latest message. */
  last_message: string
  /** Time of the latest message, in epoch seconds. */
  last_message_inserted_at: number
  /** The state, for example `open`. */
  status: string
  /** The customer. */
  user: User
  /** Whether it is pinned. */
  pinned: boolean
  /** Number of unread messages. */
  unread_count: number
  /** A summary of the conversation. */
  summary: string | null
  /** Free-form object. */
  meta_info: Record<string, unknown>
  /** Whether a guest submitted it. */
  guest_submission: boolean
  /** The id of its group. */
  group_id: string | null
  /** The group that it belongs to. */
  group: Group | null
  /** The current assignment. */
  conversation_assignee: ConversationAssignee | null
}

/** A file attached to a message. `file_size` is in bytes ([reference](docs/service.md#messages)). */
export interface Attachment {
  /** The id of the file. */
  id: string
  /** Download URL. */
  presigned_url: string
  /** Original file name. */
  original_filename: string
  /** File name extension. */
  extension: string
  /** Size in bytes. */
  file_size: number
  /** The kind of object that it belongs to. */
  resource_type: string
  /** The id of the object that it belongs to. */
  resource_id: string
}

/**
 * A message or a note; both have the same shape. Times are in epoch seconds ([reference](docs/service.md#messages)).
 */
export interface Message {
  /** The id of the message. */
  id: string
  /** The id of the conversation. */
  conversation_id: string
  /** The channel, for example `email`. */
  source: string
  /** Whether it is marked as spam. */
  is_spam: boolean
  /** Creation time, in epoch seconds. */
  inserted_at: number
  /** The text, as HTML. */
  body_html: string
  /** When it was marked as the solution, in epoch seconds. */
  marked_as_solution_at: number | null
  /** The author. */
  user: User
  /** Free-form object. */
  meta_info: Record<string, unknown>
  /** Whether an AI wrote it. */
  is_ai_message: boolean
  /** The message that it replies to. */
  reply_to: {
    /** The id of the message. */
    id: string
    /** The text, as HTML. */
    body_html: string
    /** The author. */
    user: User
  } | null
  /** Its files. */
  attachments: Attachment[]
}

/** A customer of the organization. Times are in epoch seconds ([reference](docs/service.md#contacts)). */
export interface Contact {
  /** The id of the contact. */
  id: string
  /** The person, with name and email address. */
  user: User
  /** The channel, for example `widget`. */
  source: string
  /** Whether the contact is blocked. */
  blocked: boolean
  /** Whether the contact is starred. */
  starred: boolean
  /** Whether the contact is active. */
  active: boolean
  /** Details of the source. */
  source_info: Record<string, unknown>
  /** Free-form object. */
  attributes: Record<string, unknown>
  /** How the contact identified itself. */
  auth_type: string
  /** Creation time, in epoch seconds. */
  inserted_at: number
  /** Time of the latest change, in epoch seconds. */
  updated_at: number
  /** Time of the latest activity, in epoch seconds. */
  active_at: number | null
}

/** The roles of team members. Only `admin` is documented ([reference](docs/service.md#team-members)). */
export type Role = 'admin' | 'moderator' | 'agent'

/**
 * A team member. `id` is the membership id and `user.id` the person's id ([reference](docs/service.md#team-members)).
 */
export interface Member {
  /** The id of the membership. */
  id: string
  /** The role. */
  role: Role
  /** Whether the membership is archived. */
  archived: boolean
  /** The person, with name and email address. */
  user: User
}

/**
 * An organization. `created_at` is an ISO 8601 date-time, not epoch seconds
 * ([reference](docs/service.md#organization)).
 */
export interface Organization {
  /** The id of the organization. */
  id: string
  /** The name. */
  name: string
  /** The name that people see. */
  display_name: string
  /** The domain, for example `acme.example`. */
  domain: string
  /** Creation time, as an ISO 8601 date-time. */
  created_at: string
}

/** The settings of an organization ([reference](docs/service.md#organization)). */
export interface OrganizationSettings {
  /** Whether guests can start conversations. */
  allow_guest_submission: boolean
  /** Whether the AI assistant is enabled. */
  enable_ai_assistant: boolean
  /** Free-form object. */
  bot_configuration: Record<string, unknown>
  /** The language, for example `en`. */
  locale: string
}

/** A task or a segment. Their fields are not documented, so the sandbox stores any JSON object under an `id`. */
export interface LooseRecord {
  /** The id of the task or segment. */
  id: string
  [field: string]: unknown
}
