import type { FreeForm } from './free-form.ts'
import type { User } from './user.ts'

/** A conversation with a customer ([reference](docs/service.md#conversations)). */
export interface Conversation {
  /** The id of the conversation. */
  id: string
  /** Creation time, in seconds since the Unix epoch (inferred). */
  inserted_at?: number | null
  /** Text of the first message (inferred). */
  initial_message?: string | null
  /** Whether the conversation is marked as spam (inferred). */
  is_spam?: boolean | null
  /** Text of the latest message (inferred). */
  last_message?: string | null
  /** Time of the latest message, in seconds since the Unix epoch (inferred). */
  last_message_inserted_at?: number | null
  /** The state, for example open or closed (inferred). The possible values are not documented. */
  status?: string | null
  /** The customer (inferred). */
  user?: User | null
  /** Whether the conversation is pinned (inferred). */
  pinned?: boolean | null
  /** Number of unread messages (inferred). */
  unread_count?: number | null
  /** A summary of the conversation (inferred). */
  summary?: string | null
  /** Free-form object. */
  meta_info?: FreeForm | null
  /** Whether a guest submitted the conversation (inferred). */
  guest_submission?: boolean | null
  /** The id of the group (inferred). */
  group_id?: string | null
  /** The group that the conversation belongs to (inferred). */
  group?: Group | null
  /** The current assignment (inferred). */
  conversation_assignee?: ConversationAssignee | null
}

/** A group of conversations ([reference](docs/service.md#conversations)). */
export interface Group {
  /** The id of the group. */
  id: string
  /** The name that people see (inferred). */
  name?: string | null
  /** The name as used in a URL (inferred). */
  slug?: string | null
  /** The color (inferred). The format is not documented. */
  color?: string | null
}

/** The assignment of a conversation to a team member ([reference](docs/service.md#conversations)). */
export interface ConversationAssignee {
  /** The id of the assignment. */
  id: string
  /** The id of the conversation (inferred). */
  conversation_id?: string | null
  /** The team member (inferred). Whether this is a user id or a membership id is not documented. */
  user_id?: string | null
  /** The person who assigned the conversation (inferred). */
  assignor_id?: string | null
  /** Assignment time, in seconds since the Unix epoch (inferred). */
  assigned_at?: number | null
}

/**
 * The body of `conversations.create` ([reference](docs/service.md#conversations)). Pass undocumented fields in
 * `extraBody`.
 */
export interface CreateConversationBody {
  /** Email address of the customer (inferred). */
  customer_email: string
  /** Text of the first message (inferred). */
  initial_message: string
}

/**
 * The body of `conversations.update`. Its fields are inferred ([reference](docs/service.md#conversations)). Pass
 * undocumented fields in `extraBody`.
 */
export interface UpdateConversationBody {
  /** The state. The possible values are not documented. The field is inferred. */
  status?: string | undefined
  /** Whether the conversation is marked as spam. The field is inferred. */
  is_spam?: boolean | undefined
  /** Whether the conversation is pinned. The field is inferred. */
  pinned?: boolean | undefined
}

/**
 * The body of `conversations.assign` ([reference](docs/service.md#conversations)). Pass undocumented fields in
 * `extraBody`.
 */
export interface AssignConversationBody {
  /** The team member (inferred). Whether the service expects a user id or a membership id is not documented. */
  user_id: string
}
