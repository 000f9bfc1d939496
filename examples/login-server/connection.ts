import type { Me, SupportWorkspace } from 'support-workspace-sdk'

/** A workspace that somebody connected, and what the service says of the connection. */
export interface Connection {
  workspace: SupportWorkspace<'app'> | SupportWorkspace<'self'>
  me: Me
}
