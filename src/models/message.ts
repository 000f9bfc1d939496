import * as z from 'zod/mini'
import { type FreeForm, freeForm, nullish, schemaFor } from './schema.ts'
import { type User, userShape } from './user.ts'

/** A message of a conversation, or a note, which has the same shape (reference, section 2). */
export interface Message {
  /** The message's id. */
  id: string
  /** The conversation that it belongs to. */
  conversation_id?: string | null
  /** Where it came from. The spellings are not documented. */
  source?: string | null
  /** Whether it is marked as spam. */
  is_spam?: boolean | null
  /** When it was written, in epoch seconds. */
  inserted_at?: number | null
  /** Its text, as HTML from outside: sanitise it before you show it in a page. */
  body_html?: string | null
  /** When it was marked as the solution, in epoch seconds. */
  marked_as_solution_at?: number | null
  /** The author (that it is the author is inferred). */
  user?: User | null
  /** More about it, free form. */
  meta_info?: FreeForm | null
  /** Whether an AI wrote it. */
  is_ai_message?: boolean | null
  /** The message that it answers. */
  reply_to?: QuotedMessage | null
  /** The files that came with it. */
  attachments?: Attachment[] | null
}

/** The message that another one answers (reference, section 2). */
export interface QuotedMessage {
  /** The message's id. */
  id: string
  /** Its text, as HTML from outside: sanitise it before you show it in a page. */
  body_html?: string | null
  /** The author (that it is the author is inferred). */
  user?: User | null
}

/** A file of a message (reference, section 2). How to upload one is not documented. */
export interface Attachment {
  /** The attachment's id. */
  id: string
  /** Where to download it. That it expires after a while is inferred. */
  presigned_url?: string | null
  /** The name that the file had where it came from. */
  original_filename?: string | null
  /** The end of its name. Whether it begins with a dot is not documented. */
  extension?: string | null
  /** Its size; that it is in bytes is inferred. */
  file_size?: number | null
  /** The kind of what it belongs to. The spellings are not documented. */
  resource_type?: string | null
  /** The id of what it belongs to. */
  resource_id?: string | null
}

/** The body of `messages.create` (reference, section 3.2). Put undocumented fields into `extraBody`. */
export interface CreateMessageBody {
  /** The text, as HTML. */
  body_html: string
}

/** The body of `messages.update`. That it takes `body_html` is probable, not documented (reference, section 3.2). */
export interface UpdateMessageBody {
  /** The text, as HTML. */
  body_html?: string | undefined
}

/** The body of `notes.create` (reference, section 3.2). Put undocumented fields into `extraBody`. */
export interface CreateNoteBody {
  /** The text, as HTML. */
  body_html: string
}

const attachmentShape = z.looseObject({
  id: z.string(),
  presigned_url: nullish(z.string()),
  original_filename: nullish(z.string()),
  extension: nullish(z.string()),
  file_size: nullish(z.number()),
  resource_type: nullish(z.string()),
  resource_id: nullish(z.string()),
})

export const messageSchema = schemaFor<Message>()(
  z.looseObject({
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
    reply_to: nullish(z.looseObject({ id: z.string(), body_html: nullish(z.string()), user: nullish(userShape) })),
    attachments: nullish(z.array(attachmentShape)),
  }),
)

const withText = z.looseObject({ body_html: z.string() })

export const createMessageBodySchema = schemaFor<CreateMessageBody>()(withText)
export const createNoteBodySchema = schemaFor<CreateNoteBody>()(withText)
export const updateMessageBodySchema = schemaFor<UpdateMessageBody>()(
  z.looseObject({ body_html: z.optional(z.string()) }),
)
