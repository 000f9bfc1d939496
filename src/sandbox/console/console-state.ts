import type { Grant } from '../data/grants.ts'
import type { Workspace } from '../data/workspace.ts'
import type { FaultList } from '../faults/fault-list.ts'
import { describeFault, describeMatch } from '../faults/fault-text.ts'
import type { RequestLog } from '../request-log.ts'
import type { Service } from '../service.ts'

/** What the console shows, as its script receives it. The only secrets are the sandbox's own, which are there to copy. */
export interface ConsoleState {
  app: { name: string; clientId: string; clientSecret: string; redirectUris: readonly string[] }
  tokens: { actor: 'app' | 'self'; person: string | undefined; value: string; valid: boolean }[]
  connections: Connection[]
  /** Number of connections that are not in `connections`. */
  moreConnections: number
  faults: { id: number; fault: string; match: string; skips: number; times: number | 'all' }[]
  /** Most recent first. */
  requests: LoggedRequest[]
  organizations: { id: string; name: string }[]
  data: SeededData
}

/** A valid token, as an admin sees it in the service's dashboard. Times are in milliseconds since the epoch. */
interface Connection {
  id: string
  app: string
  organization: string
  actor: 'app' | 'self'
  person: string | undefined
  scopes: readonly string[]
  fromLogin: boolean
  issuedAt: number
}

/** A request without its headers, query and body, which can hold secrets. */
interface LoggedRequest {
  at: number
  method: string
  path: string
  status: number | undefined
  scope: string | undefined
  actor: 'app' | 'self' | undefined
  fault: string | undefined
}

interface SeededData {
  organization: string
  tables: DataTable[]
}

/** The first rows of a list. `total` is the length of the whole list. */
interface DataTable {
  name: string
  total: number
  columns: readonly string[]
  rows: readonly (readonly string[])[]
}

/** What the console shows the state of. */
export interface StateSources {
  readonly service: Service
  readonly faults: FaultList
  readonly log: RequestLog
}

/** Returns the current state. `organizationId` selects the data; by default it is the first organization's. */
export function readConsoleState({ service, faults, log }: StateSources, organizationId: string | null): ConsoleState {
  const { name, clientId, clientSecret, redirectUris } = service.settings.app
  const workspace = service.workspaces.get(organizationId ?? '') ?? service.firstWorkspace
  const tokens = (['self', 'app'] as const).map((actor) => {
    const value = service.readyToken(actor)
    return { actor, person: personOf(service.grants.token(value), service.firstWorkspace), value }
  })
  const issued = service.grants.issuedTokens()
  return {
    app: { name, clientId, clientSecret, redirectUris },
    tokens: tokens.map((token) => ({ ...token, valid: service.grants.token(token.value) !== undefined })),
    connections: issued.slice(0, shownConnections).map(({ id, grant, fromLogin, issuedAt }) => {
      const of = service.workspace(grant.organizationId)
      const { actor, scopes } = grant
      const organization = of.organization.display_name
      return { id, app: name, organization, actor, person: personOf(grant, of), scopes, fromLogin, issuedAt }
    }),
    moreConnections: Math.max(0, issued.length - shownConnections),
    faults: faults.list().map(({ id, rule, skips, times }) => {
      return {
        id,
        fault: describeFault(rule),
        match: describeMatch(rule),
        skips,
        times: Number.isFinite(times) ? times : 'all',
      }
    }),
    requests: log.requests
      // Browsers request it from the consent page, which has no icon.
      .filter(({ path }) => path !== '/favicon.ico')
      .slice(-shownRequests)
      .reverse()
      .map(({ at, method, path, status, scope, actor, fault }) => ({ at, method, path, status, scope, actor, fault })),
    organizations: [...service.workspaces.values()].map(({ organization }) => {
      return { id: organization.id, name: organization.display_name }
    }),
    data: { organization: workspace.organization.id, tables: dataTables(workspace) },
  }
}

const shownConnections = 50
const shownRequests = 100
const shownRows = 12

function personOf(grant: Grant | undefined, workspace: Workspace): string | undefined {
  const member = workspace.members.get(grant?.memberId ?? '')
  return member && `${member.user.name} (${member.role})`
}

function dataTables({ conversations, contacts, members, tasks, segments }: Workspace): DataTable[] {
  return [
    table('Conversations', conversations.all(), ['ID', 'Status', 'Customer', 'Last message'], (conversation) => [
      conversation.id,
      conversation.status,
      conversation.user.name ?? conversation.user.email,
      conversation.last_message,
    ]),
    table('Contacts', contacts.all(), ['ID', 'Name', 'Email', 'Source'], ({ id, user, source }) => {
      return [id, user.name ?? '', user.email, source]
    }),
    table('Team members', members.all(), ['ID', 'Name', 'Email', 'Role'], ({ id, user, role, archived }) => {
      return [id, user.name ?? '', user.email, archived ? `${role}, archived` : role]
    }),
    table('Tasks', tasks.all(), ['ID', 'Fields'], looseRow),
    table('Segments', segments.all(), ['ID', 'Fields'], looseRow),
  ]
}

function looseRow({ id, ...fields }: { id: string }): string[] {
  return [id, Object.keys(fields).length === 0 ? '' : JSON.stringify(fields)]
}

function table<Item>(
  name: string,
  items: readonly Item[],
  columns: readonly string[],
  toRow: (item: Item) => readonly string[],
): DataTable {
  return { name, total: items.length, columns, rows: items.slice(0, shownRows).map(toRow) }
}
