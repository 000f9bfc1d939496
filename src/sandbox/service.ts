import { Grants } from './data/grants.ts'
import { seedWorkspaces } from './data/seed.ts'
import type { Workspace } from './data/workspace.ts'
import type { SandboxSettings } from './options.ts'

/** A write that took effect. */
export interface EffectiveWrite {
  /** The service's name for it, such as `createMessage`. */
  readonly operation: string
  readonly path: string
  /** In milliseconds since the epoch, on the sandbox's clock. */
  readonly at: number
}

/** All that the service knows. */
export class Service {
  readonly settings: SandboxSettings
  readonly workspaces: ReadonlyMap<string, Workspace>
  readonly firstWorkspace: Workspace
  readonly grants = new Grants()
  readonly writes: EffectiveWrite[] = []

  constructor(settings: SandboxSettings) {
    this.settings = settings
    const workspaces = seedWorkspaces(settings.counts)
    const [firstWorkspace] = workspaces
    if (firstWorkspace === undefined) throw new TypeError('The sandbox needs at least one organization.')
    this.firstWorkspace = firstWorkspace
    this.workspaces = new Map(workspaces.map((workspace) => [workspace.organization.id, workspace]))
  }

  /** The sandbox's clock in epoch seconds, the unit of the service's timestamps (specification, section 1). */
  seconds(): number {
    return Math.floor(this.settings.now() / 1_000)
  }
}
