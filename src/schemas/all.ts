import { contactSchema, createContactBodySchema, updateContactBodySchema } from './contact.ts'
import {
  assignConversationBodySchema,
  conversationAssigneeSchema,
  conversationSchema,
  createConversationBodySchema,
  updateConversationBodySchema,
} from './conversation.ts'
import { meSchema } from './me.ts'
import { inviteMemberBodySchema, memberSchema, updateMemberBodySchema } from './member.ts'
import { createMessageBodySchema, createNoteBodySchema, messageSchema, updateMessageBodySchema } from './message.ts'
import {
  organizationSchema,
  organizationSettingsSchema,
  updateOrganizationBodySchema,
  updateOrganizationSettingsBodySchema,
} from './organization.ts'
import { createSegmentBodySchema, segmentSchema, updateSegmentBodySchema } from './segment.ts'
import { createTaskBodySchema, taskSchema, updateTaskBodySchema } from './task.ts'
import { userSchema } from './user.ts'

/** Every schema, by the name that `lazySchema` knows it by. */
export const all = {
  contact: contactSchema,
  createContactBody: createContactBodySchema,
  updateContactBody: updateContactBodySchema,
  conversation: conversationSchema,
  conversationAssignee: conversationAssigneeSchema,
  createConversationBody: createConversationBodySchema,
  updateConversationBody: updateConversationBodySchema,
  assignConversationBody: assignConversationBodySchema,
  me: meSchema,
  member: memberSchema,
  inviteMemberBody: inviteMemberBodySchema,
  updateMemberBody: updateMemberBodySchema,
  message: messageSchema,
  createMessageBody: createMessageBodySchema,
  createNoteBody: createNoteBodySchema,
  updateMessageBody: updateMessageBodySchema,
  organization: organizationSchema,
  organizationSettings: organizationSettingsSchema,
  updateOrganizationBody: updateOrganizationBodySchema,
  updateOrganizationSettingsBody: updateOrganizationSettingsBodySchema,
  segment: segmentSchema,
  createSegmentBody: createSegmentBodySchema,
  updateSegmentBody: updateSegmentBodySchema,
  task: taskSchema,
  createTaskBody: createTaskBodySchema,
  updateTaskBody: updateTaskBodySchema,
  user: userSchema,
}
