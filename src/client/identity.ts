import { type Guard, guardKey, type Middleware } from '../core/index.ts'
import { InsufficientScopeError, SupportWorkspaceError } from '../errors/index.ts'
import { scopesIn } from '../shared/scopes.ts'
import type { SupportWorkspace } from './client.ts'

/** Whose a token is. */
export interface TokenIdentity {
  /** The id of the organization. Ids of items are unique within one. */
  readonly organization: string
  /** The id of the person. Undefined if `/me` returns no user. */
  readonly author: string | undefined
  readonly actor: string | undefined
  /** The granted scopes. Undefined if `/me` does not say. */
  readonly scopes: readonly string[] | undefined
}

/** How many identities are remembered. A client rarely uses more tokens at the same time. */
const most = 10

/**
 * Remembers whose each token is. The identity belongs to the token and not to the client, because a provider can return
 * the token of somebody else at any time.
 */
export class TokenIdentities {
  /** By token. The one that was used last is the last. */
  readonly #known = new Map<string, TokenIdentity>()
  readonly #workspace: SupportWorkspace
  #asking: Promise<TokenIdentity> | undefined

  /** @param workspace reads fresh data */
  constructor(workspace: SupportWorkspace) {
    this.#workspace = workspace
  }

  /**
   * Returns the identity of the token that was used last. Asks the service if none is known, or if the known one lacks
   * a scope, because a login since then can have added the scope.
   *
   * @throws InsufficientScopeError if the token lacks a scope that is required to confirm the operation
   */
  async latest(operation = '', required: readonly string[] = []): Promise<TokenIdentity> {
    const lacks = ({ scopes }: TokenIdentity) => required.filter((scope) => scopes?.includes(scope) === false)
    const known = [...this.#known.values()].at(-1)
    if (known !== undefined && lacks(known).length === 0) return known
    this.#asking ??= this.#ask(this.#workspace).finally(() => {
      this.#asking = undefined
    })
    const asked = await this.#asking
    if (lacks(asked).length > 0) throw unreadable(operation, required, lacks(asked), asked.scopes ?? [])
    return asked
  }

  /** Returns the identity of a token. Asks with a client that uses this token. */
  async of(token: string, ask: () => SupportWorkspace): Promise<TokenIdentity> {
    const identity = this.#known.get(token) ?? (await this.#ask(ask()))
    this.#remember(token, identity)
    return identity
  }

  async #ask(workspace: SupportWorkspace): Promise<TokenIdentity> {
    let used: string | undefined
    const guard: Guard = (send, { accessToken }) => {
      used = accessToken
      return send()
    }
    const middleware: Middleware = (call, next) => next({ ...call, [guardKey]: guard } as typeof call)
    const { organization, user, scopes, actor } = await workspace.withOptions({ middleware }).me()
    if (typeof organization?.id !== 'string' || organization.id === '') {
      throw new SupportWorkspaceError('The service does not tell the organization of the token.', {
        hint: 'Without it, the key of another organization could be taken for the one of this organization.',
      })
    }
    const granted = scopesIn(scopes)
    const identity = {
      organization: organization.id,
      author: typeof user?.id === 'string' ? user.id : undefined,
      actor: actor ?? undefined,
      scopes: granted?.length === 0 ? undefined : granted,
    }
    // A middleware can reply from a cache, and then no token was used.
    if (used !== undefined) this.#remember(used, identity)
    return identity
  }

  #remember(token: string, identity: TokenIdentity): void {
    this.#known.delete(token)
    this.#known.set(token, identity)
    for (const oldest of [...this.#known.keys()].slice(0, -most)) this.#known.delete(oldest)
  }
}

function unreadable(
  operation: string,
  required: readonly string[],
  missing: readonly string[],
  granted: readonly string[],
): InsufficientScopeError {
  return new InsufficientScopeError(
    `${operation} was not sent, because it could not be confirmed without ${missing.join(', ')}.`,
    {
      ...{ operation, outcome: 'not-sent', remedy: 'reconnect', status: 403, code: 'insufficient_scope' },
      ...{ description: undefined, required, granted },
      hint: 'Log in again and ask for it in addition, or pass `find`.',
    },
  )
}
