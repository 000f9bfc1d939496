import type {
  Call,
  Contact,
  Conversation,
  ConversationAssignee,
  Me,
  Member,
  Message,
  OperationId,
  Organization,
  OrganizationSettings,
  Paginated,
  Segment,
  SupportWorkspace,
  Task,
} from 'support-workspace-sdk'
import type { Equal, Expect } from './assert.ts'

declare const self: SupportWorkspace<'self'>

const message = { body_html: '<p>On it.</p>' }

/** A call of each operation. A missing operation is a compiler error. */
export const calls = {
  me: () => self.me(),
  'conversations.list': () => self.conversations.list({ limit: 2 }, { maxItems: 5 }),
  'conversations.get': () => self.conversations.get('c'),
  'conversations.create': () => self.conversations.create({ customer_email: 'a@b.c', initial_message: 'Hi' }),
  'conversations.update': () => self.conversations.update('c', { status: 'closed', is_spam: true, pinned: false }),
  'conversations.assign': () => self.conversations.assign('c', { user_id: 'u' }),
  'conversations.unassign': () => self.conversations.unassign('c'),
  'messages.list': () => self.messages.list('c', { limit: 2 }, { direction: 'backward' }),
  'messages.create': () => self.messages.create('c', message),
  'messages.update': () => self.messages.update('c', 'm', message),
  'messages.delete': () => self.messages.delete('c', 'm'),
  'notes.list': () => self.notes.list('c', { after: null }),
  'notes.create': () => self.notes.create('c', message),
  'contacts.list': () => self.contacts.list(),
  'contacts.get': () => self.contacts.get('k'),
  'contacts.create': () => self.contacts.create({ email: 'a@b.c' }),
  'contacts.update': () => self.contacts.update('k', { blocked: true }),
  'members.list': () => self.members.list(),
  'members.get': () => self.members.get('u'),
  'members.invite': () => self.members.invite({ email: 'a@b.c', role: 'agent' }),
  'members.update': () => self.members.update('u', { archived: true }),
  'members.remove': () => self.members.remove('u'),
  'organization.get': () => self.organization.get(),
  'organization.update': () => self.organization.update({ display_name: 'Acme' }),
  'organization.getSettings': () => self.organization.getSettings(),
  'organization.updateSettings': () =>
    self.organization.updateSettings({ locale: 'en', bot_configuration: { tone: 1 } }),
  'tasks.list': () => self.tasks.list(),
  'tasks.get': () => self.tasks.get('x'),
  'tasks.create': () => self.tasks.create({ any: 'field' }),
  'tasks.update': () => self.tasks.update('x', { any: 'field' }),
  'tasks.delete': () => self.tasks.delete('x'),
  'segments.list': () => self.segments.list(),
  'segments.get': () => self.segments.get('x'),
  'segments.create': () => self.segments.create({ any: 'field' }),
  'segments.update': () => self.segments.update('x', { any: 'field' }),
  'segments.delete': () => self.segments.delete('x'),
} satisfies Record<OperationId, () => unknown>

/** The return type of each operation. */
interface Results {
  me: Call<Me>
  'conversations.list': Paginated<Conversation>
  'conversations.get': Call<Conversation>
  'conversations.create': Call<Conversation>
  'conversations.update': Call<Conversation>
  'conversations.assign': Call<ConversationAssignee>
  'conversations.unassign': Call<undefined>
  'messages.list': Paginated<Message>
  'messages.create': Call<Message>
  'messages.update': Call<Message>
  'messages.delete': Call<undefined>
  'notes.list': Paginated<Message>
  'notes.create': Call<Message>
  'contacts.list': Paginated<Contact>
  'contacts.get': Call<Contact>
  'contacts.create': Call<Contact>
  'contacts.update': Call<Contact>
  'members.list': Paginated<Member>
  'members.get': Call<Member>
  'members.invite': Call<Member>
  'members.update': Call<Member>
  'members.remove': Call<undefined>
  'organization.get': Call<Organization>
  'organization.update': Call<Organization>
  'organization.getSettings': Call<OrganizationSettings>
  'organization.updateSettings': Call<OrganizationSettings>
  'tasks.list': Paginated<Task>
  'tasks.get': Call<Task>
  'tasks.create': Call<Task>
  'tasks.update': Call<Task>
  'tasks.delete': Call<undefined>
  'segments.list': Paginated<Segment>
  'segments.get': Call<Segment>
  'segments.create': Call<Segment>
  'segments.update': Call<Segment>
  'segments.delete': Call<undefined>
}

/** The operations whose `this` type rejects a client. `conversations.list` is the method `list` of `conversations`. */
type RejectedOn<Client extends SupportWorkspace> = {
  [Id in OperationId]: Id extends `${infer Name}.${infer Method}`
    ? Client[Name & keyof Client] extends ThisParameterType<
        Client[Name & keyof Client][Method & keyof Client[Name & keyof Client]]
      >
      ? never
      : Id
    : never
}[OperationId]

export type OperationTests = [
  Expect<Equal<{ [Id in OperationId]: ReturnType<(typeof calls)[Id]> }, Results>>,
  Expect<Equal<RejectedOn<SupportWorkspace<'self'>>, never>>,
  Expect<Equal<RejectedOn<SupportWorkspace>, never>>,
  Expect<
    Equal<
      RejectedOn<SupportWorkspace<'app'>>,
      | 'conversations.create'
      | 'conversations.assign'
      | 'messages.create'
      | 'messages.delete'
      | 'notes.create'
      | 'contacts.create'
      | 'members.invite'
      | 'members.update'
      | 'organization.update'
    >
  >,
]
