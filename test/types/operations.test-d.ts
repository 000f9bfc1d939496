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

// Bodies that the other tests of types and the guides do not have.
self.conversations.create({ customer_email: 'a@b.c', initial_message: 'Hi' })
self.conversations.assign('c', { user_id: 'u' })
self.messages.update('c', 'm', { body_html: '<p>On it.</p>' })
self.notes.create('c', { body_html: '<p>On it.</p>' })
self.members.update('u', { archived: true })
self.organization.update({ display_name: 'Acme' })
self.organization.updateSettings({ locale: 'en', bot_configuration: { tone: 1 } })

/** The return type of each operation. A missing operation is a compiler error. */
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

/** The method of an operation. `conversations.list` is the method `list` of `conversations`. */
type MethodOf<Client, Id extends OperationId> = Id extends `${infer Name}.${infer Method}`
  ? Client[Name & keyof Client][Method & keyof Client[Name & keyof Client]]
  : Client['me' & keyof Client]
type ReturnOf<Method> = Method extends (...args: never) => infer Result ? Result : never

/** The operations whose `this` type rejects a client. */
type RejectedOn<Client extends SupportWorkspace> = {
  [Id in OperationId]: Id extends `${infer Name}.${string}`
    ? Client[Name & keyof Client] extends ThisParameterType<MethodOf<Client, Id>>
      ? never
      : Id
    : never
}[OperationId]

export type OperationTests = [
  Expect<Equal<{ [Id in OperationId]: ReturnOf<MethodOf<SupportWorkspace<'self'>, Id>> }, Results>>,
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
