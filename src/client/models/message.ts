import type { FreeForm } from './free-form.ts'
import type { User } from './user.ts'

/** A message of a conversation, or a note, which has the same shape ([reference](docs/service.md#messages)). */
export interface Message {
  /** The id of the message. */
  id: string
  /** The id of the conversation (inferred). */
  conversation_id?: string | null
  /** The channel (inferred). The possible values are not documented. */
  source?: string | null
  /** Whether the message is marked as spam (inferred). */
  is_spam?: boolean | null
  /** Creation time, in seconds since the Unix epoch (inferred). */
  inserted_at?: number | null
  /** The text, as untrusted HTML (inferred). Sanitize it before you show it in a page. */
  body_html?: string | null
  /** Time at which the message was marked as the solution, in seconds since the Unix epoch (inferred). */
  marked_as_solution_at?: number | null
  /** The author (inferred). */
  user?: User | null
  /** Free-form object. */
  meta_info?: FreeForm | null
  /** Whether an AI wrote the message (inferred). */
  is_ai_message?: boolean | null
  /** The message that this one replies to (inferred). */
  reply_to?: QuotedMessage | null
  /** The files of the message (inferred). */
  attachments?: Attachment[] | null
}

/** The message that another message replies to ([reference](docs/service.md#messages)). */
export interface QuotedMessage {
  /** The id of the message. */
  id: string
  /** The text, as untrusted HTML (inferred). Sanitize it before you show it in a page. */
  body_html?: string | null
  /** The author (inferred). */
  user?: User | null
}

/** A file attached to a message ([reference](docs/service.md#messages)). Uploading is not documented. */
export interface Attachment {
  /** The id of the file. */
  id: string
  /** Download URL, which expires after some time (inferred). */
  presigned_url?: string | null
  /** Original file name (inferred). */
  original_filename?: string | null
  /** File name extension (inferred). Whether it starts with a dot is not documented. */
  extension?: string | null
  /** File size, in bytes (inferred). */
  file_size?: number | null
  /** The kind of object the file belongs to (inferred). The possible values are not documented. */
  resource_type?: string | null
  /** The id of the object the file belongs to (inferred). */
  resource_id?: string | null
}

/** The body of `messages.create` ([reference](docs/service.md#messages)). Pass undocumented fields in `extraBody`. */
export interface CreateMessageBody {
  /** The text, as HTML (inferred). */
  body_html: string
}

/** The body of `messages.update`. Its field is inferred ([reference](docs/service.md#messages)). */
export interface UpdateMessageBody {
  /** The text, as HTML. The field is inferred. */
  body_html?: string | undefined
}

/** The body of `notes.create` ([reference](docs/service.md#messages)). Pass undocumented fields in `extraBody`. */
export interface CreateNoteBody {
  /** The text, as HTML (inferred). */
  body_html: string
}
