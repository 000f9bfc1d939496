import type { Conversation, Message } from '../data/shapes.ts'
import { forbidden, notFound } from '../http-error.ts'
import { conversationOf } from './conversations.ts'
import { optionalText, requiredText } from './fields.ts'
import { listResponse } from './listing.ts'
import {
  actingPerson,
  created,
  noContent,
  type OperationContext,
  type OperationResponse,
  ok,
  type ServiceOperation,
} from './service-operation.ts'

export const messageOperations: readonly ServiceOperation[] = [
  {
    name: 'listMessages',
    method: 'GET',
    path: '/api/oauth/v1/conversations/:conversation_id/messages',
    scope: 'messages:read',
    handle: (context) => listResponse(context, context.workspace.messages(conversationOf(context).id)),
  },
  {
    name: 'createMessage',
    method: 'POST',
    path: '/api/oauth/v1/conversations/:conversation_id/messages',
    scope: 'messages:write',
    actor: 'self',
    handle: createMessage,
  },
  {
    name: 'updateMessage',
    method: 'PATCH',
    path: '/api/oauth/v1/conversations/:conversation_id/messages/:id',
    scope: 'messages:write',
    handle: updateMessage,
  },
  {
    name: 'deleteMessage',
    method: 'DELETE',
    path: '/api/oauth/v1/conversations/:conversation_id/messages/:id',
    scope: 'messages:write',
    actor: 'self',
    handle: deleteMessage,
  },
  {
    name: 'listNotes',
    method: 'GET',
    path: '/api/oauth/v1/conversations/:conversation_id/notes',
    scope: 'notes:read',
    handle: (context) => listResponse(context, context.workspace.notes(conversationOf(context).id)),
  },
  {
    name: 'createNote',
    method: 'POST',
    path: '/api/oauth/v1/conversations/:conversation_id/notes',
    scope: 'notes:write',
    actor: 'self',
    handle: (context) => {
      const conversation = conversationOf(context)
      return created(context.workspace.notes(conversation.id).add(messageFromBody(context, conversation)))
    },
  },
]

function createMessage(context: OperationContext): OperationResponse {
  const conversation = conversationOf(context)
  const message = context.workspace.messages(conversation.id).add(messageFromBody(context, conversation))
  context.workspace.refreshLastMessage(conversation)
  return created(message)
}

function updateMessage(context: OperationContext): OperationResponse {
  const conversation = conversationOf(context)
  const message = ownMessage(context, conversation)
  const bodyHtml = optionalText(context.json(), 'body_html')
  if (bodyHtml !== undefined) message.body_html = bodyHtml
  context.workspace.refreshLastMessage(conversation)
  return ok(message)
}

function deleteMessage(context: OperationContext): OperationResponse {
  const conversation = conversationOf(context)
  const message = ownMessage(context, conversation)
  context.workspace.messages(conversation.id).remove(message.id)
  context.workspace.refreshLastMessage(conversation)
  return noContent()
}

// An app is not the author of any message, so it cannot change one (docs/service.md#messages).
function ownMessage(context: OperationContext, conversation: Conversation): Message {
  const message = context.workspace.messages(conversation.id).get(context.parameter('id'))
  if (message === undefined) throw notFound('message')
  if (message.user.id !== context.person?.user.id) throw forbidden('Only the author can change or delete a message.')
  return message
}

function messageFromBody(context: OperationContext, conversation: Conversation): Message {
  const bodyHtml = requiredText(context.json(), 'body_html')
  const author = actingPerson(context).user
  return context.workspace.newMessage(conversation.id, author, bodyHtml, 'api', context.service.seconds())
}
