import * as z from 'zod/mini'
import { type FreeForm, freeForm, nullish, schemaFor } from './schema.ts'
import { type User, userShape } from './user.ts'

/** A conversation with a customer (reference, section 2). */
export interface Conversation {
  /** The conversation's id. */
  id: string
  /** When it began, in epoch seconds. */
  inserted_at?: number | null
  /** The text that began it. */
  initial_message?: string | null
  /** Whether it is marked as spam. */
  is_spam?: boolean | null
  /** The text of its last message. */
  last_message?: string | null
  /** When the last message came, in epoch seconds. */
  last_message_inserted_at?: number | null
  /** Its status. The spellings are not documented. */
  status?: string | null
  /** The customer (that it is the customer is inferred). */
  user?: User | null
  /** Whether it is pinned. */
  pinned?: boolean | null
  /** How many messages are unread. */
  unread_count?: number | null
  /** A summary of it. */
  summary?: string | null
  /** More about it, free form. */
  meta_info?: FreeForm | null
  /** Whether a guest submitted it. */
  guest_submission?: boolean | null
  /** The id of its group. */
  group_id?: string | null
  /** Its group. */
  group?: Group | null
  /** To whom it is assigned. */
  conversation_assignee?: ConversationAssignee | null
}

/** A group of conversations (reference, section 2). */
export interface Group {
  /** The group's id. */
  id: string
  /** Its name. */
  name?: string | null
  /** Its name as it stands in an address. */
  slug?: string | null
  /** Its color. How it is written is not documented. */
  color?: string | null
}

/** The assignment of a conversation to a team member (reference, section 2). */
export interface ConversationAssignee {
  /** The assignment's id. */
  id: string
  /** The conversation. */
  conversation_id?: string | null
  /** The team member. Whether it is a user id or a membership id is not documented. */
  user_id?: string | null
  /** Who assigned it. */
  assignor_id?: string | null
  /** When it was assigned, in epoch seconds. */
  assigned_at?: number | null
}

/** The body of `conversations.create` (reference, section 3.2). Put undocumented fields into `extraBody`. */
export interface CreateConversationBody {
  /** The customer's email address. */
  customer_email: string
  /** The text that begins the conversation. */
  initial_message: string
}

/** The body of `conversations.update`. Its fields are inferred (reference, section 3.2). Put undocumented fields into `extraBody`. */
export interface UpdateConversationBody {
  /** The new status. The spellings are not documented. */
  status?: string | undefined
  /** Whether it is spam. */
  is_spam?: boolean | undefined
  /** Whether it is pinned. */
  pinned?: boolean | undefined
}

/** The body of `conversations.assign` (reference, section 3.2). Put undocumented fields into `extraBody`. */
export interface AssignConversationBody {
  /** The team member. Whether a user id or a membership id is meant is not documented. */
  user_id: string
}

const groupShape = z.looseObject({
  id: z.string(),
  name: nullish(z.string()),
  slug: nullish(z.string()),
  color: nullish(z.string()),
})

export const conversationAssigneeShape = z.looseObject({
  id: z.string(),
  conversation_id: nullish(z.string()),
  user_id: nullish(z.string()),
  assignor_id: nullish(z.string()),
  assigned_at: nullish(z.number()),
})

export const conversationShape = z.looseObject({
  id: z.string(),
  inserted_at: nullish(z.number()),
  initial_message: nullish(z.string()),
  is_spam: nullish(z.boolean()),
  last_message: nullish(z.string()),
  last_message_inserted_at: nullish(z.number()),
  status: nullish(z.string()),
  user: nullish(userShape),
  pinned: nullish(z.boolean()),
  unread_count: nullish(z.number()),
  summary: nullish(z.string()),
  meta_info: nullish(freeForm),
  guest_submission: nullish(z.boolean()),
  group_id: nullish(z.string()),
  group: nullish(groupShape),
  conversation_assignee: nullish(conversationAssigneeShape),
})

export const conversationSchema = schemaFor<Conversation>()(conversationShape)
export const conversationAssigneeSchema = schemaFor<ConversationAssignee>()(conversationAssigneeShape)
export const createConversationBodySchema = schemaFor<CreateConversationBody>()(
  z.looseObject({ customer_email: z.string(), initial_message: z.string() }),
)
export const updateConversationBodySchema = schemaFor<UpdateConversationBody>()(
  z.looseObject({
    status: z.optional(z.string()),
    is_spam: z.optional(z.boolean()),
    pinned: z.optional(z.boolean()),
  }),
)
export const assignConversationBodySchema = schemaFor<AssignConversationBody>()(z.looseObject({ user_id: z.string() }))
