// Generated from src/api by `npm run generate`. Do not edit.

import type { Actor } from '../../shared/actor.ts'
import type { FreeForm, Role } from '../open-types.ts'

/** A person: a customer, an author or a team member ([reference](docs/service.md#people)). */
export interface User {
  /** The id of the user. A team member has the id of a membership instead. */
  id: string
  /** Full name (inferred). */
  name?: string | null
  /** Email address (inferred). */
  email?: string | null
  /** Instagram handle (inferred). */
  instagram_handle?: string | null
  /** URL of a picture of the person (inferred). */
  profile_picture_url?: string | null
}

/** An OAuth app ([reference](docs/service.md#identity)). */
export interface Application {
  /** The id of the app. */
  id: string
  /** The name that admins see (inferred). */
  name?: string | null
  /** The OAuth client id (inferred). */
  client_id?: string | null
}

/** The organization of the token ([reference](docs/service.md#organization)). */
export interface Organization {
  /** The id of the organization. */
  id: string
  /** The name (inferred). */
  name?: string | null
  /** The name that people see (inferred). */
  display_name?: string | null
  /** The domain (inferred). */
  domain?: string | null
  /** Creation time, as an ISO 8601 string (inferred). All other timestamps are in seconds since the Unix epoch. */
  created_at?: string | null
}

/** The identity of an access token ([reference](docs/service.md#identity)). */
export interface Me {
  /** The app that the token was issued to (inferred). */
  application?: Application | null
  /** The organization that the token is bound to. */
  organization?: Organization | null
  /** Who the token acts as: `app` or `self`. */
  actor?: Actor | (string & {}) | null
  /** The scopes of the token (inferred). */
  scopes?: string[] | null
  /** The user of an `actor=self` token (inferred). Null or absent with `app`. */
  user?: User | null
}

/** A group of conversations ([reference](docs/service.md#conversations)). */
export interface Group {
  /** The id of the group. */
  id: string
  /** The name that people see (inferred). */
  name?: string | null
  /** The name as used in a URL (inferred). */
  slug?: string | null
  /** The color (inferred). The format is not documented. */
  color?: string | null
}

/** The assignment of a conversation to a team member ([reference](docs/service.md#conversations)). */
export interface ConversationAssignee {
  /** The id of the assignment. */
  id: string
  /** The id of the conversation (inferred). */
  conversation_id?: string | null
  /** The team member (inferred). Whether this is a user id or a membership id is not documented. */
  user_id?: string | null
  /** The person who assigned the conversation (inferred). */
  assignor_id?: string | null
  /** Assignment time, in seconds since the Unix epoch (inferred). */
  assigned_at?: number | null
}

/** A conversation with a customer ([reference](docs/service.md#conversations)). */
export interface Conversation {
  /** The id of the conversation. */
  id: string
  /** Creation time, in seconds since the Unix epoch (inferred). */
  inserted_at?: number | null
  /** Text of the first message (inferred). */
  initial_message?: string | null
  /** Whether the conversation is marked as spam (inferred). */
  is_spam?: boolean | null
  /** Text of the latest message (inferred). */
  last_message?: string | null
  /** Time of the latest message, in seconds since the Unix epoch (inferred). */
  last_message_inserted_at?: number | null
  /** The state, for example open or closed (inferred). The possible values are not documented. */
  status?: string | null
  /** The customer (inferred). */
  user?: User | null
  /** Whether the conversation is pinned (inferred). */
  pinned?: boolean | null
  /** Number of unread messages (inferred). */
  unread_count?: number | null
  /** A summary of the conversation (inferred). */
  summary?: string | null
  /** Free-form object. */
  meta_info?: FreeForm | null
  /** Whether a guest submitted the conversation (inferred). */
  guest_submission?: boolean | null
  /** The id of the group (inferred). */
  group_id?: string | null
  /** The group that the conversation belongs to (inferred). */
  group?: Group | null
  /** The current assignment (inferred). */
  conversation_assignee?: ConversationAssignee | null
}

/**
 * The body of `conversations.create` ([reference](docs/service.md#conversations)). Pass undocumented fields in
 * `extraBody`.
 */
export interface CreateConversationBody {
  /** Email address of the customer (inferred). */
  customer_email: string
  /** Text of the first message (inferred). */
  initial_message: string
}

/**
 * The body of `conversations.update` ([what is known](docs/service.md#conversations)). Its fields are inferred.
 * Pass undocumented fields in `extraBody`.
 */
export interface UpdateConversationBody {
  /** The state. The possible values are not documented. The field is inferred. */
  status?: string | undefined
  /** Whether the conversation is marked as spam. The field is inferred. */
  is_spam?: boolean | undefined
  /** Whether the conversation is pinned. The field is inferred. */
  pinned?: boolean | undefined
}

/**
 * The body of `conversations.assign` ([reference](docs/service.md#conversations)). Pass undocumented fields in
 * `extraBody`.
 */
export interface AssignConversationBody {
  /** The team member (inferred). Whether the service expects a user id or a membership id is not documented. */
  user_id: string
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

/** A file attached to a message ([reference](docs/service.md#messages)). */
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

/**
 * The body of `messages.create` ([reference](docs/service.md#messages)). Pass undocumented fields in `extraBody`.
 */
export interface CreateMessageBody {
  /** The text, as HTML (inferred). */
  body_html: string
}

/**
 * The body of `messages.update` ([reference](docs/service.md#messages)). Its field is inferred. Pass undocumented
 * fields in `extraBody`.
 */
export interface UpdateMessageBody {
  /** The text, as HTML. The field is inferred. */
  body_html?: string | undefined
}

/** The body of `notes.create` ([reference](docs/service.md#notes)). Pass undocumented fields in `extraBody`. */
export interface CreateNoteBody {
  /** The text, as HTML (inferred). */
  body_html: string
}

/** A contact: a customer of the organization ([reference](docs/service.md#contacts)). */
export interface Contact {
  /** The id of the contact. */
  id: string
  /** The person, with name and email address (inferred). */
  user?: User | null
  /** The channel (inferred). The possible values are not documented. */
  source?: string | null
  /** Whether the contact is blocked (inferred). */
  blocked?: boolean | null
  /** Whether the contact is starred (inferred). */
  starred?: boolean | null
  /** Whether the contact is active (inferred). */
  active?: boolean | null
  /** Details of the source, as a free-form object (inferred). */
  source_info?: FreeForm | null
  /** Free-form object, into which the chat widget merges its `userData`. */
  attributes?: FreeForm | null
  /** How the contact identified itself (inferred). The possible values are not documented. */
  auth_type?: string | null
  /** Creation time, in seconds since the Unix epoch (inferred). */
  inserted_at?: number | null
  /** Time of the latest change, in seconds since the Unix epoch (inferred). */
  updated_at?: number | null
  /** Time of the latest activity, in seconds since the Unix epoch (inferred). */
  active_at?: number | null
}

/**
 * The body of `contacts.create` ([reference](docs/service.md#contacts)). Pass undocumented fields in `extraBody`.
 */
export interface CreateContactBody {
  /** Email address of the contact (inferred). */
  email: string
  /** Full name. The field is inferred. */
  name?: string | undefined
}

/**
 * The body of `contacts.update` ([reference](docs/service.md#contacts)). Its field is inferred. Pass undocumented
 * fields in `extraBody`.
 */
export interface UpdateContactBody {
  /** Whether the contact is blocked. The field is inferred. */
  blocked?: boolean | undefined
}

/** A team member: the membership of a user in the organization ([reference](docs/service.md#team-members)). */
export interface Member {
  /** The id of the membership, not of the user. */
  id: string
  /** The role (inferred). `admin` is the only documented value. */
  role?: Role | null
  /** Whether the membership is archived (inferred). */
  archived?: boolean | null
  /** The person, with name and email address (inferred). */
  user?: User | null
}

/**
 * The body of `members.invite` ([reference](docs/service.md#team-members)). Pass undocumented fields in
 * `extraBody`.
 */
export interface InviteMemberBody {
  /** Email address of the person (inferred). */
  email: string
  /** Full name. The field is inferred. */
  name?: string | undefined
  /** The role. `admin` is the only documented value. The field is inferred. */
  role?: Role | undefined
}

/**
 * The body of `members.update` ([reference](docs/service.md#team-members)). Its fields are inferred. Pass
 * undocumented fields in `extraBody`.
 */
export interface UpdateMemberBody {
  /** The role. `admin` is the only documented value. The field is inferred. */
  role?: Role | undefined
  /** Whether the membership is archived. The field is inferred. */
  archived?: boolean | undefined
}

/**
 * The body of `organization.update` ([reference](docs/service.md#organization)). Its field is inferred. Pass
 * undocumented fields in `extraBody`.
 */
export interface UpdateOrganizationBody {
  /** The name that people see. The field is inferred. */
  display_name?: string | undefined
}

/** The settings of the organization ([reference](docs/service.md#organization)). */
export interface OrganizationSettings {
  /** Whether guests can start conversations (inferred). */
  allow_guest_submission?: boolean | null
  /** Whether the AI assistant is enabled (inferred). */
  enable_ai_assistant?: boolean | null
  /** Bot configuration, as a free-form object (inferred). */
  bot_configuration?: FreeForm | null
  /** The language (inferred). The format is not documented. */
  locale?: string | null
}

/**
 * The body of `organization.updateSettings` ([reference](docs/service.md#organization)). Its fields are inferred.
 * Pass undocumented fields in `extraBody`.
 */
export interface UpdateOrganizationSettingsBody {
  /** Whether guests can start conversations. The field is inferred. */
  allow_guest_submission?: boolean | undefined
  /** Whether the AI assistant is enabled. The field is inferred. */
  enable_ai_assistant?: boolean | undefined
  /** Bot configuration, as a free-form object. The field is inferred. */
  bot_configuration?: FreeForm | undefined
  /** The language. The format is not documented. The field is inferred. */
  locale?: string | undefined
}

/** A task ([what is known](docs/service.md#tasks-and-segments)). Its fields are not documented. */
export interface Task {
  /** The id of the task. The field is inferred. */
  id: string
  [field: string]: unknown
}

/**
 * The body of `tasks.create` ([what is known](docs/service.md#tasks-and-segments)). Its fields are not documented,
 * so any object is accepted.
 */
export type CreateTaskBody = object

/**
 * The body of `tasks.update` ([what is known](docs/service.md#tasks-and-segments)). Its fields are not documented,
 * so any object is accepted.
 */
export type UpdateTaskBody = object

/** A segment ([what is known](docs/service.md#tasks-and-segments)). Its fields are not documented. */
export interface Segment {
  /** The id of the segment. The field is inferred. */
  id: string
  [field: string]: unknown
}

/**
 * The body of `segments.create` ([what is known](docs/service.md#tasks-and-segments)). Its fields are not
 * documented, so any object is accepted.
 */
export type CreateSegmentBody = object

/**
 * The body of `segments.update` ([what is known](docs/service.md#tasks-and-segments)). Its fields are not
 * documented, so any object is accepted.
 */
export type UpdateSegmentBody = object

/** The type of each model, by its name. */
export interface Models {
  user: User
  application: Application
  organization: Organization
  me: Me
  group: Group
  conversationAssignee: ConversationAssignee
  conversation: Conversation
  createConversationBody: CreateConversationBody
  updateConversationBody: UpdateConversationBody
  assignConversationBody: AssignConversationBody
  quotedMessage: QuotedMessage
  attachment: Attachment
  message: Message
  createMessageBody: CreateMessageBody
  updateMessageBody: UpdateMessageBody
  createNoteBody: CreateNoteBody
  contact: Contact
  createContactBody: CreateContactBody
  updateContactBody: UpdateContactBody
  member: Member
  inviteMemberBody: InviteMemberBody
  updateMemberBody: UpdateMemberBody
  updateOrganizationBody: UpdateOrganizationBody
  organizationSettings: OrganizationSettings
  updateOrganizationSettingsBody: UpdateOrganizationSettingsBody
  task: Task
  createTaskBody: CreateTaskBody
  updateTaskBody: UpdateTaskBody
  segment: Segment
  createSegmentBody: CreateSegmentBody
  updateSegmentBody: UpdateSegmentBody
}
