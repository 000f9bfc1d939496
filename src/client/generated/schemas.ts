// Generated from src/api by `npm run generate`. Do not edit.

import * as z from 'zod/mini'

/** An optional, nullable field. The documents do not say which fields can be null or absent, so every field except `id` can. */
function nullish<Inner extends z.core.SomeType>(inner: Inner): z.ZodMiniExactOptional<z.ZodMiniNullable<Inner>> {
  return z.exactOptional(z.nullable(inner))
}

/** Accepts any object. */
const freeForm = z.object({})

const user = z.object({
  id: z.string(),
  name: nullish(z.string()),
  email: nullish(z.string()),
  instagram_handle: nullish(z.string()),
  profile_picture_url: nullish(z.string()),
})

const application = z.object({
  id: z.string(),
  name: nullish(z.string()),
  client_id: nullish(z.string()),
})

const organization = z.object({
  id: z.string(),
  name: nullish(z.string()),
  display_name: nullish(z.string()),
  domain: nullish(z.string()),
  created_at: nullish(z.string()),
})

const me = z.object({
  application: nullish(application),
  organization: nullish(organization),
  actor: nullish(z.string()),
  scopes: nullish(z.array(z.string())),
  user: nullish(user),
})

const group = z.object({
  id: z.string(),
  name: nullish(z.string()),
  slug: nullish(z.string()),
  color: nullish(z.string()),
})

const conversationAssignee = z.object({
  id: z.string(),
  conversation_id: nullish(z.string()),
  user_id: nullish(z.string()),
  assignor_id: nullish(z.string()),
  assigned_at: nullish(z.number()),
})

const conversation = z.object({
  id: z.string(),
  inserted_at: nullish(z.number()),
  initial_message: nullish(z.string()),
  is_spam: nullish(z.boolean()),
  last_message: nullish(z.string()),
  last_message_inserted_at: nullish(z.number()),
  status: nullish(z.string()),
  user: nullish(user),
  pinned: nullish(z.boolean()),
  unread_count: nullish(z.number()),
  summary: nullish(z.string()),
  meta_info: nullish(freeForm),
  guest_submission: nullish(z.boolean()),
  group_id: nullish(z.string()),
  group: nullish(group),
  conversation_assignee: nullish(conversationAssignee),
})

const createConversationBody = z.object({
  customer_email: z.string(),
  initial_message: z.string(),
})

const updateConversationBody = z.object({
  status: z.optional(z.string()),
  is_spam: z.optional(z.boolean()),
  pinned: z.optional(z.boolean()),
})

const assignConversationBody = z.object({
  user_id: z.string(),
})

const quotedMessage = z.object({
  id: z.string(),
  body_html: nullish(z.string()),
  user: nullish(user),
})

const attachment = z.object({
  id: z.string(),
  presigned_url: nullish(z.string()),
  original_filename: nullish(z.string()),
  extension: nullish(z.string()),
  file_size: nullish(z.number()),
  resource_type: nullish(z.string()),
  resource_id: nullish(z.string()),
})

const message = z.object({
  id: z.string(),
  conversation_id: nullish(z.string()),
  source: nullish(z.string()),
  is_spam: nullish(z.boolean()),
  inserted_at: nullish(z.number()),
  body_html: nullish(z.string()),
  marked_as_solution_at: nullish(z.number()),
  user: nullish(user),
  meta_info: nullish(freeForm),
  is_ai_message: nullish(z.boolean()),
  reply_to: nullish(quotedMessage),
  attachments: nullish(z.array(attachment)),
})

const createMessageBody = z.object({
  body_html: z.string(),
})

const updateMessageBody = z.object({
  body_html: z.optional(z.string()),
})

const createNoteBody = z.object({
  body_html: z.string(),
})

const contact = z.object({
  id: z.string(),
  user: nullish(user),
  source: nullish(z.string()),
  blocked: nullish(z.boolean()),
  starred: nullish(z.boolean()),
  active: nullish(z.boolean()),
  source_info: nullish(freeForm),
  attributes: nullish(freeForm),
  auth_type: nullish(z.string()),
  inserted_at: nullish(z.number()),
  updated_at: nullish(z.number()),
  active_at: nullish(z.number()),
})

const createContactBody = z.object({
  email: z.string(),
  name: z.optional(z.string()),
})

const updateContactBody = z.object({
  blocked: z.optional(z.boolean()),
})

const member = z.object({
  id: z.string(),
  role: nullish(z.string()),
  archived: nullish(z.boolean()),
  user: nullish(user),
})

const inviteMemberBody = z.object({
  email: z.string(),
  name: z.optional(z.string()),
  role: z.optional(z.string()),
})

const updateMemberBody = z.object({
  role: z.optional(z.string()),
  archived: z.optional(z.boolean()),
})

const updateOrganizationBody = z.object({
  display_name: z.optional(z.string()),
})

const organizationSettings = z.object({
  allow_guest_submission: nullish(z.boolean()),
  enable_ai_assistant: nullish(z.boolean()),
  bot_configuration: nullish(freeForm),
  locale: nullish(z.string()),
})

const updateOrganizationSettingsBody = z.object({
  allow_guest_submission: z.optional(z.boolean()),
  enable_ai_assistant: z.optional(z.boolean()),
  bot_configuration: z.optional(freeForm),
  locale: z.optional(z.string()),
})

const task = z.object({
  id: z.string(),
})

const createTaskBody = freeForm

const updateTaskBody = freeForm

const segment = z.object({
  id: z.string(),
})

const createSegmentBody = freeForm

const updateSegmentBody = freeForm

/** Every schema, by the name of its model. */
export const all = {
  user,
  application,
  organization,
  me,
  group,
  conversationAssignee,
  conversation,
  createConversationBody,
  updateConversationBody,
  assignConversationBody,
  quotedMessage,
  attachment,
  message,
  createMessageBody,
  updateMessageBody,
  createNoteBody,
  contact,
  createContactBody,
  updateContactBody,
  member,
  inviteMemberBody,
  updateMemberBody,
  updateOrganizationBody,
  organizationSettings,
  updateOrganizationSettingsBody,
  task,
  createTaskBody,
  updateTaskBody,
  segment,
  createSegmentBody,
  updateSegmentBody,
}
