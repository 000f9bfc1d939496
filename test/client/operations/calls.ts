import type { ListOptions, OperationId, SupportWorkspace } from 'support-workspace-sdk'

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
  readonly run: (workspace: SupportWorkspace, ids: Ids, body: never, options?: ListOptions) => PromiseLike<unknown>
}

const limit = { limit: 2 }
const anyField = { any_field: 'of any name' }

/** One call of each built-in operation. A missing operation is a compile error. */
export const calls: Readonly<Record<OperationId, ExampleCall>> = {
  me: { run: (workspace, _, __, options) => workspace.me(options) },

  'conversations.list': { run: ({ conversations }, _, __, options) => conversations.list(limit, options) },
  'conversations.get': { run: ({ conversations }, ids, _, options) => conversations.get(ids.conversation, options) },
  'conversations.create': {
    body: { customer_email: 'ada@example.com', initial_message: 'The invoice is wrong.' },
    run: ({ conversations }, _, body, options) => conversations.create(body, options),
  },
  'conversations.update': {
    body: { status: 'closed', is_spam: false, pinned: true },
    run: ({ conversations }, ids, body, options) => conversations.update(ids.conversation, body, options),
  },
  'conversations.assign': {
    body: { user_id: 'usr_1' },
    run: ({ conversations }, ids, body: object, options) =>
      conversations.assign(ids.conversation, { ...body, user_id: ids.member }, options),
  },
  'conversations.unassign': {
    run: ({ conversations }, ids, _, options) => conversations.unassign(ids.conversation, options),
  },

  'messages.list': { run: ({ messages }, ids, _, options) => messages.list(ids.conversation, limit, options) },
  'messages.create': {
    body: { body_html: '<p>On it.</p>' },
    run: ({ messages }, ids, body, options) => messages.create(ids.conversation, body, options),
  },
  'messages.update': {
    body: { body_html: '<p>On it, Ada.</p>' },
    run: ({ messages }, ids, body, options) => messages.update(ids.conversation, ids.message, body, options),
  },
  'messages.delete': {
    run: ({ messages }, ids, _, options) => messages.delete(ids.conversation, ids.message, options),
  },

  'notes.list': { run: ({ notes }, ids, _, options) => notes.list(ids.conversation, limit, options) },
  'notes.create': {
    body: { body_html: '<p>Second time this month.</p>' },
    run: ({ notes }, ids, body, options) => notes.create(ids.conversation, body, options),
  },

  'contacts.list': { run: ({ contacts }, _, __, options) => contacts.list(limit, options) },
  'contacts.get': { run: ({ contacts }, ids, _, options) => contacts.get(ids.contact, options) },
  'contacts.create': {
    get body() {
      return { email: uniqueEmail(), name: 'Grace' }
    },
    run: ({ contacts }, _, body, options) => contacts.create(body, options),
  },
  'contacts.update': {
    body: { blocked: true },
    run: ({ contacts }, ids, body, options) => contacts.update(ids.contact, body, options),
  },

  'members.list': { run: ({ members }, _, __, options) => members.list(limit, options) },
  'members.get': { run: ({ members }, ids, _, options) => members.get(ids.member, options) },
  'members.invite': {
    get body() {
      return { email: uniqueEmail(), name: 'Grace', role: 'agent' }
    },
    run: ({ members }, _, body, options) => members.invite(body, options),
  },
  'members.update': {
    body: { role: 'moderator', archived: false },
    run: ({ members }, ids, body, options) => members.update(ids.member, body, options),
  },
  'members.remove': { run: ({ members }, ids, _, options) => members.remove(ids.member, options) },

  'organization.get': { run: ({ organization }, _, __, options) => organization.get(options) },
  'organization.update': {
    body: { display_name: 'Acme Support' },
    run: ({ organization }, _, body, options) => organization.update(body, options),
  },
  'organization.getSettings': { run: ({ organization }, _, __, options) => organization.getSettings(options) },
  'organization.updateSettings': {
    body: { allow_guest_submission: true, enable_ai_assistant: false, bot_configuration: { tone: 1 }, locale: 'en' },
    run: ({ organization }, _, body, options) => organization.updateSettings(body, options),
  },

  'tasks.list': { run: ({ tasks }, _, __, options) => tasks.list(limit, options) },
  'tasks.get': { run: ({ tasks }, ids, _, options) => tasks.get(ids.task, options) },
  'tasks.create': { body: anyField, run: ({ tasks }, _, body, options) => tasks.create(body, options) },
  'tasks.update': { body: anyField, run: ({ tasks }, ids, body, options) => tasks.update(ids.task, body, options) },
  'tasks.delete': { run: ({ tasks }, ids, _, options) => tasks.delete(ids.task, options) },

  'segments.list': { run: ({ segments }, _, __, options) => segments.list(limit, options) },
  'segments.get': { run: ({ segments }, ids, _, options) => segments.get(ids.segment, options) },
  'segments.create': { body: anyField, run: ({ segments }, _, body, options) => segments.create(body, options) },
  'segments.update': {
    body: anyField,
    run: ({ segments }, ids, body, options) => segments.update(ids.segment, body, options),
  },
  'segments.delete': { run: ({ segments }, ids, _, options) => segments.delete(ids.segment, options) },
}

/** Makes the call of an operation, with extra fields added to its body. */
export function run(
  id: OperationId,
  workspace: SupportWorkspace,
  ids: Ids,
  { extra = {}, ...options }: ListOptions & { readonly extra?: object } = {},
): PromiseLike<unknown> {
  const { body, run } = calls[id]
  return run(workspace, ids, { ...body, ...extra } as never, options)
}

let emails = 0

function uniqueEmail(): string {
  emails += 1
  return `grace-${emails}@example.com`
}
