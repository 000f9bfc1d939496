import { randomFrom } from '../../shared/random.ts'
import { Collection } from './collection.ts'
import type {
  Contact,
  Conversation,
  ConversationAssignee,
  LooseRecord,
  Member,
  Message,
  Organization,
  OrganizationSettings,
  User,
} from './shapes.ts'

/** The data of one organization. */
export class OrganizationData {
  readonly organization: Organization
  readonly settings: OrganizationSettings
  readonly conversations: Collection<Conversation>
  readonly contacts: Collection<Contact>
  readonly members: Collection<Member>
  readonly tasks: Collection<LooseRecord>
  readonly segments: Collection<LooseRecord>
  readonly random: SeededRandom
  /** Messages and notes, by the name of their list. */
  readonly #threads = new Map<string, Collection<Message>>()

  constructor(organization: Organization, settings: OrganizationSettings, seed: number) {
    this.organization = organization
    this.settings = settings
    this.random = new SeededRandom(seed)
    const listName = (name: string): string => `${organization.id} ${name}`
    this.conversations = new Collection(listName('conversations'), 'newest-first')
    this.contacts = new Collection(listName('contacts'), 'oldest-first')
    this.members = new Collection(listName('members'), 'oldest-first')
    this.tasks = new Collection(listName('tasks'), 'oldest-first')
    this.segments = new Collection(listName('segments'), 'oldest-first')
  }

  /** Returns the messages of a conversation, most recent first (docs/service.md#messages). */
  messages(conversationId: string): Collection<Message> {
    return this.#thread(`${conversationId} messages`)
  }

  notes(conversationId: string): Collection<Message> {
    return this.#thread(`${conversationId} notes`)
  }

  #thread(name: string): Collection<Message> {
    const thread = this.#threads.get(name) ?? new Collection(name, 'newest-first')
    this.#threads.set(name, thread)
    return thread
  }

  /** The first admin that joined. The documents mention an owner, but no field says who it is. */
  get owner(): Member | undefined {
    return this.members.find((member) => member.role === 'admin')
  }

  /** Returns the first member with this role who is not archived; for `admin` that is the owner. */
  memberWithRole(role: string): Member | undefined {
    return this.members.find((member) => member.role === role && !member.archived)
  }

  /** Assigns a conversation to a person. `assignor` is the user id of the person that does it. */
  assign(conversation: Conversation, { id }: User, at: number, assignor: string | null = null): ConversationAssignee {
    conversation.conversation_assignee = {
      id: this.random.id('asg'),
      conversation_id: conversation.id,
      user_id: id,
      assignor_id: assignor,
      assigned_at: at,
    }
    return conversation.conversation_assignee
  }

  /** Removes the item with this id from its list, and returns whether there was one. */
  remove(id: string): boolean {
    const { conversations, contacts, members, tasks, segments } = this
    return [conversations, contacts, members, tasks, segments, ...this.#threads.values()].some((list) =>
      list.remove(id),
    )
  }

  addContact(email: string, name: string | null, source: string, at: number): Contact {
    return this.contacts.add({
      id: this.random.id('con'),
      user: this.newUser(email, name),
      source,
      blocked: false,
      starred: false,
      active: true,
      source_info: {},
      attributes: {},
      auth_type: 'email',
      inserted_at: at,
      updated_at: at,
      active_at: null,
    })
  }

  newUser(email: string, name: string | null): User {
    return { id: this.random.id('usr'), name, email, instagram_handle: null, profile_picture_url: null }
  }

  newMessage(conversationId: string, author: User, bodyHtml: string, source: string, at: number): Message {
    return {
      id: this.random.id('msg'),
      conversation_id: conversationId,
      source,
      is_spam: false,
      inserted_at: at,
      body_html: bodyHtml,
      marked_as_solution_at: null,
      user: author,
      meta_info: {},
      is_ai_message: false,
      reply_to: null,
      attachments: [],
    }
  }

  newConversation(customer: User, text: string, at: number): Conversation {
    return {
      id: this.random.id('cnv'),
      inserted_at: at,
      initial_message: text,
      is_spam: false,
      last_message: text,
      last_message_inserted_at: at,
      status: 'open',
      user: customer,
      pinned: false,
      unread_count: 0,
      summary: null,
      meta_info: {},
      guest_submission: false,
      group_id: null,
      group: null,
      conversation_assignee: null,
    }
  }

  /** Updates a conversation's `last_message` fields. Call it after a message was added, edited or deleted. */
  refreshLastMessage(conversation: Conversation): void {
    const latest = this.messages(conversation.id).all()[0]
    conversation.last_message = latest === undefined ? conversation.initial_message : plainText(latest.body_html)
    conversation.last_message_inserted_at = latest?.inserted_at ?? conversation.inserted_at
  }
}

function plainText(html: string): string {
  return (
    html
      // A tag ends before the next `<`. Otherwise text of many `<` would take quadratic time.
      .replace(/<[^<>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
  )
}

/** Finds a contact or a member. */
export function findByEmail<Person extends { id: string; user: User }>(people: Collection<Person>, email: string) {
  return people.find(({ user }) => user.email.toLowerCase() === email.toLowerCase())
}

/** A repeatable source of random choices: the same seed produces the same data in every run. */
class SeededRandom {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = randomFrom(seed)
  }

  /** Returns an integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1))
  }

  pick<Choice>(choices: readonly [Choice, ...Choice[]]): Choice {
    return choices[this.between(0, choices.length - 1)] ?? choices[0]
  }

  /** Returns `true` with this probability, from 0 to 1. */
  chance(probability: number): boolean {
    return this.#next() < probability
  }

  id(prefix: string): string {
    const half = (): string => this.between(0, 0xffffff).toString(16).padStart(6, '0')
    return `${prefix}_${half()}${half()}`
  }
}
