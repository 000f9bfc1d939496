import { SupportWorkspace } from '../client.ts'
import { AuthenticationError, InvalidArgumentError } from '../errors/index.ts'
import type { Me } from '../models/me.ts'
import type { AccessToken } from '../oauth/access-token.ts'
import { type Connection, connectionOf } from './connection.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import type { StoreSettings } from './store-options.ts'

/** Tells whose a token is, by asking the service (`/me`), and rejects a token of another service or app. */
export class Identity {
  readonly #settings: StoreSettings

  constructor(settings: StoreSettings) {
    this.#settings = settings
  }

  /**
   * The connection that a new token makes.
   *
   * @throws ConnectionStoreError `identity_incomplete`, `identity_mismatch`, and the errors of a call
   */
  async connectionOf(accessToken: string, grantedScopes: readonly string[] | undefined): Promise<Connection> {
    const me = await this.#me(accessToken)
    this.#checkApplication(me)
    return connectionOf(me, grantedScopes, { connectedAt: Date.now() })
  }

  /**
   * What `/me` says about the connection under a key.
   *
   * @throws ConnectionStoreError `identity_incomplete`, `identity_mismatch`
   */
  async factsOf(me: Me, key: string): Promise<Omit<Connection, 'connectedAt'>> {
    this.#checkApplication(me)
    const { connectedAt: _, ...facts } = await connectionOf(me, undefined, { connectedAt: 0 })
    if (facts.key === key) return facts
    throw identityMismatch(`\`/me\` names another connection ("${facts.key}") than "${key}".`, key)
  }

  /** Whether the service refuses the token for good. Any other failure of `/me` says nothing about it. */
  async isRefused(accessToken: string): Promise<boolean> {
    try {
      await this.#me(accessToken)
      return false
    } catch (thrown) {
      return thrown instanceof AuthenticationError && thrown.code === 'invalid_token'
    }
  }

  /** A token is sent to the service that it comes from, and to no other. */
  checkOrigin({ baseUrl, clientId }: AccessToken): void {
    if (typeof baseUrl !== 'string' || withoutSlash(baseUrl) !== withoutSlash(this.#settings.baseUrl)) {
      throw new InvalidArgumentError(
        'token',
        '`token` was issued by another service than the one of this store.',
        'Save it in a store whose `baseUrl` is that of the `OAuthApp`.',
      )
    }
    if (this.#settings.clientId === undefined || clientId === this.#settings.clientId) return
    throw new InvalidArgumentError(
      'token',
      '`token` was issued to another app than the `clientId` of this store.',
      'Save it in a store whose `clientId` is that of the `OAuthApp`.',
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
