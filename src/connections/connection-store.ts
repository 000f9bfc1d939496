import { SupportWorkspace } from '../client.ts'
import { isSupportWorkspaceError } from '../errors/index.ts'
import { checkAccessToken } from '../http/authorization.ts'
import type { AccessToken } from '../oauth/access-token.ts'
import { AllConnections, type ResealOptions, type ResealResult } from './all-connections.ts'
import { type Connection, type ConnectionMetadata, checkMetadata } from './connection.ts'
import { checkConnectionKey } from './connection-key.ts'
import { type ConnectionFilter, ConnectionListing, type ListConnectionsOptions } from './connection-list.ts'
import { ConnectionNotSavedError, ConnectionStoreError } from './connection-store-error.ts'
import type { Save } from './entries.ts'
import { loginTime } from './entry-id.ts'
import { Identity } from './identity.ts'
import { LiveConnections, orUnreadable } from './live-connections.ts'
import { type ConnectionStoreOptions, readStoreSettings, type StoreSettings } from './store-options.ts'

export interface SaveOptions {
  /**
   * Your own data about the connection, kept with it: a JSON object. Defaults to the metadata that the connection had
   * before this login.
   */
  readonly metadata?: ConnectionMetadata | undefined
}

/** A token on its way into the storage. Only closures hold it, so that no error can print it. */
interface Pending {
  readonly accessToken: string
  readonly grantedScopes: readonly string[] | undefined
  readonly metadata: ConnectionMetadata | undefined
  readonly save: Save
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
  readonly #identity: Identity
  readonly #live: LiveConnections
  readonly #all: AllConnections

  /** @throws InvalidArgumentError when an option cannot be used. */
  constructor(options: ConnectionStoreOptions) {
    this.#settings = readStoreSettings(options)
    this.#identity = new Identity(this.#settings)
    this.#live = new LiveConnections(this.#settings, (accessToken) => this.#identity.isRefused(accessToken))
    this.#all = new AllConnections(this.#settings.entries, this.#live)
  }

  /**
   * Asks the service whose token it is (`/me`), and saves it in place of the one that this connection had.
   *
   * A new login replaces the token and the scopes of its connection. Request every scope that your app needs each time:
   * a login with fewer scopes drops those that an earlier one was granted.
   *
   * @throws ConnectionNotSavedError when `/me` or the storage fails: `retry()` tries again, the token is not lost.
   * @throws InvalidArgumentError when it is not an access token, or one of another service or app; nothing is sent then.
   */
  async save(token: AccessToken | string, options: SaveOptions = {}): Promise<Connection> {
    const accessToken = checkAccessToken(typeof token === 'string' ? token : token?.accessToken)
    if (typeof token !== 'string') this.#identity.checkOrigin(token)
    return this.#save({
      accessToken,
      grantedScopes: typeof token === 'string' ? undefined : token.scopes,
      metadata: options.metadata === undefined ? undefined : checkMetadata(options.metadata),
      save: { startedAt: loginTime(), tried: [], isRetry: false },
    })
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
   * Lists the connections of this service: `await` it for all, or iterate it with `for await` where there are many. Walks
   * through the keys of the storage and reads 16 entries at a time, so it is for a page or a start-up, not for each
   * request.
   *
   * An iteration yields a connection twice when the storage names its key twice, as Redis `SCAN` may while its table is
   * resized: remembering every key would take memory for each connection. `await` returns each connection once.
   *
   * @throws ConnectionStoreError `storage_failed`. An entry that cannot be read does not throw: see `unreadable`.
   *
   * @example
   * const { connections, unreadable } = await store.list()
   * for await (const connection of store.list({ actor: 'app' })) console.log(connection.organization.name)
   */
  list(filter: ConnectionFilter = {}, options: ListConnectionsOptions = {}): ConnectionListing {
    return new ConnectionListing(() => this.#all.read(filter), options)
  }

  /**
   * Replaces the metadata of a connection; `undefined` removes it. In one process the last call wins; of two changes at
   * the same time in two processes, one does.
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection, or `metadata` is not a JSON object.
   */
  async setMetadata(key: string, metadata: ConnectionMetadata | undefined): Promise<Connection> {
    checkConnectionKey(key)
    const checked = metadata === undefined ? undefined : checkMetadata(metadata)
    return this.#live.changeCurrent(key, ({ connection: { metadata: _, ...connection }, accessToken }) => ({
      connection: { ...connection, ...(checked !== undefined && { metadata: checked }) },
      accessToken,
    }))
  }

  /**
   * Asks the service whether the token of a connection still works (`/me`), and saves the names and scopes that it has
   * now. After a revocation the connection is removed, as after any call.
   *
   * @throws AuthenticationError and the other errors of a call, when `/me` fails.
   * @throws ConnectionStoreError `not_connected`, `identity_incomplete`, `identity_mismatch`, `storage_failed`,
   * `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection.
   */
  async verify(key: string): Promise<Connection> {
    checkConnectionKey(key)
    const found = await this.#live.requireToken(key)
    const me = await this.#workspaceOf(key, found.connection).me()
    const facts = await this.#identity.factsOf(me, key)
    const changed = await this.#live.change(key, found, ({ connection, accessToken }) => ({
      connection: { ...connection, ...facts } as Connection,
      accessToken,
    }))
    // A new login came in between: it has asked `/me` itself.
    return changed ?? (await this.#live.require(key, [found.accessToken])).connection
  }

  /**
   * Seals every entry that an older secret sealed with the first one again, 16 at a time. An older secret is no longer
   * needed once no entry is `unreadable`. Saves at the same time are safe.
   *
   * @throws ConnectionStoreError `storage_failed`
   * @throws the reason of `signal`
   */
  async reseal(options: ResealOptions = {}): Promise<ResealResult> {
    return this.#all.reseal(options)
  }

  /**
   * Forgets a connection and its token; nothing happens when there is none. Walks through the keys of the storage, as
   * `list` does, so that nothing is left of saves that ended half-way. The token itself stays good: the service documents
   * no way to revoke it but the admin's dashboard (specification, section 5). Restoring a backup of the storage brings
   * the connection back, so remove it again then.
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
    return this.#workspaceOf(key, (await this.#live.requireToken(key)).connection)
  }

  #workspaceOf(key: string, { actor, scopes }: Connection): SupportWorkspace<'app'> | SupportWorkspace<'self'> {
    const options = { ...this.#settings.clientOptions, scopes, accessToken: this.#live.tokenSource(key) }
    return actor === 'app'
      ? new SupportWorkspace({ ...options, actor: 'app' })
      : new SupportWorkspace({ ...options, actor: 'self' })
  }

  async #save(pending: Pending): Promise<Connection> {
    const { accessToken, grantedScopes } = pending
    const { entries, format } = this.#settings
    try {
      pending.connection ??= await this.#identity.connectionOf(accessToken, grantedScopes)
      const { key } = pending.connection
      const metadata = pending.metadata ?? (await this.#metadataOf(key, accessToken))
      const connection = { ...pending.connection, ...(metadata !== undefined && { metadata }) }
      const value = await format.write({ connection, accessToken })
      const newer = await entries.hiding([accessToken]).write(key, value, pending.save)
      return newer === undefined ? connection : (await format.read(key, newer.value)).connection
    } catch (thrown) {
      if (!isSupportWorkspaceError(thrown)) throw thrown
      throw new ConnectionNotSavedError(`The connection was not saved: ${thrown.message}`, {
        reason: thrown instanceof ConnectionStoreError ? thrown.reason : 'me_failed',
        key: pending.connection?.key,
        cause: thrown,
        hint: 'The token is not lost: call `retry()` of this error.',
        retry: () => {
          pending.save.isRetry = true
          return this.#save(pending)
        },
      })
    }
  }

  /** The metadata that a new login takes over. What cannot be read is about to be replaced. */
  async #metadataOf(key: string, accessToken: string): Promise<ConnectionMetadata | undefined> {
    const found = await orUnreadable(() => this.#live.read(key, [accessToken]))
    return found instanceof ConnectionStoreError ? undefined : found?.connection.metadata
  }
}
