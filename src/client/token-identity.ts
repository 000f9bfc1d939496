import type { AccessTokenSource, ClientOptions } from '../core/index.ts'
import { InsufficientScopeError, SupportWorkspaceError } from '../errors/index.ts'
import { scopesIn } from '../shared/scopes.ts'
import type { SupportWorkspace } from './client.ts'
import type { Me } from './generated/models.ts'

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

/** How long an identity is remembered, in milliseconds, so that one wrong answer does not stay for ever. */
const longest = 300_000

/**
 * Remembers whose each token is. The identity belongs to the token and not to the client, because a provider can return
 * the token of somebody else at any time.
 */
export class TokenIdentities {
  /** By token. The one that was used last is the last. */
  readonly #known = new Map<string, { readonly identity: TokenIdentity; readonly until: number }>()
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
    const known = this.#recall([...this.#known.keys()].at(-1))
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
    return this.#recall(token) ?? (await this.#ask(ask()))
  }

  /** Returns the identity of the token that a request would have now. Sends a request only if it is not known. */
  async current(): Promise<TokenIdentity> {
    let known: TokenIdentity | undefined
    const stop = new Error('The token is known.')
    try {
      return await this.#ask(this.#workspace, (token) => {
        known = this.#recall(token)
        if (known !== undefined) throw stop
      })
    } catch (thrown) {
      if (thrown === stop && known !== undefined) return known
      throw thrown
    }
  }

  async #ask(workspace: SupportWorkspace, see?: (token: string) => void): Promise<TokenIdentity> {
    let used: string | undefined
    const client = workspace.replaceOptions(({ accessToken }) =>
      watchToken(accessToken, (token) => {
        used = token
        see?.(token)
      }),
    )
    const identity = identityOf(await client.me())
    // A middleware can reply itself, and then no token was used.
    if (used !== undefined) this.#remember(used, identity)
    return identity
  }

  /** Returns the identity of a token, which is the last one from now on. */
  #recall(token = ''): TokenIdentity | undefined {
    const known = this.#known.get(token)
    this.#known.delete(token)
    if (known === undefined || known.until < performance.now()) return undefined
    this.#known.set(token, known)
    return known.identity
  }

  #remember(token: string, identity: TokenIdentity): void {
    this.#known.delete(token)
    if (isWhole(identity)) this.#known.set(token, { identity, until: performance.now() + longest })
    for (const oldest of [...this.#known.keys()].slice(0, -most)) this.#known.delete(oldest)
  }
}

/** Whether an identity says who the actor is. Only the token of an app has no person. */
export function isWhole({ author, actor }: TokenIdentity): boolean {
  return author !== undefined || actor === 'app'
}

/**
 * Returns the identity in a response of `/me`.
 *
 * @throws SupportWorkspaceError if it has no organization
 */
export function identityOf({ organization, user, scopes, actor }: Me): TokenIdentity {
  if (typeof organization?.id !== 'string' || organization.id === '') {
    throw new SupportWorkspaceError('The service does not tell the organization of the token.', {
      hint: 'Without it, what belongs to another organization could be taken for something of this organization.',
    })
  }
  const granted = scopesIn(scopes)
  return {
    organization: organization.id,
    author: typeof user?.id === 'string' ? user.id : undefined,
    actor: actor ?? undefined,
    scopes: granted?.length === 0 ? undefined : granted,
  }
}

/** Returns an option that calls a function with each token. */
function watchToken(
  source: ClientOptions['accessToken'],
  see: (token: string) => void,
): Partial<Pick<ClientOptions, 'accessToken'>> {
  if (typeof source === 'string') {
    see(source)
    return {}
  }
  const { getAccessToken, ...rest } = typeof source === 'object' ? source : ({} as Partial<AccessTokenSource>)
  const onInvalidToken = rest.onInvalidToken?.bind(source)
  const get = async () => {
    const token = typeof source === 'function' ? await source() : await source.getAccessToken()
    see(token)
    return token
  }
  return { accessToken: { getAccessToken: get, ...(onInvalidToken && { onInvalidToken }) } }
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
