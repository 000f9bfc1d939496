import { mcpTool, reference } from '../fact.ts'
import { flag, freeForm, fromTool, html, requested, role, text, unknownFields } from './field.ts'

const email = (meaning: string) => ({ ...text(meaning), format: 'email' }) as const

/** The request bodies of the operations, by the name of the schema. Samples print required fields only. */
export const bodies = {
  createConversationBody: requested('The body of `conversations.create`.', reference('Create conversation'), {
    customer_email: email('Email address of the customer.'),
    initial_message: text('Text of the first message.'),
  }),
  updateConversationBody: requested('The body of `conversations.update`.', mcpTool('update_conversation'), {
    status: fromTool('update_conversation', text('The state. The possible values are not documented.')),
    is_spam: fromTool('update_conversation', flag('Whether the conversation is marked as spam.')),
    pinned: fromTool('update_conversation', flag('Whether the conversation is pinned.')),
  }),
  assignConversationBody: requested('The body of `conversations.assign`.', reference('Assign conversation'), {
    user_id: text('The team member. Whether the service expects a user id or a membership id is not documented.'),
  }),
  createMessageBody: requested('The body of `messages.create`.', reference('Send message'), {
    body_html: html('The text, as HTML.'),
  }),
  updateMessageBody: requested('The body of `messages.update`.', reference('Update message'), {
    body_html: fromTool('update_message', html('The text, as HTML.')),
  }),
  createNoteBody: requested('The body of `notes.create`.', reference('Add note'), {
    body_html: html('The text, as HTML.'),
  }),
  createContactBody: requested('The body of `contacts.create`.', reference('Create contact'), {
    email: email('Email address of the contact.'),
    name: fromTool('create_customer', text('Full name.')),
  }),
  updateContactBody: requested('The body of `contacts.update`.', reference('Update contact'), {
    blocked: fromTool('update_customer', flag('Whether the contact is blocked.')),
  }),
  inviteMemberBody: requested('The body of `members.invite`.', reference('Invite team member'), {
    email: email('Email address of the person.'),
    name: fromTool('invite_team_member', text('Full name.')),
    role: fromTool('invite_team_member', role('The role. `admin` is the only documented value.')),
  }),
  updateMemberBody: requested('The body of `members.update`.', reference('Update team member'), {
    role: fromTool('update_team_member', role('The role. `admin` is the only documented value.')),
    archived: fromTool('update_team_member', flag('Whether the membership is archived.')),
  }),
  updateOrganizationBody: requested('The body of `organization.update`.', reference('Update organization'), {
    display_name: fromTool('update_organization', text('The name that people see.')),
  }),
  updateOrganizationSettingsBody: requested(
    'The body of `organization.updateSettings`.',
    reference('Update settings'),
    {
      allow_guest_submission: fromTool('update_organization_settings', flag('Whether guests can start conversations.')),
      enable_ai_assistant: fromTool('update_organization_settings', flag('Whether the AI assistant is enabled.')),
      bot_configuration: fromTool(
        'update_organization_settings',
        freeForm('Bot configuration, as a free-form object.'),
      ),
      locale: fromTool('update_organization_settings', text('The language. The format is not documented.')),
    },
  ),
  createTaskBody: unknownFields('The body of `tasks.create`.'),
  updateTaskBody: unknownFields('The body of `tasks.update`.'),
  createSegmentBody: unknownFields('The body of `segments.create`.'),
  updateSegmentBody: unknownFields('The body of `segments.update`.'),
}
