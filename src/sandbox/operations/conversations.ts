import type { Conversation, Member } from '../data/shapes.ts'
import { notFound, validationFailed } from '../http-error.ts'
import { optionalFlag, optionalText, requiredEmail, requiredText } from './fields.ts'
import { pageResponse } from './listing.ts'
import {
  actingPerson,
  created,
  noContent,
  type OperationContext,
  type OperationResponse,
  ok,
  type ServiceOperation,
} from './service-operation.ts'

export const conversationOperations: readonly ServiceOperation[] = [
  {
    name: 'listConversations',
    method: 'GET',
    path: '/api/oauth/v1/conversations',
    scope: 'conversations:read',
    handle: (context) => pageResponse(context, context.workspace.conversations),
  },
  {
    name: 'createConversation',
    method: 'POST',
    path: '/api/oauth/v1/conversations',
    scope: 'conversations:write',
    actor: 'self',
    handle: createConversation,
  },
  {
    name: 'getConversation',
    method: 'GET',
    path: '/api/oauth/v1/conversations/:conversation_id',
    scope: 'conversations:read',
    handle: (context) => ok(conversationOf(context)),
  },
  {
    name: 'updateConversation',
    method: 'PATCH',
    path: '/api/oauth/v1/conversations/:conversation_id',
    scope: 'conversations:write',
    handle: updateConversation,
  },
  {
    name: 'assignConversation',
    method: 'POST',
    path: '/api/oauth/v1/conversations/:conversation_id/assignee',
    scope: 'conversations:write',
    actor: 'self',
    handle: assignConversation,
  },
  {
    name: 'unassignConversation',
    method: 'DELETE',
    path: '/api/oauth/v1/conversations/:conversation_id/assignee',
    scope: 'conversations:write',
    handle: (context) => {
      conversationOf(context).conversation_assignee = null
      return noContent()
    },
  },
]

/** Returns the conversation in the path. Throws a 404 if there is none. */
export function conversationOf(context: OperationContext): Conversation {
  const conversation = context.workspace.conversations.get(context.parameter('conversation_id'))
  if (conversation === undefined) throw notFound('conversation')
  return conversation
}

function createConversation(context: OperationContext): OperationResponse {
  const { workspace, service } = context
  const body = context.json()
  const email = requiredEmail(body, 'customer_email')
  const text = requiredText(body, 'initial_message')
  const at = service.seconds()
  const customer = (workspace.contactByEmail(email) ?? workspace.addContact(email, null, 'api', at)).user
  const conversation = workspace.conversations.add(workspace.newConversation(customer, text, at))
  const author = actingPerson(context).user
  workspace.messages(conversation.id).add(workspace.newMessage(conversation.id, author, text, 'api', at))
  return created(conversation)
}

function updateConversation(context: OperationContext): OperationResponse {
  const conversation = conversationOf(context)
  const body = context.json()
  const status = optionalText(body, 'status')
  const isSpam = optionalFlag(body, 'is_spam')
  const pinned = optionalFlag(body, 'pinned')
  // Accepts any text as a status, because the documents do not list the statuses.
  if (status !== undefined) conversation.status = status
  if (isSpam !== undefined) conversation.is_spam = isSpam
  if (pinned !== undefined) conversation.pinned = pinned
  return ok(conversation)
}

function assignConversation(context: OperationContext): OperationResponse {
  const { workspace, service } = context
  const conversation = conversationOf(context)
  const member = memberByEitherId(context, requiredText(context.json(), 'user_id'))
  if (member === undefined) throw validationFailed('`user_id` must be the id of a team member of this organization.')
  conversation.conversation_assignee = {
    id: workspace.random.id('asg'),
    conversation_id: conversation.id,
    user_id: member.user.id,
    assignor_id: actingPerson(context).user.id,
    assigned_at: service.seconds(),
  }
  return created(conversation.conversation_assignee)
}

// The documents do not say whether `user_id` is a user id or a membership id (docs/service.md#conversations).
function memberByEitherId(context: OperationContext, id: string): Member | undefined {
  return context.workspace.members.find((member) => !member.archived && (member.id === id || member.user.id === id))
}
