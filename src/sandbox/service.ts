import { Grants } from './data/grants.ts'
import { seedWorkspaces } from './data/seed.ts'
import type { Workspace } from './data/workspace.ts'
import type { SandboxSettings } from './sandbox-settings.ts'

/** A write that took effect. */
export interface EffectiveWrite {
  /** The service's name for the operation, such as `createMessage`. */
  readonly operation: string
  readonly path: string
  /** In milliseconds since the epoch, on the sandbox's clock. */
  readonly at: number
}

/** Everything that the service stores: its organizations, codes, tokens and the log of writes. */
export class Service {
  readonly settings: SandboxSettings
  readonly workspaces: ReadonlyMap<string, Workspace>
  readonly firstWorkspace: Workspace
  readonly grants: Grants
  /** The last 100,000 writes, oldest first. */
  readonly writes: EffectiveWrite[] = []
  /** The tokens that a person can copy, by actor. */
  readonly readyTokens = new Map<'app' | 'self', string>()

  constructor(settings: SandboxSettings) {
    this.settings = settings
    this.grants = new Grants(settings.now)
    const workspaces = seedWorkspaces(settings.counts, settings.seed)
    const [firstWorkspace] = workspaces
    if (firstWorkspace === undefined) throw new TypeError('The sandbox needs at least one organization.')
    this.firstWorkspace = firstWorkspace
    this.workspaces = new Map(workspaces.map((workspace) => [workspace.organization.id, workspace]))
  }

  addWrite(write: EffectiveWrite): void {
    this.writes.push(write)
    if (this.writes.length > 100_000) this.writes.shift()
  }

  /** Returns the organization with this id. Throws a `TypeError` if there is none. */
  workspace(organizationId: string): Workspace {
    const workspace = this.workspaces.get(organizationId)
    if (workspace !== undefined) return workspace
    const ids = [...this.workspaces.keys()].join(', ')
    throw new TypeError(`The sandbox has no organization ${JSON.stringify(organizationId)}. Use one of: ${ids}.`)
  }

  /** Returns the time on the sandbox's clock in epoch seconds, the unit of timestamps (docs/service.md#conventions). */
  seconds(): number {
    return Math.floor(this.settings.now() / 1_000)
  }
}
