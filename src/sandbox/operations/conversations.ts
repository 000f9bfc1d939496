import type { Conversation, Member } from '../data/shapes.ts'
import { notFound, validationFailed } from '../http-error.ts'
import { optionalFlag, optionalText, requiredEmail, requiredText } from './fields.ts'
import { pageOf } from './listing.ts'
import { type Answer, actingPerson, type Call, created, noContent, type Operation, ok } from './service-operation.ts'

export const conversationOperations: readonly Operation[] = [
  {
    name: 'listConversations',
    method: 'GET',
    path: '/api/oauth/v1/conversations',
    scope: 'conversations:read',
    answer: (call) => pageOf(call, call.workspace.conversations),
  },
  {
    name: 'createConversation',
    method: 'POST',
    path: '/api/oauth/v1/conversations',
    scope: 'conversations:write',
    actor: 'self',
    answer: createConversation,
  },
  {
    name: 'getConversation',
    method: 'GET',
    path: '/api/oauth/v1/conversations/:conversation_id',
    scope: 'conversations:read',
    answer: (call) => ok(conversationOf(call)),
  },
  {
    name: 'updateConversation',
    method: 'PATCH',
    path: '/api/oauth/v1/conversations/:conversation_id',
    scope: 'conversations:write',
    answer: updateConversation,
  },
  {
    name: 'assignConversation',
    method: 'POST',
    path: '/api/oauth/v1/conversations/:conversation_id/assignee',
    scope: 'conversations:write',
    actor: 'self',
    answer: assignConversation,
  },
  {
    name: 'unassignConversation',
    method: 'DELETE',
    path: '/api/oauth/v1/conversations/:conversation_id/assignee',
    scope: 'conversations:write',
    answer: (call) => {
      conversationOf(call).conversation_assignee = null
      return noContent()
    },
  },
]

/** The conversation that the path names; refuses with 404. */
export function conversationOf(call: Call): Conversation {
  const conversation = call.workspace.conversations.get(call.parameter('conversation_id'))
  if (conversation === undefined) throw notFound('conversation')
  return conversation
}

function createConversation(call: Call): Answer {
  const { workspace, service } = call
  const body = call.json()
  const email = requiredEmail(body, 'customer_email')
  const text = requiredText(body, 'initial_message')
  const at = service.seconds()
  const customer = (workspace.contactByEmail(email) ?? workspace.addContact(email, null, 'api', at)).user
  const conversation = workspace.conversations.add(workspace.newConversation(customer, text, at))
  const author = actingPerson(call).user
  workspace.messages(conversation.id).add(workspace.newMessage(conversation.id, author, text, 'api', at))
  return created(conversation)
}

function updateConversation(call: Call): Answer {
  const conversation = conversationOf(call)
  const body = call.json()
  const status = optionalText(body, 'status')
  const isSpam = optionalFlag(body, 'is_spam')
  const pinned = optionalFlag(body, 'pinned')
  // Any text is taken as a status: the literal spellings are not documented.
  if (status !== undefined) conversation.status = status
  if (isSpam !== undefined) conversation.is_spam = isSpam
  if (pinned !== undefined) conversation.pinned = pinned
  return ok(conversation)
}

function assignConversation(call: Call): Answer {
  const { workspace, service } = call
  const conversation = conversationOf(call)
  const member = memberByEitherId(call, requiredText(call.json(), 'user_id'))
  if (member === undefined) throw validationFailed('`user_id` is no team member of this organization.')
  conversation.conversation_assignee = {
    id: workspace.random.id('asg'),
    conversation_id: conversation.id,
    user_id: member.user.id,
    assignor_id: actingPerson(call).user.id,
    assigned_at: service.seconds(),
  }
  return created(conversation.conversation_assignee)
}

// A membership id and a user id are two ids, and which of them `user_id` takes is not said (reference, section 2).
function memberByEitherId(call: Call, id: string): Member | undefined {
  return call.workspace.members.find((member) => !member.archived && (member.id === id || member.user.id === id))
}
