import { type Me, SupportWorkspace } from '../client/index.ts'
import type { ClientOptions } from '../core/index.ts'
import { AuthenticationError, InvalidArgumentError } from '../errors/index.ts'
import { shortestSecret } from '../errors/redact.ts'
import type { AccessToken } from '../shared/access-token.ts'
import { scopesIn } from '../shared/scopes.ts'
import type { AppConnection, ConnectionParty, SelfConnection } from './connection.ts'
import { connectionKey } from './connection-key.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

/** The options of a store that concern its tokens. */
export interface IdentitySettings {
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly clientId: string | undefined
  /** The options of every client of the store, except its token, actor and scopes. */
  readonly clientOptions: Omit<ClientOptions, 'accessToken' | 'actor' | 'scopes' | 'rateLimitKey'>
}

/** The properties of a connection that do not come from `/me`. */
type ConnectionState = 'connectedAt' | 'revokedAt' | 'metadata'
/** The properties of a connection that come from `/me`. */
export type IdentifiedConnection = Omit<AppConnection, ConnectionState> | Omit<SelfConnection, ConnectionState>

/** Finds out what a token is bound to, by calling `/me`, and rejects tokens of another service or app. */
export class TokenIdentifier {
  readonly #settings: IdentitySettings

  constructor(settings: IdentitySettings) {
    this.#settings = settings
  }

  /**
   * Returns the identity of the connection of a new token.
   *
   * @throws ConnectionStoreError `identity_incomplete`, `identity_mismatch`, and the errors of a call
   */
  async identify(accessToken: string, grantedScopes: readonly string[] | undefined): Promise<IdentifiedConnection> {
    const me = await this.#me(accessToken)
    this.#checkApplication(me)
    return withoutToken(await identityFromMe(me, grantedScopes), accessToken)
  }

  /**
   * Returns the identity of the connection under a key as `/me`, called with its token, describes it now.
   *
   * @throws ConnectionStoreError `identity_incomplete`, `identity_mismatch`
   */
  async verify(me: Me, key: string, accessToken: string): Promise<IdentifiedConnection> {
    this.#checkApplication(me)
    const identity = withoutToken(await identityFromMe(me), accessToken)
    if (identity.key === key) return identity
    throw identityMismatch(`\`/me\` names another connection ("${identity.key}") than "${key}".`, key)
  }

  /** Whether the service reports the token as invalid. Other failures of `/me` do not count. */
  async isRevoked(accessToken: string): Promise<boolean> {
    try {
      await this.#me(accessToken)
      return false
    } catch (thrown) {
      return thrown instanceof AuthenticationError && thrown.code === 'invalid_token'
    }
  }

  /** Checks that a token was issued by the service and for the app of this store. */
  checkOrigin({ baseUrl, clientId }: AccessToken): void {
    if (baseUrl !== this.#settings.baseUrl) {
      throw new InvalidArgumentError(
        'token',
        '`token` was issued by another service than the one of this store.',
        'Save it in a store that has the same `baseUrl` as the `OAuthApp`.',
      )
    }
    if (this.#settings.clientId === undefined || clientId === this.#settings.clientId) return
    throw new InvalidArgumentError(
      'token',
      '`token` was issued to another app than the `clientId` of this store.',
      'Save it in a store that has the same `clientId` as the `OAuthApp`.',
    )
  }

  async #me(accessToken: string): Promise<Me> {
    return new SupportWorkspace({ ...this.#settings.clientOptions, accessToken, fresh: true }).me()
  }

  #checkApplication(me: Me): void {
    const { clientId } = this.#settings
    if (clientId === undefined || me.application?.client_id === clientId) return
    throw identityMismatch('`/me` does not name the application with the `clientId` of this store.', undefined)
  }
}

function identityMismatch(message: string, key: string | undefined): ConnectionStoreError {
  return new ConnectionStoreError(message, {
    reason: 'identity_mismatch',
    key,
    hint: 'Check `baseUrl` and `clientId`, then log in again.',
  })
}

/** Returns an identity, unless it would show the token: ids are part of keys, which storages, hooks and errors have. */
function withoutToken(identity: IdentifiedConnection, accessToken: string): IdentifiedConnection {
  const quoted = JSON.stringify(accessToken).slice(1, -1)
  // Less would be a part of many names.
  if (accessToken.length < shortestSecret || !JSON.stringify(identity).includes(quoted)) return identity
  throw new ConnectionStoreError('`/me` repeats the token as a name, an id or a scope.', {
    reason: 'identity_incomplete',
    hint: 'Check `baseUrl`. A connection would show the token. To use it nevertheless, pass it to `new SupportWorkspace`.',
  })
}

/**
 * Returns the identity that `/me` describes.
 *
 * @throws ConnectionStoreError `identity_incomplete`
 */
export async function identityFromMe(me: Me, grantedScopes?: readonly string[]): Promise<IdentifiedConnection> {
  const actor: unknown = me.actor
  const application = party(me.application?.id, me.application?.name)
  const organization = party(me.organization?.id, me.organization?.display_name ?? me.organization?.name)
  const user = party(me.user?.id, me.user?.name)
  const scopes = scopesIn(me.scopes ?? grantedScopes)
  const rest = scopes && { scopes }
  if (application !== undefined && organization !== undefined) {
    const ids = { application: application.id, organization: organization.id }
    if (actor === 'app') {
      return { key: await connectionKey({ actor, ...ids }), application, organization, actor, ...rest }
    }
    if (actor === 'self' && user !== undefined) {
      const key = await connectionKey({ actor, ...ids, user: user.id })
      return { key, application, organization, actor, user, ...rest }
    }
  }
  throw new ConnectionStoreError("`/me` does not name the token's application, organization, actor or user.", {
    reason: 'identity_incomplete',
    hint: 'Without it the store could mix up connections. Keep this token yourself, and pass it to `new SupportWorkspace`.',
  })
}

/**
 * Checks an id and a name, because responses are not validated. Rejects a lone surrogate, which UTF-8 cannot encode in
 * a key.
 */
function party(id: unknown, name: unknown): ConnectionParty | undefined {
  if (typeof id !== 'string' || id === '' || /\p{Surrogate}/u.test(id)) return undefined
  return { id, ...(typeof name === 'string' && name !== '' && { name }) }
}
