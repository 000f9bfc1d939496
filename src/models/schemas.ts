import { contactSchema } from './contact.ts'
import { conversationAssigneeSchema, conversationSchema } from './conversation.ts'
import { meSchema } from './me.ts'
import { memberSchema } from './member.ts'
import { messageSchema } from './message.ts'
import { organizationSchema, organizationSettingsSchema } from './organization.ts'
import { segmentSchema } from './segment.ts'
import { taskSchema } from './task.ts'
import { userSchema } from './user.ts'

/**
 * Standard Schemas of the models, for your own validation or for `defineOperation`. Unknown fields are accepted. Any
 * field except `id` can be null or absent.
 *
 * @example
 * const result = await schemas.contact['~standard'].validate(JSON.parse('{ "id": "cnt_1", "blocked": "no" }'))
 * console.log(result.issues?.length) // 1
 */
export const schemas = {
  me: meSchema,
  conversation: conversationSchema,
  conversationAssignee: conversationAssigneeSchema,
  message: messageSchema,
  contact: contactSchema,
  member: memberSchema,
  organization: organizationSchema,
  organizationSettings: organizationSettingsSchema,
  task: taskSchema,
  segment: segmentSchema,
  user: userSchema,
} as const
