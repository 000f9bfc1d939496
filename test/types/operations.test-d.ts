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

declare const app: SupportWorkspace<'app'>
declare const self: SupportWorkspace<'self'>
declare const unknown: SupportWorkspace

/**
 * For each operation: its call on an `actor=self` client and on one with an unknown actor, which both compile, and on an
 * app client, where authoring calls do not. A missing operation is a compiler error.
 */
type TypeTest = readonly [onSelf: () => unknown, onUnknown: () => unknown, onApp: () => unknown]

const message = { body_html: '<p>On it.</p>' }

export const typeTests: Readonly<Record<OperationId, TypeTest>> = {
  me: [() => self.me(), () => unknown.me(), () => app.me()],

  'conversations.list': [
    () => self.conversations.list({ limit: 2 }, { maxItems: 5 }),
    () => unknown.conversations.list({ limit: 2 }, { maxItems: 5 }),
    () => app.conversations.list({ limit: 2 }, { maxItems: 5 }),
  ],
  'conversations.get': [
    () => self.conversations.get('c'),
    () => unknown.conversations.get('c'),
    () => app.conversations.get('c'),
  ],
  'conversations.create': [
    () => self.conversations.create({ customer_email: 'a@b.c', initial_message: 'Hi' }),
    () => unknown.conversations.create({ customer_email: 'a@b.c', initial_message: 'Hi' }),
    // @ts-expect-error: this call needs an actor=self token
    () => app.conversations.create({ customer_email: 'a@b.c', initial_message: 'Hi' }),
  ],
  'conversations.update': [
    () => self.conversations.update('c', { status: 'closed', is_spam: true, pinned: false }),
    () => unknown.conversations.update('c', { status: 'closed', is_spam: true, pinned: false }),
    () => app.conversations.update('c', { status: 'closed', is_spam: true, pinned: false }),
  ],
  'conversations.assign': [
    () => self.conversations.assign('c', { user_id: 'u' }),
    () => unknown.conversations.assign('c', { user_id: 'u' }),
    // @ts-expect-error: this call needs an actor=self token
    () => app.conversations.assign('c', { user_id: 'u' }),
  ],
  'conversations.unassign': [
    () => self.conversations.unassign('c'),
    () => unknown.conversations.unassign('c'),
    () => app.conversations.unassign('c'),
  ],
  'messages.list': [
    () => self.messages.list('c', { limit: 2 }, { direction: 'backward' }),
    () => unknown.messages.list('c', { limit: 2 }, { direction: 'backward' }),
    () => app.messages.list('c', { limit: 2 }, { direction: 'backward' }),
  ],
  'messages.create': [
    () => self.messages.create('c', message),
    () => unknown.messages.create('c', message),
    // @ts-expect-error: this call needs an actor=self token
    () => app.messages.create('c', message),
  ],
  'messages.update': [
    () => self.messages.update('c', 'm', message),
    () => unknown.messages.update('c', 'm', message),
    () => app.messages.update('c', 'm', message),
  ],
  'messages.delete': [
    () => self.messages.delete('c', 'm'),
    () => unknown.messages.delete('c', 'm'),
    // @ts-expect-error: this call needs an actor=self token
    () => app.messages.delete('c', 'm'),
  ],
  'notes.list': [
    () => self.notes.list('c', { after: null }),
    () => unknown.notes.list('c', { after: null }),
    () => app.notes.list('c', { after: null }),
  ],
  'notes.create': [
    () => self.notes.create('c', message),
    () => unknown.notes.create('c', message),
    // @ts-expect-error: this call needs an actor=self token
    () => app.notes.create('c', message),
  ],
  'contacts.list': [() => self.contacts.list(), () => unknown.contacts.list(), () => app.contacts.list()],
  'contacts.get': [() => self.contacts.get('k'), () => unknown.contacts.get('k'), () => app.contacts.get('k')],
  'contacts.create': [
    () => self.contacts.create({ email: 'a@b.c' }),
    () => unknown.contacts.create({ email: 'a@b.c' }),
    // @ts-expect-error: this call needs an actor=self token
    () => app.contacts.create({ email: 'a@b.c' }),
  ],
  'contacts.update': [
    () => self.contacts.update('k', { blocked: true }),
    () => unknown.contacts.update('k', { blocked: true }),
    () => app.contacts.update('k', { blocked: true }),
  ],
  'members.list': [() => self.members.list(), () => unknown.members.list(), () => app.members.list()],
  'members.get': [() => self.members.get('u'), () => unknown.members.get('u'), () => app.members.get('u')],
  'members.invite': [
    () => self.members.invite({ email: 'a@b.c', role: 'agent' }),
    () => unknown.members.invite({ email: 'a@b.c', role: 'agent' }),
    // @ts-expect-error: this call needs an actor=self token
    () => app.members.invite({ email: 'a@b.c', role: 'agent' }),
  ],
  'members.update': [
    () => self.members.update('u', { archived: true }),
    () => unknown.members.update('u', { archived: true }),
    // @ts-expect-error: this call needs an actor=self token
    () => app.members.update('u', { archived: true }),
  ],
  'members.remove': [() => self.members.remove('u'), () => unknown.members.remove('u'), () => app.members.remove('u')],
  'organization.get': [() => self.organization.get(), () => unknown.organization.get(), () => app.organization.get()],
  'organization.update': [
    () => self.organization.update({ display_name: 'Acme' }),
    () => unknown.organization.update({ display_name: 'Acme' }),
    // @ts-expect-error: this call needs an actor=self token
    () => app.organization.update({ display_name: 'Acme' }),
  ],
  'organization.getSettings': [
    () => self.organization.getSettings(),
    () => unknown.organization.getSettings(),
    () => app.organization.getSettings(),
  ],
  'organization.updateSettings': [
    () => self.organization.updateSettings({ locale: 'en', bot_configuration: { tone: 1 } }),
    () => unknown.organization.updateSettings({ locale: 'en', bot_configuration: { tone: 1 } }),
    () => app.organization.updateSettings({ locale: 'en', bot_configuration: { tone: 1 } }),
  ],
  'tasks.list': [() => self.tasks.list(), () => unknown.tasks.list(), () => app.tasks.list()],
  'tasks.get': [() => self.tasks.get('x'), () => unknown.tasks.get('x'), () => app.tasks.get('x')],
  'tasks.create': [
    () => self.tasks.create({ any: 'field' }),
    () => unknown.tasks.create({ any: 'field' }),
    () => app.tasks.create({ any: 'field' }),
  ],
  'tasks.update': [
    () => self.tasks.update('x', { any: 'field' }),
    () => unknown.tasks.update('x', { any: 'field' }),
    () => app.tasks.update('x', { any: 'field' }),
  ],
  'tasks.delete': [() => self.tasks.delete('x'), () => unknown.tasks.delete('x'), () => app.tasks.delete('x')],
  'segments.list': [() => self.segments.list(), () => unknown.segments.list(), () => app.segments.list()],
  'segments.get': [() => self.segments.get('x'), () => unknown.segments.get('x'), () => app.segments.get('x')],
  'segments.create': [
    () => self.segments.create({ any: 'field' }),
    () => unknown.segments.create({ any: 'field' }),
    () => app.segments.create({ any: 'field' }),
  ],
  'segments.update': [
    () => self.segments.update('x', { any: 'field' }),
    () => unknown.segments.update('x', { any: 'field' }),
    () => app.segments.update('x', { any: 'field' }),
  ],
  'segments.delete': [
    () => self.segments.delete('x'),
    () => unknown.segments.delete('x'),
    () => app.segments.delete('x'),
  ],
}

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

/** The return type of an id: `conversations.list` is the method `list` of the property `conversations`. */
type ResultOfId<Id extends string> = Id extends `${infer Name}.${infer Method}`
  ? Name extends keyof SupportWorkspace<'self'>
    ? Method extends keyof SupportWorkspace<'self'>[Name]
      ? ReturnType<Extract<SupportWorkspace<'self'>[Name][Method], (...args: never[]) => unknown>>
      : never
    : never
  : ReturnType<SupportWorkspace<'self'>['me']>

export type ResultTests = [
  Expect<Equal<keyof Results, OperationId>>,
  Expect<Equal<{ [Id in OperationId]: ResultOfId<Id> }, { [Id in OperationId]: Results[Id] }>>,
]
