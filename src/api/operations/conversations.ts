import { fact, guide, inferred, mcpTool, reference, specification } from '../fact.ts'
import { operation, printed } from './operation.ts'

/** The operations on conversations, their messages and notes. */
export const conversationOperations = {
  'conversations.list': operation('specification', [specification('section 4'), guide('Pagination')], {
    operationId: 'listConversations',
    title: 'List conversations',
    request: 'GET /conversations',
    envelope: 'list',
    response: 'conversation',
    notes: [
      inferred(
        'There are filters by status, users, assignees and email domains. Their names are not known.',
        mcpTool('list_conversations'),
      ),
    ],
  }),
  'conversations.get': operation('inferred', [mcpTool('get_conversation')], {
    operationId: 'getConversation',
    title: 'Get conversation',
    request: 'GET /conversations/{conversation_id}',
    response: 'conversation',
  }),
  'conversations.create': printed('Create conversation', {
    operationId: 'createConversation',
    request: 'POST /conversations',
    actor: 'self',
    body: 'createConversationBody',
    response: 'conversation',
  }),
  'conversations.update': operation('inferred', [mcpTool('update_conversation'), guide('Scopes')], {
    operationId: 'updateConversation',
    title: 'Update conversation',
    request: 'PATCH /conversations/{conversation_id}',
    body: 'updateConversationBody',
    response: 'conversation',
  }),
  'conversations.assign': printed('Assign conversation', {
    operationId: 'assignConversation',
    request: 'POST /conversations/{conversation_id}/assignee',
    actor: 'self',
    body: 'assignConversationBody',
    response: 'conversationAssignee',
  }),
  'conversations.unassign': operation(
    'inferred',
    [mcpTool('unassign_conversation'), reference('Assign conversation')],
    {
      operationId: 'unassignConversation',
      title: 'Unassign conversation',
      request: 'DELETE /conversations/{conversation_id}/assignee',
    },
  ),

  'messages.list': printed('List messages', {
    operationId: 'listMessages',
    request: 'GET /conversations/{conversation_id}/messages',
    envelope: 'list',
    response: 'message',
    notes: [
      inferred('The most recent message comes first.', mcpTool('list_messages')),
      fact('The sample has no `page_metadata`.', reference('List messages')),
    ],
  }),
  'messages.create': printed('Send message', {
    operationId: 'createMessage',
    request: 'POST /conversations/{conversation_id}/messages',
    actor: 'self',
    body: 'createMessageBody',
    response: 'message',
  }),
  'messages.update': printed('Update message', {
    operationId: 'updateMessage',
    request: 'PATCH /conversations/{conversation_id}/messages/{id}',
    body: 'updateMessageBody',
    response: 'message',
    notes: [fact('Only the author can update a message.', reference('Update message'))],
  }),
  'messages.delete': printed('Delete message', {
    operationId: 'deleteMessage',
    request: 'DELETE /conversations/{conversation_id}/messages/{id}',
    actor: 'self',
    notes: [fact('Only the author can delete a message.', reference('Delete message'))],
  }),

  'notes.list': operation('inferred', [guide('Scopes'), reference('Add note')], {
    operationId: 'listNotes',
    title: 'List notes',
    request: 'GET /conversations/{conversation_id}/notes',
    envelope: 'list',
    response: 'message',
  }),
  'notes.create': printed('Add note', {
    operationId: 'createNote',
    request: 'POST /conversations/{conversation_id}/notes',
    actor: 'self',
    body: 'createNoteBody',
    response: 'message',
    notes: [
      fact('The response has the shape of a message. No field tells a note from a message.', reference('Add note')),
    ],
  }),
}
