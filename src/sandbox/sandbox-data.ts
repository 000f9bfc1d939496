import { InvalidArgumentError } from '../errors/index.ts'
import { type Check, readOptions } from '../shared/check-options.ts'
import { flag, nonEmptyText, oneOf, role, text, valid } from './checks.ts'
import { type Grant, Grants } from './data/grants.ts'
import type { OrganizationData } from './data/organization-data.ts'
import type { Scope, ScopeName } from './data/scope-catalog.ts'
import { seedOrganizations } from './data/seed.ts'
import type { Conversation, Member, User } from './data/shapes.ts'
import { checkScopes, type SandboxSettings } from './sandbox-options.ts'

/** A write that took effect. */
export interface EffectiveWrite {
  /** The service's name for the operation, such as `createMessage`. */
  readonly operation: string
  /** Path of the request, without the query, for example `/api/oauth/v1/contacts`. */
  readonly path: string
  /** The id of the created, assigned or changed item; `undefined` after a deletion. */
  readonly id: string | undefined
  /** Time of the write in milliseconds since the epoch, on the sandbox's clock. */
  readonly at: number
}

/** Options of `sandbox.issueToken`: actor, scopes, organization and person of the token. */
export interface TokenOptions {
  /**
   * Whether the token acts as the app or as a person.
   * @default 'app'
   */
  actor?: 'app' | 'self'
  /**
   * Granted scopes. A `self` token can use only the scopes that the person's role allows.
   * @default every scope that the app declares
   */
  scopes?: readonly ScopeName[]
  /**
   * Id of the organization that the token is bound to.
   * @default the first organization
   */
  organization?: string
  /**
   * Membership id of the person that a `self` token acts as.
   * @default the first member with `role`
   */
  member?: string
  /**
   * Role of the person that a `self` token acts as. The first `'admin'` is the owner. Ignored with `member`.
   * @default 'admin'
   */
  role?: 'admin' | 'moderator' | 'agent'
}

const tokenChecks = {
  actor: oneOf('app', 'self'),
  scopes: checkScopes,
  organization: text,
  member: text,
  role,
} satisfies Record<keyof TokenOptions, Check<unknown>>

/** Fields of a conversation that `sandbox.updateConversation` can change. */
export interface ConversationChanges {
  /** Any text, such as `'closed'`. */
  status?: string
  /** Whether the conversation is marked as spam. */
  is_spam?: boolean
  /** Whether the conversation is pinned. */
  pinned?: boolean
  /** Membership id of the team member to assign the conversation to. `null` removes the assignment. */
  assignee?: string | null
}

const changeChecks = {
  status: nonEmptyText,
  is_spam: flag,
  pinned: flag,
  assignee: valid<string | null>('a membership id or null', (value) => value === null || typeof value === 'string'),
} satisfies Record<keyof ConversationChanges, Check<unknown>>

/** Options of `sandbox.answer`. */
export interface AnswerOptions {
  /**
   * Membership id of the team member who answers.
   * @default the first agent
   */
  member?: string | undefined
}

const answerChecks = { member: text } satisfies Record<keyof AnswerOptions, Check<unknown>>

/** Everything that the sandbox stores: its organizations, codes, tokens and the log of writes. */
export class SandboxData {
  readonly settings: SandboxSettings
  readonly organizations: ReadonlyMap<string, OrganizationData>
  readonly firstOrganization: OrganizationData
  readonly grants: Grants
  /** The last 100,000 writes, oldest first. */
  readonly writes: EffectiveWrite[] = []
  readonly #readyTokens = new Map<'app' | 'self', string>()

  constructor(settings: SandboxSettings) {
    this.settings = settings
    this.grants = new Grants(settings.now)
    const organizations = seedOrganizations(settings, settings.seed)
    const [firstOrganization] = organizations
    if (firstOrganization === undefined) throw new Error('The sandbox needs at least one organization.')
    this.firstOrganization = firstOrganization
    this.organizations = new Map(organizations.map((data) => [data.organization.id, data]))
    for (const actor of ['self', 'app'] as const) if (settings.tokens[actor]) this.readyToken(actor)
  }

  addWrite(write: EffectiveWrite): void {
    this.writes.push(write)
    if (this.writes.length > 100_000) this.writes.shift()
  }

  /** Returns the organization with this id. Throws `InvalidArgumentError` if there is none. */
  dataOf(organizationId: string): OrganizationData {
    const data = this.organizations.get(organizationId)
    if (data !== undefined) return data
    const ids = [...this.organizations.keys()].join(', ')
    throw missing('organization', organizationId, `Use one of: ${ids}.`)
  }

  /** Adds a message from the customer of a conversation and returns its id. Throws `InvalidArgumentError` if there is none. */
  receiveMessage(conversationId: string, bodyHtml: string): string {
    const { data, conversation } = this.#find(conversationId)
    return this.#addMessage(data, conversation, conversation.user, bodyHtml, 'email')
  }

  /** Adds a message of a team member, like `receiveMessage`. Also throws `InvalidArgumentError` for an unknown member. */
  answer(conversationId: string, bodyHtml: string, options: AnswerOptions = {}): string {
    const { member } = readOptions(options, answerChecks, '`answer`')
    const { data, conversation } = this.#find(conversationId)
    const { user } = personFor(data, member, 'agent')
    return this.#addMessage(data, conversation, user, bodyHtml, 'dashboard')
  }

  #find(conversationId: string): { data: OrganizationData; conversation: Conversation } {
    for (const data of this.organizations.values()) {
      const conversation = data.conversations.get(conversationId)
      if (conversation !== undefined) return { data, conversation }
    }
    throw missing('conversation', conversationId, 'Use an id from its list.')
  }

  #addMessage(data: OrganizationData, conversation: Conversation, author: User, bodyHtml: string, source: string) {
    nonEmptyText('bodyHtml', bodyHtml)
    const message = data.newMessage(conversation.id, author, bodyHtml, source, this.seconds())
    data.messages(conversation.id).add(message)
    data.refreshLastMessage(conversation)
    return message.id
  }

  /** Changes a conversation as a colleague does. Throws `InvalidArgumentError` for an unknown conversation or member. */
  updateConversation(conversationId: string, changes: ConversationChanges): void {
    const { assignee, ...fields } = readOptions(changes, changeChecks, '`updateConversation`', 'changes')
    const { data, conversation } = this.#find(conversationId)
    if (assignee === null) conversation.conversation_assignee = null
    else if (assignee !== undefined) data.assign(conversation, personFor(data, assignee, '').user, this.seconds())
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined) Object.assign(conversation, { [name]: value })
    }
  }

  /** Removes the item with this id, wherever it is. Throws `InvalidArgumentError` if there is none. */
  removeItem(id: string): void {
    for (const data of this.organizations.values()) if (data.remove(id)) return
    throw missing('item', id, 'Use an id from `sandbox.state`.')
  }

  /** Returns the time on the sandbox's clock in epoch seconds, the unit of timestamps (docs/service.md#conventions). */
  seconds(): number {
    return Math.floor(this.settings.now() / 1_000)
  }

  /** Returns a token for this actor that a person can copy: the one in the options, or one issued on the first call. */
  readyToken(actor: 'app' | 'self'): string {
    return this.#readyTokens.get(actor) ?? this.renewReadyToken(actor)
  }

  /** Issues the ready token for this actor again. A token in the options keeps its value. */
  renewReadyToken(actor: 'app' | 'self'): string {
    const token = this.issueToken({ actor }, this.settings.tokens[actor])
    this.#readyTokens.set(actor, token)
    return token
  }

  /** Issues a token. Its value is random unless it is given. Throws `InvalidArgumentError` for an invalid option. */
  issueToken(options: TokenOptions = {}, value?: string): string {
    const read = readOptions(options, tokenChecks, '`issueToken`')
    const { actor = 'app', scopes = this.settings.app.scopes, organization, member, role = 'admin' } = read
    const data = organization === undefined ? this.firstOrganization : this.dataOf(organization)
    const person = actor === 'self' || member !== undefined ? personFor(data, member, role) : undefined
    const grant: Grant = {
      actor,
      scopes: [...scopes] as Scope[],
      organizationId: data.organization.id,
      memberId: actor === 'self' ? person?.id : undefined,
    }
    return this.grants.addToken(grant, { fromLogin: false, value })
  }
}

function personFor(data: OrganizationData, membershipId: string | undefined, role: string): Member {
  const person = membershipId === undefined ? data.memberWithRole(role) : data.members.get(membershipId)
  if (person !== undefined) return person
  const where = `The organization ${data.organization.id} has no member with the`
  if (membershipId !== undefined) {
    const hint = 'Use an id from `sandbox.state.members`.'
    throw new InvalidArgumentError('member', `${where} membership id ${JSON.stringify(membershipId)}.`, hint)
  }
  const members = data.members.all().filter(({ archived }) => !archived)
  const roles = [...new Set(members.map((member) => member.role))]
  throw new InvalidArgumentError('role', `${where} role ${role}.`, `Use one of: ${roles.join(', ')}.`)
}

function missing(what: string, id: string, hint: string): InvalidArgumentError {
  return new InvalidArgumentError(what, `The sandbox has no ${what} ${JSON.stringify(id)}.`, hint)
}
