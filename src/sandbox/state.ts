import type {
  Contact,
  Conversation,
  LooseRecord,
  Member,
  Message,
  Organization,
  OrganizationSettings,
} from './data/shapes.ts'
import type { Workspace } from './data/workspace.ts'
import type { EffectiveWrite, Service } from './service.ts'

/** The stored data of one organization. Every value is a copy; lists are in the order of the service's lists. */
export interface OrganizationState {
  readonly organization: Organization
  readonly settings: OrganizationSettings
  readonly conversations: Conversation[]
  readonly contacts: Contact[]
  readonly members: Member[]
  readonly tasks: LooseRecord[]
  readonly segments: LooseRecord[]
  /** Returns the messages of a conversation, most recent first. Returns an empty array for an unknown id. */
  messages(conversationId: string): Message[]
  /** Returns the notes of a conversation, most recent first. Returns an empty array for an unknown id. */
  notes(conversationId: string): Message[]
}

/** The stored data, read without the API. Without {@link SandboxState.of} it is the first organization's. */
export interface SandboxState extends OrganizationState {
  readonly organizations: Organization[]
  /** The last 100,000 writes that took effect, oldest first, to compare with what a client reported. */
  readonly writes: EffectiveWrite[]
  /** Number of valid access tokens. */
  readonly tokens: number
  /** Returns the state of another organization. Throws a `TypeError` for an unknown id. */
  of(organizationId: string): OrganizationState
}

export function createState(service: Service): SandboxState {
  const state = organizationState(service.firstWorkspace)
  return Object.defineProperties(state, {
    organizations: getter(() => [...service.workspaces.values()].map(({ organization }) => organization)),
    writes: getter(() => service.writes),
    tokens: getter(() => service.grants.issuedTokens().length),
    of: { value: (id: string) => organizationState(service.workspace(id)) },
  }) as SandboxState
}

function organizationState(workspace: Workspace): OrganizationState {
  return Object.defineProperties({} as OrganizationState, {
    organization: getter(() => workspace.organization),
    settings: getter(() => workspace.settings),
    conversations: getter(() => workspace.conversations.all()),
    contacts: getter(() => workspace.contacts.all()),
    members: getter(() => workspace.members.all()),
    tasks: getter(() => workspace.tasks.all()),
    segments: getter(() => workspace.segments.all()),
    messages: { value: (conversationId: string) => structuredClone(workspace.messages(conversationId).all()) },
    notes: { value: (conversationId: string) => structuredClone(workspace.notes(conversationId).all()) },
  })
}

function getter<Value>(read: () => Value): PropertyDescriptor {
  return { enumerable: true, get: () => structuredClone(read()) }
}
