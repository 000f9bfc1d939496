import type { Conversation, Message } from '../data/shapes.ts'
import { forbidden, notFound } from '../http-error.ts'
import { conversationOf } from './conversations.ts'
import { optionalText, requiredText } from './fields.ts'
import { pageOrAll } from './listing.ts'
import { type Answer, actingPerson, type Call, created, noContent, type Operation, ok } from './service-operation.ts'

export const messageOperations: readonly Operation[] = [
  {
    name: 'listMessages',
    method: 'GET',
    path: '/api/oauth/v1/conversations/:conversation_id/messages',
    scope: 'messages:read',
    answer: (call) => pageOrAll(call, call.workspace.messages(conversationOf(call).id)),
  },
  {
    name: 'createMessage',
    method: 'POST',
    path: '/api/oauth/v1/conversations/:conversation_id/messages',
    scope: 'messages:write',
    actor: 'self',
    answer: createMessage,
  },
  {
    name: 'updateMessage',
    method: 'PATCH',
    path: '/api/oauth/v1/conversations/:conversation_id/messages/:id',
    scope: 'messages:write',
    answer: updateMessage,
  },
  {
    name: 'deleteMessage',
    method: 'DELETE',
    path: '/api/oauth/v1/conversations/:conversation_id/messages/:id',
    scope: 'messages:write',
    actor: 'self',
    answer: deleteMessage,
  },
  {
    name: 'listNotes',
    method: 'GET',
    path: '/api/oauth/v1/conversations/:conversation_id/notes',
    scope: 'notes:read',
    answer: (call) => pageOrAll(call, call.workspace.notes(conversationOf(call).id)),
  },
  {
    name: 'createNote',
    method: 'POST',
    path: '/api/oauth/v1/conversations/:conversation_id/notes',
    scope: 'notes:write',
    actor: 'self',
    answer: (call) => {
      const conversation = conversationOf(call)
      return created(call.workspace.notes(conversation.id).add(writtenBy(call, conversation)))
    },
  },
]

function createMessage(call: Call): Answer {
  const conversation = conversationOf(call)
  const message = call.workspace.messages(conversation.id).add(writtenBy(call, conversation))
  call.workspace.refreshLastMessage(conversation)
  return created(message)
}

function updateMessage(call: Call): Answer {
  const conversation = conversationOf(call)
  const message = ownMessage(call, conversation)
  const bodyHtml = optionalText(call.json(), 'body_html')
  if (bodyHtml !== undefined) message.body_html = bodyHtml
  call.workspace.refreshLastMessage(conversation)
  return ok(message)
}

function deleteMessage(call: Call): Answer {
  const conversation = conversationOf(call)
  const message = ownMessage(call, conversation)
  call.workspace.messages(conversation.id).remove(message.id)
  call.workspace.refreshLastMessage(conversation)
  return noContent()
}

// An app's token has no messages of its own, so it may change none (reference, section 1, rows 9 and 10).
function ownMessage(call: Call, conversation: Conversation): Message {
  const message = call.workspace.messages(conversation.id).get(call.parameter('id'))
  if (message === undefined) throw notFound('message')
  if (message.user.id !== call.person?.user.id) throw forbidden('Only its author may change or delete a message.')
  return message
}

function writtenBy(call: Call, conversation: Conversation): Message {
  const bodyHtml = requiredText(call.json(), 'body_html')
  const author = actingPerson(call).user
  return call.workspace.newMessage(conversation.id, author, bodyHtml, 'api', call.service.seconds())
}
