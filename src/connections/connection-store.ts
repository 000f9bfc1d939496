// src/connections is the connection store: it keeps the tokens of logins and creates clients from them. It imports
// src/client.ts, src/oauth, src/http and src/errors; it must not import src/sandbox, and none of them may import it.

import type { Actor } from '../actor.ts'
import { SupportWorkspace } from '../client.ts'
import { checkAccessToken } from '../credentials.ts'
import { isSupportWorkspaceError } from '../errors/index.ts'
import type { AccessToken } from '../oauth/access-token.ts'
import { AllConnections, type ResealOptions, type ResealResult } from './all-connections.ts'
import { type Connection, type ConnectionMetadata, checkMetadata } from './connection.ts'
import { checkConnectionKey } from './connection-key.ts'
import {
  type ConnectionFilter,
  ConnectionListing,
  copyFilter,
  copyListOptions,
  type ListConnectionsOptions,
} from './connection-list.ts'
import { ConnectionNotSavedError, ConnectionStoreError } from './connection-store-error.ts'
import type { Save } from './entries.ts'
import { loginTime } from './entry-id.ts'
import { Identity } from './identity.ts'
import { LiveConnections, tryRead } from './live-connections.ts'
import {
  checkWorkspaceOptions,
  readSaveOptions,
  type SaveOptions,
  type WorkspaceOf,
  type WorkspaceOptions,
} from './method-options.ts'
import { type ConnectionStoreOptions, readStoreSettings, type StoreSettings } from './store-options.ts'

/** A token that is being saved. Only closures hold it, so that no error can reveal it. */
interface Pending {
  readonly accessToken: string
  readonly grantedScopes: readonly string[] | undefined
  readonly metadata: ConnectionMetadata | undefined
  readonly save: Save
  connection?: Connection
}

/**
 * Keeps the access tokens of logins by what they are bound to (application, organization, actor and, for `self`, user;
 * see [specification](docs/service.md#actors)), and creates clients that use them. A new login replaces the token of
 * its connection. A token that the service revokes is removed.
 *
 * Use one store per service in each process. It keeps no token itself, except in its default storage.
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

  /** @throws InvalidArgumentError when an option is invalid */
  constructor(options: ConnectionStoreOptions) {
    this.#settings = readStoreSettings(options)
    this.#identity = new Identity(this.#settings)
    this.#live = new LiveConnections(this.#settings, (accessToken) => this.#identity.isRevoked(accessToken))
    this.#all = new AllConnections(this.#settings.entries, this.#live)
  }

  /**
   * Calls `/me` to identify the token, and saves it in place of the previous token of its connection.
   *
   * A new login replaces the token and the scopes of its connection. Request every scope that your app needs in each
   * login: a login with fewer scopes drops those that an earlier one was granted.
   *
   * @throws ConnectionNotSavedError when `/me` or the storage fails. The token is not lost: call `retry()`.
   * @throws InvalidArgumentError when the token or an option is invalid, or the token is of another service or app. Nothing
   * is sent then.
   */
  async save(token: AccessToken | string, options: SaveOptions = {}): Promise<Connection> {
    const metadata = readSaveOptions(options)
    const accessToken = checkAccessToken(typeof token === 'string' ? token : token?.accessToken)
    if (typeof token !== 'string') this.#identity.checkOrigin(token)
    return this.#save({
      accessToken,
      grantedScopes: typeof token === 'string' ? undefined : scopesOf(token),
      metadata,
      save: { startedAt: loginTime(), tried: [], isRetry: false },
    })
  }

  /**
   * Returns the connection under a key, or undefined if there is none.
   *
   * @throws ConnectionStoreError `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection
   */
  async get(key: string): Promise<Connection | undefined> {
    checkConnectionKey(key)
    return (await this.#live.read(key))?.connection
  }

  /**
   * Lists the connections of this service. `await` it for all of them, or iterate it with `for await` if there are many.
   * It walks through the keys of the storage and reads 16 entries at a time, so use it for a page or at startup and not
   * for each request.
   *
   * An iteration yields a connection twice if the storage lists its key twice, as Redis `SCAN` may while its table is
   * resized; the iteration does not remember keys, to limit its memory. `await` returns each connection once.
   *
   * @throws ConnectionStoreError `storage_failed`. For entries that cannot be read see `unreadable`.
   * @throws InvalidArgumentError when the filter or an option is invalid
   *
   * @example
   * const { connections, unreadable } = await store.list()
   * for await (const connection of store.list({ actor: 'app' })) console.log(connection.organization.name)
   */
  list(filter: ConnectionFilter = {}, options: ListConnectionsOptions = {}): ConnectionListing {
    const copied = copyFilter(filter)
    return new ConnectionListing(() => this.#all.read(copied), copyListOptions(options))
  }

  /**
   * Replaces the metadata of a connection; `undefined` removes it. In one process the last call wins. Of concurrent
   * changes in two processes, one wins.
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection, or `metadata` is not a JSON object
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
   * Calls `/me` to check that the token of a connection still works, and saves its current names and scopes. If the token
   * was revoked, the connection is removed, as after any call.
   *
   * @throws AuthenticationError and the other errors of a call, when `/me` fails
   * @throws ConnectionStoreError `not_connected`, `identity_incomplete`, `identity_mismatch`, `storage_failed`,
   * `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection
   */
  async verify(key: string): Promise<Connection> {
    checkConnectionKey(key)
    const found = await this.#live.requireToken(key)
    const me = await this.#workspaceOf(key, found).me()
    const identity = await this.#identity.verify(me, key)
    const changed = await this.#live.change(key, found, ({ connection, accessToken }) => ({
      connection: { ...connection, ...identity } as Connection,
      accessToken,
    }))
    // Undefined if a new login has replaced the entry; that login has called `/me` itself.
    return changed ?? (await this.#live.require(key, [found.accessToken])).connection
  }

  /**
   * Reseals every entry that an older secret sealed with the first secret, 16 at a time. An older secret is no longer
   * needed once no entry is `unreadable`. Concurrent saves are safe.
   *
   * @throws ConnectionStoreError `storage_failed`
   * @throws InvalidArgumentError when an option is invalid
   * @throws the abort reason of `signal`
   */
  async reseal(options: ResealOptions = {}): Promise<ResealResult> {
    return this.#all.reseal(options)
  }

  /**
   * Removes a connection and its token; does nothing if there is none. Walks through the keys of the storage, as `list`
   * does, to remove the remains of interrupted saves as well. The token itself stays valid: the service documents no way
   * to revoke it except the admin's dashboard ([specification](docs/service.md#tokens)).
   * Restoring a backup of the storage brings the connection back, so remove it again afterwards.
   *
   * @throws ConnectionStoreError `storage_failed`
   * @throws InvalidArgumentError when `key` is not the key of a connection
   */
  async remove(key: string): Promise<void> {
    checkConnectionKey(key)
    await this.#settings.entries.removeAll(key)
  }

  /**
   * Returns a client for a connection, with its actor and scopes. The client reads the token before each attempt, so it
   * uses a new login immediately, including one in another process. After a revocation its calls reject with a
   * `ConnectionStoreError` (`not_connected`) before any request is sent, until there is a new login.
   *
   * @example
   * const workspace = await store.workspace(key, { actor: 'self' })
   * await workspace.messages.create(conversationId, { body_html: textToHtml('On it.') })
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection, or of one with another actor than `actor`
   */
  async workspace<A extends Actor = Actor>(key: string, options: WorkspaceOptions<A> = {}): Promise<WorkspaceOf<A>> {
    checkConnectionKey(key)
    checkWorkspaceOptions(options, key)
    return this.#workspaceOf(key, await this.#live.requireToken(key)) as WorkspaceOf<A>
  }

  #workspaceOf(
    key: string,
    { connection: { actor, scopes }, accessToken }: { readonly connection: Connection; readonly accessToken: string },
  ): SupportWorkspace<'app'> | SupportWorkspace<'self'> {
    const source = this.#live.tokenSource(key, [accessToken])
    const options = { ...this.#settings.clientOptions, scopes, accessToken: source, rateLimitKey: key }
    return actor === 'app'
      ? new SupportWorkspace({ ...options, actor: 'app' })
      : new SupportWorkspace({ ...options, actor: 'self' })
  }

  async #save(pending: Pending): Promise<Connection> {
    const { accessToken, grantedScopes } = pending
    const { entries, format } = this.#settings
    try {
      pending.connection ??= await this.#identity.identify(accessToken, grantedScopes)
      const { key } = pending.connection
      const metadata = pending.metadata ?? (await this.#metadataOf(key, accessToken))
      const connection = { ...pending.connection, ...(metadata !== undefined && { metadata }) }
      const value = await format.write({ connection, accessToken })
      const newer = await entries.redacting([accessToken]).write(key, value, pending.save)
      return newer === undefined ? connection : (await format.read(key, newer.value)).connection
    } catch (thrown) {
      if (!isSupportWorkspaceError(thrown)) throw thrown
      throw new ConnectionNotSavedError(`The connection was not saved: ${thrown.message}`, {
        reason: thrown instanceof ConnectionStoreError ? thrown.reason : 'me_failed',
        key: pending.connection?.key,
        cause: thrown,
        hint: 'The token is not lost: call `retry()` on this error.',
        retry: () => {
          pending.save.isRetry = true
          return this.#save(pending)
        },
      })
    }
  }

  /** Returns the metadata that a new login keeps. An unreadable entry is ignored, because it is about to be replaced. */
  async #metadataOf(key: string, accessToken: string): Promise<ConnectionMetadata | undefined> {
    const { value } = await tryRead(() => this.#live.read(key, [accessToken]))
    return value?.connection.metadata
  }
}

/** Returns a copy of the granted scopes. An empty list means that they are not known. */
function scopesOf({ scopes }: AccessToken): readonly string[] | undefined {
  return Array.isArray(scopes) && scopes.length > 0 ? [...scopes] : undefined
}
