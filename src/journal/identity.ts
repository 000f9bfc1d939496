import type { SupportWorkspace } from '../client/index.ts'
import { inner } from '../core/index.ts'
import { InsufficientScopeError, SupportWorkspaceError } from '../errors/index.ts'
import { scopesIn } from '../shared/scopes.ts'

/** Where the writes of a client belong, and who makes them. */
export interface WriterIdentity {
  /** The id of the organization. Two organizations can use the same key, because item ids are unique within one. */
  readonly organization: string
  /** The id of the user of the token. Undefined if `/me` returns no user. */
  readonly author: string | undefined
}

/**
 * Returns the identity of a client. Rejects if the token lacks a scope that is required to read the operation's effect.
 */
export type Identify = (operation: string, required: readonly string[]) => Promise<WriterIdentity>

/**
 * Returns a function that requests the identity of a client once and remembers it. After a failure, it requests it
 * again.
 */
export function rememberIdentity(workspace: SupportWorkspace): Identify {
  let known: ReturnType<typeof identify> | undefined
  return async function ask(operation, required): Promise<WriterIdentity> {
    const isNew = known === undefined
    const asked = known ?? identify(workspace)
    known = asked
    const forget = () => {
      if (known === asked) known = undefined
    }
    asked.catch(forget)
    const { scopes: granted, ...identity } = await asked
    if (granted === undefined || required.every((scope) => granted.includes(scope))) return identity
    forget()
    if (isNew) throw unreadable(operation, required, granted)
    // A new login since the last request can have added the scopes.
    return ask(operation, required)
  }
}

async function identify(workspace: SupportWorkspace) {
  const { organization, user, scopes } = await inner(workspace.me())
  if (typeof organization?.id !== 'string' || organization.id === '') {
    throw new SupportWorkspaceError('The service does not tell the organization of the token.', {
      hint: 'Without it, a journal would take the key of another organization for its own.',
    })
  }
  const granted = scopesIn(scopes)
  return {
    organization: organization.id,
    author: typeof user?.id === 'string' ? user.id : undefined,
    scopes: granted?.length === 0 ? undefined : granted,
  }
}

function unreadable(operation: string, required: readonly string[], granted: readonly string[]) {
  const missing = required.filter((scope) => !granted.includes(scope)).join(', ')
  return new InsufficientScopeError(
    `${operation} was not sent, because it could not be confirmed without ${missing}.`,
    {
      ...{ operation, outcome: 'not-sent', remedy: 'reconnect', status: 403, code: 'insufficient_scope' },
      ...{ description: undefined, required, granted },
      hint: 'Log in again and ask for it in addition, or pass `find`.',
    },
  )
}
