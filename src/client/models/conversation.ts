import type { FreeForm } from './free-form.ts'
import type { User } from './user.ts'

/** A conversation with a customer ([reference](docs/service.md#conversations)). */
export interface Conversation {
  id: string
  /** Creation time, in seconds since the Unix epoch. */
  inserted_at?: number | null
  /** Text of the first message. */
  initial_message?: string | null
  is_spam?: boolean | null
  /** Text of the latest message. */
  last_message?: string | null
  /** Time of the latest message, in seconds since the Unix epoch. */
  last_message_inserted_at?: number | null
  /** The possible values are not documented. */
  status?: string | null
  /** Presumably the customer (inferred). */
  user?: User | null
  pinned?: boolean | null
  /** Number of unread messages. */
  unread_count?: number | null
  summary?: string | null
  /** Free-form object. */
  meta_info?: FreeForm | null
  /** Whether a guest submitted the conversation. */
  guest_submission?: boolean | null
  group_id?: string | null
  group?: Group | null
  /** The current assignment. */
  conversation_assignee?: ConversationAssignee | null
}

/** A group of conversations ([reference](docs/service.md#conversations)). */
export interface Group {
  id: string
  name?: string | null
  /** The name as used in a URL. */
  slug?: string | null
  /** The format is not documented. */
  color?: string | null
}

/** The assignment of a conversation to a team member ([reference](docs/service.md#conversations)). */
export interface ConversationAssignee {
  id: string
  conversation_id?: string | null
  /** Whether this is a user id or a membership id is not documented. */
  user_id?: string | null
  /** The person who assigned the conversation. */
  assignor_id?: string | null
  /** Assignment time, in seconds since the Unix epoch. */
  assigned_at?: number | null
}

/**
 * The body of `conversations.create` ([reference](docs/service.md#conversations)). Pass undocumented fields in
 * `extraBody`.
 */
export interface CreateConversationBody {
  /** Email address of the customer. */
  customer_email: string
  /** Text of the first message. */
  initial_message: string
}

/**
 * The body of `conversations.update`. Its fields are inferred ([reference](docs/service.md#conversations)). Pass
 * undocumented fields in `extraBody`.
 */
export interface UpdateConversationBody {
  /** The possible values are not documented. */
  status?: string | undefined
  is_spam?: boolean | undefined
  pinned?: boolean | undefined
}

/**
 * The body of `conversations.assign` ([reference](docs/service.md#conversations)). Pass undocumented fields in
 * `extraBody`.
 */
export interface AssignConversationBody {
  /** The team member. Whether the service expects a user id or a membership id is not documented. */
  user_id: string
}
