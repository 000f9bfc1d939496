import { email, flag, nonEmptyText } from '../checks.ts'
import { findByEmail } from '../data/organization-data.ts'
import type { Conversation, Message } from '../data/shapes.ts'
import { forbidden, notFound, validationFailed } from '../http.ts'
import { authorOf, type Caller, finder, operation } from './operation.ts'

const findConversation = finder('conversation', ({ conversations }) => conversations)

export const conversationOperations = {
  listConversations: operation({
    route: 'GET /conversations',
    scope: 'conversations:read',
    list: ({ data }) => data.conversations,
  }),
  createConversation: operation({
    route: 'POST /conversations',
    scope: 'conversations:write',
    actor: 'self',
    required: { customer_email: email, initial_message: nonEmptyText },
    handle(call) {
      const { data, sandbox, body } = call
      const at = sandbox.seconds()
      const contact =
        findByEmail(data.contacts, body.customer_email) ?? data.addContact(body.customer_email, null, 'api', at)
      const conversation = data.newConversation(contact.user, body.initial_message, at)
      const message = data.newMessage(conversation.id, authorOf(call), body.initial_message, 'api', at)
      data.messages(conversation.id).add(message)
      return data.conversations.add(conversation)
    },
  }),
  getConversation: operation({
    route: 'GET /conversations/:id',
    scope: 'conversations:read',
    find: findConversation,
  }),
  updateConversation: operation({
    route: 'PATCH /conversations/:id',
    scope: 'conversations:write',
    find: findConversation,
    // Accepts any text as a status, because the documents do not list the statuses.
    optional: { status: nonEmptyText, is_spam: flag, pinned: flag },
  }),
  assignConversation: operation({
    route: 'POST /conversations/:id/assignee',
    scope: 'conversations:write',
    actor: 'self',
    find: findConversation,
    required: { user_id: nonEmptyText },
    handle(call) {
      const { data, sandbox, found, body } = call
      // The documents do not say whether `user_id` is a user id or a membership id (docs/service.md#conversations).
      const member = data.members.find(({ archived, id, user }) => {
        return !archived && (id === body.user_id || user.id === body.user_id)
      })
      if (member === undefined)
        throw validationFailed('`user_id` must be the id of a team member of this organization.')
      return data.assign(found, member.user, sandbox.seconds(), authorOf(call).id)
    },
  }),
  unassignConversation: operation({
    route: 'DELETE /conversations/:id/assignee',
    scope: 'conversations:write',
    find: findConversation,
    handle({ found }) {
      found.conversation_assignee = null
    },
  }),
  listMessages: operation({
    route: 'GET /conversations/:id/messages',
    scope: 'messages:read',
    find: findConversation,
    list: ({ data, found }) => data.messages(found.id),
  }),
  createMessage: operation({
    route: 'POST /conversations/:id/messages',
    scope: 'messages:write',
    actor: 'self',
    find: findConversation,
    required: { body_html: nonEmptyText },
    handle(call) {
      const message = call.data.messages(call.found.id).add(newMessage(call))
      call.data.refreshLastMessage(call.found)
      return message
    },
  }),
  updateMessage: operation({
    route: 'PATCH /conversations/:id/messages/:message_id',
    scope: 'messages:write',
    find: findOwnMessage,
    optional: { body_html: nonEmptyText },
    handle({ data, found, body }) {
      const message = Object.assign(found.message, body)
      data.refreshLastMessage(found.conversation)
      return message
    },
  }),
  deleteMessage: operation({
    route: 'DELETE /conversations/:id/messages/:message_id',
    scope: 'messages:write',
    actor: 'self',
    find: findOwnMessage,
    handle({ data, found }) {
      data.messages(found.conversation.id).remove(found.message.id)
      data.refreshLastMessage(found.conversation)
    },
  }),
  listNotes: operation({
    route: 'GET /conversations/:id/notes',
    scope: 'notes:read',
    find: findConversation,
    list: ({ data, found }) => data.notes(found.id),
  }),
  createNote: operation({
    route: 'POST /conversations/:id/notes',
    scope: 'notes:write',
    actor: 'self',
    find: findConversation,
    required: { body_html: nonEmptyText },
    handle: (call) => call.data.notes(call.found.id).add(newMessage(call)),
  }),
}

// An app cannot change messages, because their authors are people (docs/service.md#messages).
function findOwnMessage(caller: Caller): { conversation: Conversation; message: Message } {
  const conversation = findConversation(caller)
  const message = caller.data.messages(conversation.id).get(caller.parameters.message_id ?? '')
  if (message === undefined) throw notFound('message')
  if (message.user.id !== caller.person?.user.id) throw forbidden('Only the author can change or delete a message.')
  return { conversation, message }
}

function newMessage(call: Caller & { found: Conversation; body: { body_html: string } }): Message {
  const { data, sandbox, found, body } = call
  return data.newMessage(found.id, authorOf(call), body.body_html, 'api', sandbox.seconds())
}
