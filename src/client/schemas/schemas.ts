// A schema for each model and each body. Only src/client/lazy-schemas.ts loads this folder, when a schema is first
// used.

import * as z from 'zod/mini'
import type { Contact, CreateContactBody, UpdateContactBody } from '../models/contact.ts'
import type {
  AssignConversationBody,
  Conversation,
  ConversationAssignee,
  CreateConversationBody,
  UpdateConversationBody,
} from '../models/conversation.ts'
import type { Me } from '../models/me.ts'
import type { InviteMemberBody, Member, UpdateMemberBody } from '../models/member.ts'
import type { CreateMessageBody, CreateNoteBody, Message, UpdateMessageBody } from '../models/message.ts'
import type {
  Organization,
  OrganizationSettings,
  UpdateOrganizationBody,
  UpdateOrganizationSettingsBody,
} from '../models/organization.ts'
import type { CreateSegmentBody, Segment, UpdateSegmentBody } from '../models/segment.ts'
import type { CreateTaskBody, Task, UpdateTaskBody } from '../models/task.ts'
import type { User } from '../models/user.ts'
import { type Schema, schemaFor } from './schema-for.ts'

/** An optional, nullable field. The documents don't say which fields can be null or absent, so all but `id` can. */
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

const organization = z.object({
  id: z.string(),
  name: nullish(z.string()),
  display_name: nullish(z.string()),
  domain: nullish(z.string()),
  created_at: nullish(z.string()),
})

const application = z.object({
  id: z.string(),
  name: nullish(z.string()),
  client_id: nullish(z.string()),
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

const createTaskBody: Schema<CreateTaskBody> = freeForm
const updateTaskBody: Schema<UpdateTaskBody> = freeForm
const createSegmentBody: Schema<CreateSegmentBody> = freeForm
const updateSegmentBody: Schema<UpdateSegmentBody> = freeForm

/** Every schema, by the name that `lazySchema` knows it by. */
export const all = {
  user: schemaFor<User>()(user),
  organization: schemaFor<Organization>()(organization),
  updateOrganizationBody: schemaFor<UpdateOrganizationBody>()(z.object({ display_name: z.optional(z.string()) })),
  organizationSettings: schemaFor<OrganizationSettings>()(
    z.object({
      allow_guest_submission: nullish(z.boolean()),
      enable_ai_assistant: nullish(z.boolean()),
      bot_configuration: nullish(freeForm),
      locale: nullish(z.string()),
    }),
  ),
  updateOrganizationSettingsBody: schemaFor<UpdateOrganizationSettingsBody>()(
    z.object({
      allow_guest_submission: z.optional(z.boolean()),
      enable_ai_assistant: z.optional(z.boolean()),
      bot_configuration: z.optional(freeForm),
      locale: z.optional(z.string()),
    }),
  ),
  me: schemaFor<Me>()(
    z.object({
      application: nullish(application),
      organization: nullish(organization),
      actor: nullish(z.string()),
      scopes: nullish(z.array(z.string())),
      user: nullish(user),
    }),
  ),
  member: schemaFor<Member>()(
    z.object({
      id: z.string(),
      role: nullish(z.string()),
      archived: nullish(z.boolean()),
      user: nullish(user),
    }),
  ),
  inviteMemberBody: schemaFor<InviteMemberBody>()(
    z.object({
      email: z.string(),
      name: z.optional(z.string()),
      role: z.optional(z.string()),
    }),
  ),
  updateMemberBody: schemaFor<UpdateMemberBody>()(
    z.object({
      role: z.optional(z.string()),
      archived: z.optional(z.boolean()),
    }),
  ),
  contact: schemaFor<Contact>()(
    z.object({
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
    }),
  ),
  createContactBody: schemaFor<CreateContactBody>()(z.object({ email: z.string(), name: z.optional(z.string()) })),
  updateContactBody: schemaFor<UpdateContactBody>()(z.object({ blocked: z.optional(z.boolean()) })),
  conversation: schemaFor<Conversation>()(
    z.object({
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
    }),
  ),
  createConversationBody: schemaFor<CreateConversationBody>()(
    z.object({ customer_email: z.string(), initial_message: z.string() }),
  ),
  updateConversationBody: schemaFor<UpdateConversationBody>()(
    z.object({
      status: z.optional(z.string()),
      is_spam: z.optional(z.boolean()),
      pinned: z.optional(z.boolean()),
    }),
  ),
  conversationAssignee: schemaFor<ConversationAssignee>()(conversationAssignee),
  assignConversationBody: schemaFor<AssignConversationBody>()(z.object({ user_id: z.string() })),
  message: schemaFor<Message>()(
    z.object({
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
    }),
  ),
  createMessageBody: schemaFor<CreateMessageBody>()(z.object({ body_html: z.string() })),
  updateMessageBody: schemaFor<UpdateMessageBody>()(z.object({ body_html: z.optional(z.string()) })),
  createNoteBody: schemaFor<CreateNoteBody>()(z.object({ body_html: z.string() })),
  task: schemaFor<Task>()(z.object({ id: z.string() })),
  createTaskBody,
  updateTaskBody,
  segment: schemaFor<Segment>()(z.object({ id: z.string() })),
  createSegmentBody,
  updateSegmentBody,
}
