import { SupportWorkspace } from '../client.ts'
import { AuthenticationError, InvalidArgumentError } from '../errors/index.ts'
import type { Me } from '../models/me.ts'
import type { AccessToken } from '../oauth/access-token.ts'
import type { Connection } from './connection.ts'
import { connectionFromMe } from './connection-from-me.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import type { StoreSettings } from './store-options.ts'

/** Finds out what a token is bound to, by calling `/me`, and rejects tokens of another service or app. */
export class Identity {
  readonly #settings: StoreSettings

  constructor(settings: StoreSettings) {
    this.#settings = settings
  }

  /**
   * Returns the connection of a new token.
   *
   * @throws ConnectionStoreError `identity_incomplete`, `identity_mismatch`, and the errors of a call
   */
  async identify(
    accessToken: string,
    grantedScopes: readonly string[] | undefined,
    connectedAt: number,
  ): Promise<Connection> {
    const me = await this.#me(accessToken)
    this.#checkApplication(me)
    return connectionFromMe(me, grantedScopes, { connectedAt })
  }

  /**
   * Returns the identity of the connection under a key as `/me` describes it now.
   *
   * @throws ConnectionStoreError `identity_incomplete`, `identity_mismatch`
   */
  async verify(me: Me, key: string): Promise<Omit<Connection, 'connectedAt'>> {
    this.#checkApplication(me)
    const { connectedAt: _, ...identity } = await connectionFromMe(me, undefined, { connectedAt: 0 })
    if (identity.key === key) return identity
    throw identityMismatch(`\`/me\` names another connection ("${identity.key}") than "${key}".`, key)
  }

  /** Whether the service reports the token as invalid. Any other failure of `/me` proves nothing. */
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
    if (typeof baseUrl !== 'string' || withoutSlash(baseUrl) !== withoutSlash(this.#settings.baseUrl)) {
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
    return new SupportWorkspace({ ...this.#settings.clientOptions, accessToken }).me()
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

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}
