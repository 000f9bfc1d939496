import { guide, reference, specification } from '../fact.ts'
import {
  count,
  flag,
  freeForm,
  html,
  many,
  one,
  role,
  sampled,
  text,
  texts,
  time,
  told,
  unknownFields,
} from './field.ts'

const conversationPages = ['Create conversation']
const messagePages = ['List messages', 'Send message']
const contactPages = ['List contacts', 'Create contact']
const memberPages = ['List team members', 'Get team member']

/** The resources that the service returns. */
export const resources = {
  user: sampled(
    'A person: a customer, an author or a team member.',
    ['Current token', 'List contacts', 'List messages'],
    {
      id: told(
        reference('Get team member'),
        text('The id of the user. A team member has the id of a membership instead.'),
      ),
      name: text('Full name.'),
      email: text('Email address.'),
      instagram_handle: text('Instagram handle.'),
      profile_picture_url: text('URL of a picture of the person.'),
    },
  ),
  conversation: sampled('A conversation with a customer.', conversationPages, {
    id: text('The id of the conversation.'),
    inserted_at: time('Creation time'),
    initial_message: text('Text of the first message.'),
    is_spam: flag('Whether the conversation is marked as spam.'),
    last_message: text('Text of the latest message.'),
    last_message_inserted_at: time('Time of the latest message'),
    status: text('The state, for example open or closed. The possible values are not documented.'),
    user: one('user', 'The customer.'),
    pinned: flag('Whether the conversation is pinned.'),
    unread_count: count('Number of unread messages.'),
    summary: text('A summary of the conversation.'),
    meta_info: told(reference('Create conversation'), freeForm('Free-form object.')),
    guest_submission: flag('Whether a guest submitted the conversation.'),
    group_id: text('The id of the group.'),
    group: one('group', 'The group that the conversation belongs to.'),
    conversation_assignee: one('conversationAssignee', 'The current assignment.'),
  }),
  group: sampled('A group of conversations.', conversationPages, {
    id: text('The id of the group.'),
    name: text('The name that people see.'),
    slug: text('The name as used in a URL.'),
    color: text('The color. The format is not documented.'),
  }),
  conversationAssignee: sampled(
    'The assignment of a conversation to a team member.',
    ['Assign conversation', ...conversationPages],
    {
      id: text('The id of the assignment.'),
      conversation_id: text('The id of the conversation.'),
      user_id: text('The team member. Whether this is a user id or a membership id is not documented.'),
      assignor_id: text('The person who assigned the conversation.'),
      assigned_at: time('Assignment time'),
    },
  ),
  message: sampled('A message of a conversation, or a note, which has the same shape.', messagePages, {
    id: text('The id of the message.'),
    conversation_id: text('The id of the conversation.'),
    source: text('The channel. The possible values are not documented.'),
    is_spam: flag('Whether the message is marked as spam.'),
    inserted_at: time('Creation time'),
    body_html: html('The text, as untrusted HTML. Sanitize it before you show it in a page.'),
    marked_as_solution_at: time('Time at which the message was marked as the solution'),
    user: one('user', 'The author.'),
    meta_info: told(reference('List messages'), freeForm('Free-form object.')),
    is_ai_message: flag('Whether an AI wrote the message.'),
    reply_to: one('quotedMessage', 'The message that this one replies to.'),
    attachments: many('attachment', 'The files of the message.'),
  }),
  quotedMessage: sampled('The message that another message replies to.', messagePages, {
    id: text('The id of the message.'),
    body_html: html('The text, as untrusted HTML. Sanitize it before you show it in a page.'),
    user: one('user', 'The author.'),
  }),
  attachment: sampled('A file attached to a message.', messagePages, {
    id: text('The id of the file.'),
    presigned_url: text('Download URL, which expires after some time.'),
    original_filename: text('Original file name.'),
    extension: text('File name extension. Whether it starts with a dot is not documented.'),
    file_size: count('File size, in bytes.'),
    resource_type: text('The kind of object the file belongs to. The possible values are not documented.'),
    resource_id: text('The id of the object the file belongs to.'),
  }),
  contact: sampled('A contact: a customer of the organization.', contactPages, {
    id: told(reference('Update contact'), text('The id of the contact.')),
    user: one('user', 'The person, with name and email address.'),
    source: text('The channel. The possible values are not documented.'),
    blocked: flag('Whether the contact is blocked.'),
    starred: flag('Whether the contact is starred.'),
    active: flag('Whether the contact is active.'),
    source_info: freeForm('Details of the source, as a free-form object.'),
    attributes: told(
      guide('Chat widget'),
      freeForm('Free-form object, into which the chat widget merges its `userData`.'),
    ),
    auth_type: text('How the contact identified itself. The possible values are not documented.'),
    inserted_at: time('Creation time'),
    updated_at: time('Time of the latest change'),
    active_at: time('Time of the latest activity'),
  }),
  member: sampled('A team member: the membership of a user in the organization.', memberPages, {
    id: told(reference('Get team member'), text('The id of the membership, not of the user.')),
    role: role('The role. `admin` is the only documented value.'),
    archived: flag('Whether the membership is archived.'),
    user: one('user', 'The person, with name and email address.'),
  }),
  organization: sampled('The organization of the token.', ['Get organization', 'Current token'], {
    id: text('The id of the organization.'),
    name: text('The name.'),
    display_name: text('The name that people see.'),
    domain: text('The domain.'),
    created_at: {
      ...text('Creation time, as an ISO 8601 string. All other timestamps are in seconds since the Unix epoch.'),
      format: 'date-time',
    },
  }),
  organizationSettings: sampled('The settings of the organization.', ['Update settings'], {
    allow_guest_submission: flag('Whether guests can start conversations.'),
    enable_ai_assistant: flag('Whether the AI assistant is enabled.'),
    bot_configuration: freeForm('Bot configuration, as a free-form object.'),
    locale: text('The language. The format is not documented.'),
  }),
  me: sampled('The identity of an access token.', ['Current token'], {
    application: one('application', 'The app that the token was issued to.'),
    organization: told(specification('section 5'), one('organization', 'The organization that the token is bound to.')),
    actor: told(specification('section 5'), {
      ...text('Who the token acts as: `app` or `self`.'),
      values: 'Actor',
    }),
    scopes: texts('The scopes of the token.'),
    user: one('user', 'The user of an `actor=self` token. Null or absent with `app`.'),
  }),
  application: sampled('An OAuth app.', ['Current token'], {
    id: text('The id of the app.'),
    name: text('The name that admins see.'),
    client_id: text('The OAuth client id.'),
  }),
  task: unknownFields('A task. Its fields are not documented.', { id: text('The id of the task.') }),
  segment: unknownFields('A segment. Its fields are not documented.', {
    id: text('The id of the segment.'),
  }),
}
