import type { FreeForm } from './free-form.ts'
import type { User } from './user.ts'

/** A message of a conversation, or a note, which has the same shape ([reference](docs/service.md#messages)). */
export interface Message {
  id: string
  conversation_id?: string | null
  /** The channel. The possible values are not documented. */
  source?: string | null
  is_spam?: boolean | null
  /** Creation time, in seconds since the Unix epoch. */
  inserted_at?: number | null
  /** The text, as untrusted HTML: sanitize it before you show it in a page. */
  body_html?: string | null
  /** When the message was marked as the solution, in seconds since the Unix epoch. */
  marked_as_solution_at?: number | null
  /** Presumably the author (inferred). */
  user?: User | null
  /** Free-form object. */
  meta_info?: FreeForm | null
  /** Whether an AI wrote the message. */
  is_ai_message?: boolean | null
  /** The message this one replies to. */
  reply_to?: QuotedMessage | null
  attachments?: Attachment[] | null
}

/** The message that another message replies to ([reference](docs/service.md#messages)). */
export interface QuotedMessage {
  id: string
  /** The text, as untrusted HTML: sanitize it before you show it in a page. */
  body_html?: string | null
  /** Presumably the author (inferred). */
  user?: User | null
}

/** A file attached to a message ([reference](docs/service.md#messages)). Uploading is not documented. */
export interface Attachment {
  id: string
  /** Download URL. Presumably expires after some time (inferred). */
  presigned_url?: string | null
  /** Original file name. */
  original_filename?: string | null
  /** File name extension. Whether it starts with a dot is not documented. */
  extension?: string | null
  /** File size, presumably in bytes (inferred). */
  file_size?: number | null
  /** The kind of object the file belongs to. The possible values are not documented. */
  resource_type?: string | null
  /** The id of the object the file belongs to. */
  resource_id?: string | null
}

/** The body of `messages.create` ([reference](docs/service.md#messages)). Pass undocumented fields in `extraBody`. */
export interface CreateMessageBody {
  /** The text, as HTML. */
  body_html: string
}

/** The body of `messages.update`. The field is probable, not documented ([reference](docs/service.md#messages)). */
export interface UpdateMessageBody {
  /** The text, as HTML. */
  body_html?: string | undefined
}

/** The body of `notes.create` ([reference](docs/service.md#messages)). Pass undocumented fields in `extraBody`. */
export interface CreateNoteBody {
  /** The text, as HTML. */
  body_html: string
}
