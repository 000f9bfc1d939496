import type { SupportWorkspace } from '../client/index.ts'
import { SupportWorkspaceError } from '../shared/errors/index.ts'

/** Where the writes of a client belong, and who makes them. */
export interface Identity {
  /** The address of the service and the organization. Ids, and so keys, are only unique in one of them. */
  readonly place: string
  /** The id of the user of the token, if the service tells it. */
  readonly author: string | undefined
}

/**
 * Returns a function that asks the service for the identity of a client until it is known, and remembers it.
 *
 * @param addressOf called after the first response
 */
export function rememberIdentity(workspace: SupportWorkspace, addressOf: () => string): () => Promise<Identity> {
  let known: Promise<Identity> | undefined
  return () => {
    const asked = known ?? identify(workspace, addressOf)
    known = asked
    asked.catch(() => {
      if (known === asked) known = undefined
    })
    return asked
  }
}

async function identify(workspace: SupportWorkspace, addressOf: () => string): Promise<Identity> {
  const { organization, user } = await workspace.me()
  if (typeof organization?.id !== 'string' || organization.id === '') {
    throw new SupportWorkspaceError('The service does not tell the organization of the token.', {
      hint: 'Without it, a journal would take the key of another organization for its own.',
    })
  }
  return { place: JSON.stringify([addressOf(), organization.id]), author: user?.id }
}
