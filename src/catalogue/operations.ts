import type { OperationId } from '../client/index.ts'
import type { Evidence } from '../core/index.ts'
import type { KnownScope } from '../shared/scopes.ts'
import {
  type Fact,
  frozen,
  guide,
  mcpTool,
  type Observation,
  reference,
  type Source,
  type Statement,
  specification,
} from './fact.ts'
import type { ModelName } from './models.ts'
import { observed } from './observed.ts'

/** What is known of an operation. `evidence` and `sources` are about its method and path. */
export interface CatalogueOperation extends Fact {
  /** The id of the operation in this package, which is also the name of its method: `contacts.create`. */
  readonly id: OperationId
  /** The vendor's name where it is printed, for example `createContact`. Otherwise a name of the same form. */
  readonly operationId: string
  /** The title of the page in the reference, or one of the same form. */
  readonly title: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path below the base URL, with parameters in braces. */
  readonly path: `/${string}`
  /** The scope that it needs. Absent if it needs none. */
  readonly scope?: KnownScope
  /** `self` if a source says that it needs an `actor=self` token. */
  readonly actor: 'self' | 'any'
  /**
   * Whether sending it twice has the effect of sending it once: `safe` for GET and DELETE, `unsafe` for POST, `unknown`
   * for PATCH.
   */
  readonly repeat: 'safe' | 'unsafe' | 'unknown'
  /** How a successful response is wrapped: in `data`, in `data` with `page_metadata`, not at all, or no body. */
  readonly envelope: 'item' | 'list' | 'bare' | 'none'
  /** The query parameters of a list, each with how it is known for this list. */
  readonly query: Readonly<Record<string, Statement>>
  /** The model of the request body. */
  readonly body?: ModelName
  /** The model of the response, or of an item of a list. */
  readonly response?: ModelName
  /** What else is known of it. */
  readonly notes: readonly Statement[]
  /** Calls to the live service that succeeded. Absent if there was none. */
  readonly observed?: Observation
}

const prefix = '/api/oauth/v1'
const repeats = { GET: 'safe', DELETE: 'safe', POST: 'unsafe', PATCH: 'unknown' } as const

interface Definition
  extends Partial<Pick<CatalogueOperation, 'scope' | 'actor' | 'envelope' | 'body' | 'response' | 'notes'>> {
  readonly operationId: string
  readonly title: string
  /** Method and path below the prefix. */
  readonly request: `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`
}

type Entry = Omit<CatalogueOperation, 'id' | 'observed'>

function operation(evidence: Evidence, sources: readonly Source[], { request, ...definition }: Definition): Entry {
  const [method, path] = request.split(' ') as [CatalogueOperation['method'], string]
  const { actor = 'any', envelope = 'item', notes = [] } = definition
  return {
    ...definition,
    evidence,
    sources,
    method,
    path: `${prefix}${path}`,
    actor,
    envelope,
    notes,
    repeat: repeats[method],
    query: envelope === 'list' ? listQuery(evidence) : {},
  }
}

/** The specification prints these parameters for conversations, and the pagination guide for lists in general. */
function listQuery(evidence: Evidence): Record<string, Statement> {
  const known: Fact =
    evidence === 'specification'
      ? { evidence, sources: [specification('section 4')] }
      : { evidence: 'inferred', sources: [specification('section 1'), guide('Pagination')] }
  return {
    limit: { text: 'Number of items per page, at least 1. Default and maximum are not documented.', ...known },
    after: { text: 'Cursor: the page after this point.', ...known },
    before: { text: 'Cursor: the page before this point.', ...known },
  }
}

const self = { actor: 'self' } as const

/** A fact about an operation that a page of the reference prints. */
function printed(text: string, page: string): Statement {
  return { text, evidence: 'reference', sources: [reference(page)] }
}

function inferred(text: string, ...sources: Source[]): Statement {
  return { text, evidence: 'inferred', sources }
}

/** Tasks and segments: both documents name them, and neither has a path or a field. */
function unnamed<const Plural extends 'tasks' | 'segments'>(plural: Plural, noun: 'Task' | 'Segment') {
  const model = plural === 'tasks' ? 'task' : 'segment'
  const sources = [specification('section 1'), guide('Scopes')]
  const [read, write] = [{ scope: `${plural}:read` }, { scope: `${plural}:write` }] as const
  const [all, one] = [`/${plural}`, `/${plural}/{id}`] as const
  return {
    [`${plural}.list`]: operation('inferred', sources, {
      operationId: `list${noun}s`,
      title: `List ${plural}`,
      request: `GET ${all}`,
      ...read,
      envelope: 'list',
      response: model,
    }),
    [`${plural}.get`]: operation('inferred', sources, {
      operationId: `get${noun}`,
      title: `Get ${model}`,
      request: `GET ${one}`,
      ...read,
      response: model,
    }),
    [`${plural}.create`]: operation('inferred', sources, {
      operationId: `create${noun}`,
      title: `Create ${model}`,
      request: `POST ${all}`,
      ...write,
      body: `create${noun}Body`,
      response: model,
    }),
    [`${plural}.update`]: operation('inferred', sources, {
      operationId: `update${noun}`,
      title: `Update ${model}`,
      request: `PATCH ${one}`,
      ...write,
      body: `update${noun}Body`,
      response: model,
    }),
    [`${plural}.delete`]: operation('inferred', sources, {
      operationId: `delete${noun}`,
      title: `Delete ${model}`,
      request: `DELETE ${one}`,
      ...write,
      envelope: 'none',
    }),
  } as Record<`${Plural}.${'list' | 'get' | 'create' | 'update' | 'delete'}`, Entry>
}

const entries: Readonly<Record<OperationId, Entry>> = {
  me: operation('specification', [specification('section 4'), reference('Current token')], {
    operationId: 'getMe',
    title: 'Current token',
    request: 'GET /me',
    envelope: 'bare',
    response: 'me',
    notes: [
      printed('The body is not wrapped in `data`.', 'Current token'),
      inferred('`user` is null or absent with `actor=app`.', reference('Current token')),
    ],
  }),

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

  'contacts.list': operation('reference', [reference('List contacts')], {
    operationId: 'listContacts',
    title: 'List contacts',
    request: 'GET /contacts',
    scope: 'contacts:read',
    envelope: 'list',
    response: 'contact',
    notes: [printed('The sample has no `page_metadata`.', 'List contacts')],
  }),
  'contacts.get': operation('inferred', [mcpTool('get_customer'), reference('Update contact')], {
    operationId: 'getContact',
    title: 'Get contact',
    request: 'GET /contacts/{id}',
    scope: 'contacts:read',
    response: 'contact',
  }),
  'contacts.create': operation('reference', [reference('Create contact')], {
    operationId: 'createContact',
    title: 'Create contact',
    request: 'POST /contacts',
    scope: 'contacts:write',
    ...self,
    body: 'createContactBody',
    response: 'contact',
  }),
  'contacts.update': operation('reference', [reference('Update contact')], {
    operationId: 'updateContact',
    title: 'Update contact',
    request: 'PATCH /contacts/{id}',
    scope: 'contacts:write',
    body: 'updateContactBody',
    response: 'contact',
  }),

  'members.list': operation('reference', [reference('List team members')], {
    operationId: 'listUsers',
    title: 'List team members',
    request: 'GET /users',
    scope: 'users:read',
    envelope: 'list',
    response: 'member',
    notes: [printed('The sample has no `page_metadata`.', 'List team members')],
  }),
  'members.get': operation('reference', [reference('Get team member')], {
    operationId: 'getUser',
    title: 'Get team member',
    request: 'GET /users/{id}',
    scope: 'users:read',
    response: 'member',
    notes: [printed('`{id}` is the id of the membership, not of the user.', 'Get team member')],
  }),
  'members.invite': operation('reference', [reference('Invite team member')], {
    operationId: 'createUser',
    title: 'Invite team member',
    request: 'POST /users',
    scope: 'users:write',
    ...self,
    body: 'inviteMemberBody',
    response: 'member',
    notes: [printed('The user of the token must be an admin.', 'Invite team member')],
  }),
  'members.update': operation('reference', [reference('Update team member')], {
    operationId: 'updateUser',
    title: 'Update team member',
    request: 'PATCH /users/{id}',
    scope: 'users:write',
    ...self,
    body: 'updateMemberBody',
    response: 'member',
    notes: [printed('`{id}` is the id of the membership, not of the user.', 'Update team member')],
  }),
  'members.remove': operation('inferred', [mcpTool('remove_team_member'), guide('Scopes')], {
    operationId: 'removeUser',
    title: 'Remove team member',
    request: 'DELETE /users/{id}',
    scope: 'users:write',
    envelope: 'none',
    notes: [
      inferred(
        'Whether an app can remove a member is not clear: the specification allows it admin operations on members, and leaves "manages members" to a person.',
        specification('section 5'),
      ),
    ],
  }),

  'organization.get': operation('reference', [reference('Get organization')], {
    operationId: 'getOrganization',
    title: 'Get organization',
    request: 'GET /organization',
    scope: 'organization:read',
    response: 'organization',
  }),
  'organization.update': operation('reference', [reference('Update organization')], {
    operationId: 'updateOrganization',
    title: 'Update organization',
    request: 'PATCH /organization',
    scope: 'organization:write',
    ...self,
    body: 'updateOrganizationBody',
    response: 'organization',
    notes: [
      printed('The user of the token must own the organization.', 'Update organization'),
      printed('It changes the display name.', 'Update organization'),
    ],
  }),
  'organization.getSettings': operation(
    'inferred',
    [mcpTool('get_organization_settings'), reference('Update settings')],
    {
      operationId: 'getOrganizationSettings',
      title: 'Get settings',
      request: 'GET /organization/settings',
      scope: 'organization:read',
      response: 'organizationSettings',
    },
  ),
  'organization.updateSettings': operation('reference', [reference('Update settings')], {
    operationId: 'updateOrganizationSettings',
    title: 'Update settings',
    request: 'PATCH /organization/settings',
    scope: 'organization:write',
    body: 'updateOrganizationSettingsBody',
    response: 'organizationSettings',
  }),

  ...unnamed('tasks', 'Task'),
  ...unnamed('segments', 'Segment'),
}

/**
 * What is known of each operation, by its id: scope, actor, how it is known and from where, and whether it can be repeated.
 * Frozen plain data.
 *
 * @example
 * const guesses = Object.values(operations).filter(({ evidence }) => evidence === 'inferred')
 * console.log(guesses.length, operations['contacts.get'].sources[0]?.section) // 17 'tool `get_customer`'
 */
export const operations: Readonly<Record<OperationId, CatalogueOperation>> = /* @__PURE__ */ withIds()

function withIds(): Record<OperationId, CatalogueOperation> {
  const named = Object.entries(entries).map(([id, entry]) => {
    const seen = observed.operations[id as OperationId]
    return [id, { id, ...entry, ...(seen && { observed: seen }) }]
  })
  return frozen(Object.fromEntries(named))
}
