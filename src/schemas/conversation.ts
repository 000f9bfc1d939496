import * as z from 'zod/mini'
import type {
  AssignConversationBody,
  Conversation,
  ConversationAssignee,
  CreateConversationBody,
  UpdateConversationBody,
} from '../models/conversation.ts'
import { freeForm, nullish, schemaFor } from './schema.ts'
import { userShape } from './user.ts'

const groupShape = z.object({
  id: z.string(),
  name: nullish(z.string()),
  slug: nullish(z.string()),
  color: nullish(z.string()),
})

export const conversationAssigneeShape = z.object({
  id: z.string(),
  conversation_id: nullish(z.string()),
  user_id: nullish(z.string()),
  assignor_id: nullish(z.string()),
  assigned_at: nullish(z.number()),
})

export const conversationShape = z.object({
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
  z.object({ customer_email: z.string(), initial_message: z.string() }),
)
export const updateConversationBodySchema = schemaFor<UpdateConversationBody>()(
  z.object({
    status: z.optional(z.string()),
    is_spam: z.optional(z.boolean()),
    pinned: z.optional(z.boolean()),
  }),
)
export const assignConversationBodySchema = schemaFor<AssignConversationBody>()(z.object({ user_id: z.string() }))
