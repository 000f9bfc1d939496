import type { Actor } from '../../actor.ts'
import { SupportWorkspace } from '../../client.ts'
import type { ClientOptions } from '../../client-options.ts'
import { ConnectionStoreError } from '../../errors/connection-store-error.ts'
import { isSupportWorkspaceError } from '../../errors/index.ts'
import { checkAccessToken } from '../../http/authorization.ts'
import type { AccessToken } from '../access-token.ts'
import { type Connection, connectionOf } from './connection.ts'
import { checkConnectionKey, parseConnectionKey } from './connection-key.ts'
import { ConnectionNotSavedError } from './connection-not-saved-error.ts'
import { LiveConnections } from './live-connections.ts'
import { type ConnectionStoreOptions, readStoreSettings, type StoreSettings } from './store-options.ts'

/** Which connections to list: those that match everything given. Ids, as `/me` names them. */
export interface ConnectionFilter {
  readonly application?: string | undefined
  readonly organization?: string | undefined
  readonly actor?: Actor | undefined
  readonly user?: string | undefined
}

export interface ConnectionList {
  /** Oldest first. */
  readonly connections: readonly Connection[]
  /** One error for each connection whose entry cannot be read (`secret_unknown`, `entry_damaged`), with its `key`. */
  readonly unreadable: readonly ConnectionStoreError[]
}

/** A token on its way into the storage. Only closures hold it, so that no error can print it. */
interface Pending {
  readonly accessToken: string
  readonly grantedScopes: readonly string[] | undefined
  readonly tried: string[]
  connection?: Connection
}

/**
 * Keeps the access tokens of logins under what they are bound to, application, organization, actor and, for `self`, the
 * user (specification, section 5), and makes clients whose token comes from there. A new login replaces the token of its
 * connection; a token that the service revokes is removed, once.
 *
 * Use one store for a service in each process. It holds no token itself, unless in its default storage.
 *
 * @example
 * const store = new ConnectionStore({ baseUrl, storage, secret })
 * const { key } = await store.save(token)
 * const workspace = await store.workspace(key)
 * if (workspace.actor === 'self') await workspace.messages.create(id, { body_html: '<p>On it.</p>' })
 */
export class ConnectionStore {
  readonly #settings: StoreSettings
  readonly #live: LiveConnections

  /** @throws InvalidArgumentError when an option cannot be used. */
  constructor(options: ConnectionStoreOptions) {
    this.#settings = readStoreSettings(options)
    this.#live = new LiveConnections(this.#settings)
  }

  /**
   * Asks the service whose token it is (`/me`), and saves it in place of the one that this connection had.
   *
   * @throws ConnectionNotSavedError when `/me` or the storage fails: `retry()` tries again, the token is not lost.
   * @throws InvalidArgumentError when it is not an access token.
   */
  async save(token: AccessToken | string): Promise<Connection> {
    const accessToken = checkAccessToken(typeof token === 'string' ? token : token?.accessToken)
    const grantedScopes = typeof token === 'string' ? undefined : token.scopes
    return this.#save({ accessToken, grantedScopes, tried: [] })
  }

  /**
   * The connection under a key; undefined when there is none.
   *
   * @throws ConnectionStoreError `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection.
   */
  async get(key: string): Promise<Connection | undefined> {
    checkConnectionKey(key)
    return (await this.#live.read(key))?.connection
  }

  /**
   * The connections of this service. Walks through the keys of the storage, so it is for a page or a start-up, not for
   * each request.
   *
   * @throws ConnectionStoreError `storage_failed`. An entry that cannot be read does not throw: see `unreadable`.
   */
  async list(filter: ConnectionFilter = {}): Promise<ConnectionList> {
    const wanted = (await this.#settings.entries.keys()).filter((key) => matches(key, filter))
    const found = await Promise.all(wanted.map((key) => this.#readOrError(key)))
    const connections = found.flatMap(({ connection }) => connection ?? [])
    return {
      connections: connections.sort((one, other) => one.connectedAt - other.connectedAt),
      unreadable: found.flatMap(({ error }) => error ?? []),
    }
  }

  /**
   * Forgets a connection and its token; nothing happens when there is none. Walks through the keys of the storage, as
   * `list` does, so that nothing is left of saves that ended half-way. The token itself stays good: the service documents
   * no way to revoke it but the admin's dashboard (specification, section 5).
   *
   * @throws ConnectionStoreError `storage_failed`
   * @throws InvalidArgumentError when `key` is not the key of a connection.
   */
  async remove(key: string): Promise<void> {
    checkConnectionKey(key)
    await this.#settings.entries.removeAll(key)
  }

  /**
   * A client for a connection, which knows its actor and its scopes. It looks the token up before each attempt, so a new
   * login is taken up at once, whichever process it came to. After a revocation its calls fail before anything is sent,
   * with `ConnectionStoreError` `not_connected`, until a new login; then the same client works again.
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection.
   */
  async workspace(key: string): Promise<SupportWorkspace<'app'> | SupportWorkspace<'self'>> {
    checkConnectionKey(key)
    const { actor, scopes } = await this.#live.require(key)
    const options = { ...this.#clientOptions(), scopes, accessToken: this.#live.tokenSource(key) }
    return actor === 'app'
      ? new SupportWorkspace({ ...options, actor: 'app' })
      : new SupportWorkspace({ ...options, actor: 'self' })
  }

  async #save(pending: Pending): Promise<Connection> {
    const { accessToken, grantedScopes, tried } = pending
    const { entries, format } = this.#settings
    try {
      pending.connection ??= connectionOf(await this.#me(accessToken), grantedScopes)
      const { key } = pending.connection
      const value = await format.write({ connection: pending.connection, accessToken })
      await entries.write(key, value, tried, [accessToken])
      return pending.connection
    } catch (thrown) {
      if (!isSupportWorkspaceError(thrown)) throw thrown
      throw new ConnectionNotSavedError(`The connection was not saved: ${thrown.message}`, {
        reason: thrown instanceof ConnectionStoreError ? thrown.reason : 'me_failed',
        key: pending.connection?.key,
        cause: thrown,
        hint: 'The token is not lost: call `retry()` of this error.',
        retry: () => this.#save(pending),
      })
    }
  }

  async #me(accessToken: string) {
    return new SupportWorkspace({ ...this.#clientOptions(), accessToken }).me()
  }

  #clientOptions(): Omit<ClientOptions, 'accessToken' | 'actor' | 'scopes'> {
    return { ...this.#settings.client, baseUrl: this.#settings.baseUrl }
  }

  async #readOrError(key: string): Promise<{ connection?: Connection | undefined; error?: ConnectionStoreError }> {
    try {
      return { connection: (await this.#live.read(key))?.connection }
    } catch (thrown) {
      if (thrown instanceof ConnectionStoreError && thrown.reason !== 'storage_failed') return { error: thrown }
      throw thrown
    }
  }
}

function matches(key: string, filter: ConnectionFilter): boolean {
  const identity = parseConnectionKey(key)
  if (identity === undefined) return false
  const names = ['application', 'organization', 'actor', 'user'] as const
  return names.every((name) => filter[name] === undefined || filter[name] === identity[name])
}
