import type { OperationId, SupportWorkspace } from 'support-workspace-sdk'

/** Ids of existing resources. */
export interface Ids {
  readonly conversation: string
  /** A message in the conversation, written by the user of the token. */
  readonly message: string
  readonly contact: string
  /** The id of a member who can be removed. */
  readonly member: string
  readonly task: string
  readonly segment: string
}

export interface ExampleCall {
  /** The body, if the operation has one. */
  readonly body?: Readonly<Record<string, unknown>>
  readonly run: (workspace: SupportWorkspace, ids: Ids, body: never) => PromiseLike<unknown>
}

/** One call of each built-in operation. A missing operation is a compile error. */
export const calls: Readonly<Record<OperationId, ExampleCall>> = {
  me: { run: (workspace) => workspace.me() },

  'conversations.list': { run: (workspace) => workspace.conversations.list({ limit: 2 }) },
  'conversations.get': { run: (workspace, ids) => workspace.conversations.get(ids.conversation) },
  'conversations.create': withBody(
    () => ({ customer_email: 'ada@example.com', initial_message: 'The invoice is wrong.' }),
    (workspace, _, body) => workspace.conversations.create(body),
  ),
  'conversations.update': withBody(
    () => ({ status: 'closed', is_spam: false, pinned: true }),
    (workspace, ids, body) => workspace.conversations.update(ids.conversation, body),
  ),
  'conversations.assign': withBody(
    () => ({ user_id: 'usr_1' }),
    (workspace, ids, body) => workspace.conversations.assign(ids.conversation, { ...body, user_id: ids.member }),
  ),
  'conversations.unassign': { run: (workspace, ids) => workspace.conversations.unassign(ids.conversation) },

  'messages.list': { run: (workspace, ids) => workspace.messages.list(ids.conversation) },
  'messages.create': withBody(
    () => ({ body_html: '<p>On it.</p>' }),
    (workspace, ids, body) => workspace.messages.create(ids.conversation, body),
  ),
  'messages.update': withBody(
    () => ({ body_html: '<p>On it, Ada.</p>' }),
    (workspace, ids, body) => workspace.messages.update(ids.conversation, ids.message, body),
  ),
  'messages.delete': { run: (workspace, ids) => workspace.messages.delete(ids.conversation, ids.message) },

  'notes.list': { run: (workspace, ids) => workspace.notes.list(ids.conversation) },
  'notes.create': withBody(
    () => ({ body_html: '<p>Second time this month.</p>' }),
    (workspace, ids, body) => workspace.notes.create(ids.conversation, body),
  ),

  'contacts.list': { run: (workspace) => workspace.contacts.list() },
  'contacts.get': { run: (workspace, ids) => workspace.contacts.get(ids.contact) },
  'contacts.create': withBody(
    () => ({ email: uniqueEmail(), name: 'Grace' }),
    (workspace, _, body) => workspace.contacts.create(body),
  ),
  'contacts.update': withBody(
    () => ({ blocked: true }),
    (workspace, ids, body) => workspace.contacts.update(ids.contact, body),
  ),

  'members.list': { run: (workspace) => workspace.members.list() },
  'members.get': { run: (workspace, ids) => workspace.members.get(ids.member) },
  'members.invite': withBody(
    () => ({ email: uniqueEmail(), name: 'Grace', role: 'agent' }),
    (workspace, _, body) => workspace.members.invite(body),
  ),
  'members.update': withBody(
    () => ({ role: 'moderator', archived: false }),
    (workspace, ids, body) => workspace.members.update(ids.member, body),
  ),
  'members.remove': { run: (workspace, ids) => workspace.members.remove(ids.member) },

  'organization.get': { run: (workspace) => workspace.organization.get() },
  'organization.update': withBody(
    () => ({ display_name: 'Acme Support' }),
    (workspace, _, body) => workspace.organization.update(body),
  ),
  'organization.getSettings': { run: (workspace) => workspace.organization.getSettings() },
  'organization.updateSettings': withBody(
    () => ({ allow_guest_submission: true, enable_ai_assistant: false, bot_configuration: { tone: 1 }, locale: 'en' }),
    (workspace, _, body) => workspace.organization.updateSettings(body),
  ),

  'tasks.list': { run: (workspace) => workspace.tasks.list() },
  'tasks.get': { run: (workspace, ids) => workspace.tasks.get(ids.task) },
  'tasks.create': withBody(
    () => ({ any_field: 'of any name' }),
    (workspace, _, body) => workspace.tasks.create(body),
  ),
  'tasks.update': withBody(
    () => ({ any_field: 'of any name' }),
    (workspace, ids, body) => workspace.tasks.update(ids.task, body),
  ),
  'tasks.delete': { run: (workspace, ids) => workspace.tasks.delete(ids.task) },

  'segments.list': { run: (workspace) => workspace.segments.list() },
  'segments.get': { run: (workspace, ids) => workspace.segments.get(ids.segment) },
  'segments.create': withBody(
    () => ({ any_field: 'of any name' }),
    (workspace, _, body) => workspace.segments.create(body),
  ),
  'segments.update': withBody(
    () => ({ any_field: 'of any name' }),
    (workspace, ids, body) => workspace.segments.update(ids.segment, body),
  ),
  'segments.delete': { run: (workspace, ids) => workspace.segments.delete(ids.segment) },
}

/** Makes the call of an operation, with extra fields added to its body. */
export function run(id: OperationId, workspace: SupportWorkspace, ids: Ids, extra: object = {}): PromiseLike<unknown> {
  const { body, run } = calls[id]
  return run(workspace, ids, { ...body, ...extra } as never)
}

function withBody<Body extends Readonly<Record<string, unknown>>>(
  makeBody: () => Body,
  run: (workspace: SupportWorkspace, ids: Ids, body: Body) => PromiseLike<unknown>,
): ExampleCall {
  return {
    get body() {
      return makeBody()
    },
    run,
  }
}

let emails = 0

function uniqueEmail(): string {
  emails += 1
  return `grace-${emails}@example.com`
}
