import * as z from 'zod/mini'
import type { CreateMessageBody, CreateNoteBody, Message, UpdateMessageBody } from '../models/message.ts'
import { freeForm, nullish, schemaFor } from './schema.ts'
import { userShape } from './user.ts'

const attachmentShape = z.object({
  id: z.string(),
  presigned_url: nullish(z.string()),
  original_filename: nullish(z.string()),
  extension: nullish(z.string()),
  file_size: nullish(z.number()),
  resource_type: nullish(z.string()),
  resource_id: nullish(z.string()),
})

export const messageSchema = schemaFor<Message>()(
  z.object({
    id: z.string(),
    conversation_id: nullish(z.string()),
    source: nullish(z.string()),
    is_spam: nullish(z.boolean()),
    inserted_at: nullish(z.number()),
    body_html: nullish(z.string()),
    marked_as_solution_at: nullish(z.number()),
    user: nullish(userShape),
    meta_info: nullish(freeForm),
    is_ai_message: nullish(z.boolean()),
    reply_to: nullish(z.object({ id: z.string(), body_html: nullish(z.string()), user: nullish(userShape) })),
    attachments: nullish(z.array(attachmentShape)),
  }),
)

const withText = z.object({ body_html: z.string() })

export const createMessageBodySchema = schemaFor<CreateMessageBody>()(withText)
export const createNoteBodySchema = schemaFor<CreateNoteBody>()(withText)
export const updateMessageBodySchema = schemaFor<UpdateMessageBody>()(z.object({ body_html: z.optional(z.string()) }))
