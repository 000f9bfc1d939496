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

/** What the service keeps about one organization, as copies: changing them changes nothing. Lists are in list order. */
export interface OrganizationState {
  readonly organization: Organization
  readonly settings: OrganizationSettings
  readonly conversations: Conversation[]
  readonly contacts: Contact[]
  readonly members: Member[]
  readonly tasks: LooseRecord[]
  readonly segments: LooseRecord[]
  /** The messages of a conversation, most recent first; empty for an unknown one. */
  messages(conversationId: string): Message[]
  /** The notes of a conversation, most recent first; empty for an unknown one. */
  notes(conversationId: string): Message[]
}

/** What the service keeps, read behind its API. Without {@link SandboxState.of} it is the first organization's. */
export interface SandboxState extends OrganizationState {
  readonly organizations: Organization[]
  /** Every write that took effect so far, in order: what a client believes can be compared with what happened. */
  readonly writes: EffectiveWrite[]
  /** How many access tokens are good. */
  readonly tokens: number
  /** The state of another organization. Throws a `TypeError` when there is none with this id. */
  of(organizationId: string): OrganizationState
}

export function createState(service: Service): SandboxState {
  const state = organizationState(service.firstWorkspace)
  return Object.defineProperties(state, {
    organizations: getter(() => [...service.workspaces.values()].map(({ organization }) => organization)),
    writes: getter(() => service.writes),
    tokens: getter(() => service.grants.tokenCount),
    of: { value: (id: string) => organizationState(workspaceOf(service, id)) },
  }) as SandboxState
}

export function workspaceOf(service: Service, organizationId: string): Workspace {
  const workspace = service.workspaces.get(organizationId)
  if (workspace === undefined) throw new TypeError(`The sandbox has no organization ${JSON.stringify(organizationId)}.`)
  return workspace
}

function organizationState(workspace: Workspace): OrganizationState {
  return {
    get organization() {
      return structuredClone(workspace.organization)
    },
    get settings() {
      return structuredClone(workspace.settings)
    },
    get conversations() {
      return structuredClone(workspace.conversations.all())
    },
    get contacts() {
      return structuredClone(workspace.contacts.all())
    },
    get members() {
      return structuredClone(workspace.members.all())
    },
    get tasks() {
      return structuredClone(workspace.tasks.all())
    },
    get segments() {
      return structuredClone(workspace.segments.all())
    },
    messages: (conversationId) => structuredClone(workspace.messages(conversationId).all()),
    notes: (conversationId) => structuredClone(workspace.notes(conversationId).all()),
  }
}

function getter<Value>(read: () => Value): PropertyDescriptor {
  return { enumerable: true, get: () => structuredClone(read()) }
}
