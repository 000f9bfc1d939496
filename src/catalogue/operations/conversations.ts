import { guide, mcpTool, reference, specification } from '../fact.ts'
import { inferred, operation, printed, self } from './operation.ts'

/** The operations on conversations, their messages and notes. */
export const conversationOperations = {
  'conversations.list': operation('specification', [specification('section 4'), guide('Pagination')], {
    operationId: 'listConversations',
    title: 'List conversations',
    request: 'GET /conversations',
    scope: 'conversations:read',
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
    scope: 'conversations:read',
    response: 'conversation',
  }),
  'conversations.create': operation('reference', [reference('Create conversation')], {
    operationId: 'createConversation',
    title: 'Create conversation',
    request: 'POST /conversations',
    scope: 'conversations:write',
    ...self,
    body: 'createConversationBody',
    response: 'conversation',
  }),
  'conversations.update': operation('inferred', [mcpTool('update_conversation'), guide('Scopes')], {
    operationId: 'updateConversation',
    title: 'Update conversation',
    request: 'PATCH /conversations/{conversation_id}',
    scope: 'conversations:write',
    body: 'updateConversationBody',
    response: 'conversation',
  }),
  'conversations.assign': operation('reference', [reference('Assign conversation')], {
    operationId: 'assignConversation',
    title: 'Assign conversation',
    request: 'POST /conversations/{conversation_id}/assignee',
    scope: 'conversations:write',
    ...self,
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
      scope: 'conversations:write',
      envelope: 'none',
    },
  ),

  'messages.list': operation('reference', [reference('List messages')], {
    operationId: 'listMessages',
    title: 'List messages',
    request: 'GET /conversations/{conversation_id}/messages',
    scope: 'messages:read',
    envelope: 'list',
    response: 'message',
    notes: [
      inferred('The most recent message comes first.', mcpTool('list_messages')),
      printed('The sample has no `page_metadata`.', 'List messages'),
    ],
  }),
  'messages.create': operation('reference', [reference('Send message')], {
    operationId: 'createMessage',
    title: 'Send message',
    request: 'POST /conversations/{conversation_id}/messages',
    scope: 'messages:write',
    ...self,
    body: 'createMessageBody',
    response: 'message',
  }),
  'messages.update': operation('reference', [reference('Update message')], {
    operationId: 'updateMessage',
    title: 'Update message',
    request: 'PATCH /conversations/{conversation_id}/messages/{id}',
    scope: 'messages:write',
    body: 'updateMessageBody',
    response: 'message',
    notes: [printed('Only the author can update a message.', 'Update message')],
  }),
  'messages.delete': operation('reference', [reference('Delete message')], {
    operationId: 'deleteMessage',
    title: 'Delete message',
    request: 'DELETE /conversations/{conversation_id}/messages/{id}',
    scope: 'messages:write',
    ...self,
    envelope: 'none',
    notes: [printed('Only the author can delete a message.', 'Delete message')],
  }),

  'notes.list': operation('inferred', [guide('Scopes'), reference('Add note')], {
    operationId: 'listNotes',
    title: 'List notes',
    request: 'GET /conversations/{conversation_id}/notes',
    scope: 'notes:read',
    envelope: 'list',
    response: 'message',
  }),
  'notes.create': operation('reference', [reference('Add note')], {
    operationId: 'createNote',
    title: 'Add note',
    request: 'POST /conversations/{conversation_id}/notes',
    scope: 'notes:write',
    ...self,
    body: 'createNoteBody',
    response: 'message',
    notes: [printed('The response has the shape of a message. No field tells a note from a message.', 'Add note')],
  }),
}
