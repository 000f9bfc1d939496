// src/connections is the connection store, which keeps the tokens of logins and creates clients from them.
// `support-workspace-sdk/oauth` exports it.

import { SupportWorkspace } from '../client/index.ts'
import { type AccessTokenSource, joinHooks } from '../core/index.ts'
import { isLasting, isSupportWorkspaceError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { throwIfAborted } from '../shared/abort.ts'
import type { AccessToken } from '../shared/access-token.ts'
import type { Actor } from '../shared/actor.ts'
import { bindMethods } from '../shared/bind-methods.ts'
import { randomId } from '../shared/bytes.ts'
import { checkAccessToken } from '../shared/credentials.ts'
import { notify } from '../shared/notify.ts'
import type { Change } from '../storage/interface.ts'
import { type Connection, type ConnectionMetadata, checkMetadata } from './connection.ts'
import { type IdentifiedConnection, TokenIdentifier } from './connection-identity.ts'
import { checkConnectionKey, keyMatcher } from './connection-key.ts'
import { type ConnectionList, connectionList } from './connection-list.ts'
import { type ConnectionRecord, type Found, recordIn, requireRecord, requireToken } from './connection-record.ts'
import { ConnectionNotSavedError, ConnectionStoreError } from './connection-store-error.ts'
import {
  type ConnectionFilter,
  type ListConnectionsOptions,
  type ResealOptions,
  type ResealResult,
  readFilter,
  readListOptions,
  readResealOptions,
  readSaveOptions,
  readWorkspaceOptions,
  type SaveOptions,
  type WorkspaceOf,
  type WorkspaceOptions,
} from './method-options.ts'
import { type ConnectionStoreOptions, readStoreSettings, type StoreSettings } from './store-options.ts'

/** A token that is being saved. Only closures hold it, so that errors cannot reveal it. */
interface Save {
  readonly accessToken: string
  readonly grantedScopes: readonly string[] | undefined
  readonly metadata: ConnectionMetadata | undefined
  /** Random id of the login. */
  readonly login: string
  /** Time of the first attempt, in milliseconds since the Unix epoch. */
  readonly startedAt: number
  identity?: IdentifiedConnection
  /** The login that was found at the first attempt, once the storage has been read. */
  replaces?: { readonly login: string | undefined }
  /** A retry does not replace a login that was saved since the first attempt. */
  isRetry: boolean
}

/**
 * Stores one access token for each connection (app, organization, actor and, for `self`, user; see
 * [specification](docs/service.md#actors)), and creates clients that use it. A new login replaces the token of its
 * connection. A token that the service has revoked is removed.
 *
 * Use one store per service in each process. The tokens are only in the `storage`, which by default is in memory.
 *
 * @example
 * const store = new ConnectionStore({ baseUrl, storage, secret })
 * const { key } = await store.save(token)
 * const workspace = await store.workspace(key)
 * if (workspace.actor === 'self') await workspace.messages.create(id, { body_html: '<p>On it.</p>' })
 */
export class ConnectionStore {
  readonly #settings: StoreSettings
  readonly #identifier: TokenIdentifier
  /** The revocations being handled, by key and token. Calls that fail at the same time share one. */
  readonly #revocations = new Map<string, Promise<void>>()

  /** @throws InvalidArgumentError when an option is invalid */
  constructor(options: ConnectionStoreOptions) {
    this.#settings = readStoreSettings(options)
    this.#identifier = new TokenIdentifier(this.#settings)
    bindMethods(this)
  }

  /**
   * Calls `/me` to identify the token, and saves it in place of the previous token of its connection.
   *
   * A new login replaces the token and the scopes of its connection. Request every scope that your app needs in each
   * login, because a login with fewer scopes drops the scopes of an earlier login.
   *
   * @throws ConnectionNotSavedError when `/me` or the storage fails. The error keeps the token: call `retry()`.
   * @throws InvalidArgumentError before a request is sent, when the token or an option is invalid, or the token is of
   * another service or app.
   */
  async save(token: AccessToken | string, options: SaveOptions = {}): Promise<Connection> {
    const { metadata } = readSaveOptions(options)
    const accessToken = checkAccessToken(typeof token === 'string' ? token : token?.accessToken)
    if (typeof token !== 'string') this.#identifier.checkOrigin(token)
    return this.#save({
      accessToken,
      grantedScopes: typeof token === 'string' ? undefined : scopesOf(token),
      metadata,
      login: randomId(),
      startedAt: loginTime(),
      isRetry: false,
    })
  }

  /**
   * Returns the connection under a key. Undefined if the store does not have it.
   *
   * @throws ConnectionStoreError `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection
   */
  async get(key: string): Promise<Connection | undefined> {
    checkConnectionKey(key)
    return recordIn(await this.#settings.records.find(key))?.connection
  }

  /**
   * Lists the connections of this service, with only a few in memory. It reads the whole storage, page by page, so use
   * it for a page or at startup and not for each request. `toArray()` returns all of them, the oldest first.
   *
   * An iteration is in no particular order. It yields or reports a connection twice if the storage lists its key twice,
   * as Redis `SCAN` can while its table is resized. To limit its memory, the iteration does not remember keys.
   *
   * @throws ConnectionStoreError `storage_failed`, when it is iterated. For entries that cannot be read see
   * `onUnreadable`.
   * @throws InvalidArgumentError when the filter or an option is invalid
   *
   * @example
   * for await (const connection of store.list({ actor: 'app' })) console.log(connection.organization.name)
   * const oldestFirst = await store.list().toArray()
   */
  list(filter: ConnectionFilter = {}, options: ListConnectionsOptions = {}): ConnectionList {
    const copied = readFilter(filter)
    return connectionList(() => this.#list(copied), readListOptions(options))
  }

  /**
   * Replaces the metadata of a connection. `undefined` removes it. If two changes happen at the same time, the last one
   * stays.
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` or `metadata` is invalid: a connection key and a JSON object
   */
  async setMetadata(key: string, metadata: ConnectionMetadata | undefined): Promise<Connection> {
    checkConnectionKey(key)
    const checked = metadata === undefined ? undefined : checkMetadata(metadata)
    return this.#settings.records.update(key, (found) => {
      const record = requireRecord(key, found)
      const { metadata: _, ...rest } = record.connection
      return changed(record, { ...rest, ...(checked !== undefined && { metadata: checked }) })
    })
  }

  /**
   * Calls `/me` to check that the token of a connection still works, and saves its current names and scopes. If the
   * token was revoked, the connection is removed, as after any call.
   *
   * @throws AuthenticationError and the other errors of a call, when `/me` fails
   * @throws ConnectionStoreError `not_connected`, `identity_incomplete`, `identity_mismatch`, `storage_failed`,
   *   `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection
   */
  async verify(key: string): Promise<Connection> {
    checkConnectionKey(key)
    const { records } = this.#settings
    const { login, connection, accessToken } = requireToken(key, await records.find(key))
    const me = await this.#workspaceOf(key, connection).me()
    const identity = await this.#identifier.verify(me, key, accessToken)
    return records.update(key, (found) => {
      const record = requireToken(key, found)
      // A login in the meantime has called `/me` itself.
      if (record.login !== login) return { result: record.connection }
      return changed(record, { ...record.connection, ...identity } as Connection)
    })
  }

  /**
   * Encrypts with the first secret every entry that was encrypted with an older one. If `unreadable` is empty, you can
   * drop the older secrets. Concurrent saves are safe.
   *
   * @throws ConnectionStoreError `storage_failed`
   * @throws InvalidArgumentError when an option is invalid
   * @throws the abort reason of `signal`
   */
  async reseal(options: ResealOptions = {}): Promise<ResealResult> {
    const { onProgress, signal } = readResealOptions(options)
    let [checked, resealed] = [0, 0]
    const unreadable: ConnectionStoreError[] = []
    for await (const page of this.#settings.records.pages()) {
      for (const [key, text] of page) {
        throwIfAborted(signal)
        const result = await this.#reseal(key, text)
        checked += 1
        if (result === true) resealed += 1
        else if (result !== false) unreadable.push(result)
        notify(onProgress, { checked, resealed })
      }
    }
    return { checked, resealed, unreadable }
  }

  /**
   * Removes a connection and its token, if there is one. The token itself stays valid, because the service documents
   * only the admin's dashboard as a way to revoke it ([specification](docs/service.md#tokens)). Restoring a backup of
   * the storage brings the connection back, so remove it again afterwards.
   *
   * @throws ConnectionStoreError `storage_failed`
   * @throws InvalidArgumentError when `key` is not the key of a connection
   */
  async remove(key: string): Promise<void> {
    checkConnectionKey(key)
    await this.#settings.records.update(key, () => ({ write: null, result: undefined }))
  }

  /**
   * Returns a client for a connection, with its actor and scopes. The client reads the token before each attempt, so it
   * uses a new login immediately, including one in another process. After a revocation its calls reject with a
   * `ConnectionStoreError` (`not_connected`) before any request is sent, until there is a new login.
   *
   * `hooks` are called after the hooks of the store. By default, their events have the key as `context`.
   *
   * @example
   * const workspace = await store.workspace(key, { actor: 'self', timeout: 60_000 })
   * await workspace.messages.create(conversationId, { body_html: textToHtml('On it.') })
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection, or its actor differs from `actor`
   */
  async workspace<A extends Actor = Actor>(key: string, options: WorkspaceOptions<A> = {}): Promise<WorkspaceOf<A>> {
    checkConnectionKey(key)
    const changes = readWorkspaceOptions(options, key)
    const { connection } = requireToken(key, await this.#settings.records.find(key))
    const { hooks } = this.#settings.clientOptions
    const added = hooks && changes.hooks && { hooks: joinHooks(hooks, changes.hooks) }
    return this.#workspaceOf(key, connection).withOptions({ ...changes, ...added }) as WorkspaceOf<A>
  }

  /**
   * Returns the token of a connection. The command prints its own; everything else uses a client.
   *
   * @internal
   */
  async token(key: string): Promise<string> {
    checkConnectionKey(key)
    return requireToken(key, await this.#settings.records.find(key)).accessToken
  }

  #workspaceOf(key: string, { actor, scopes }: Connection): SupportWorkspace<'app'> | SupportWorkspace<'self'> {
    const accessToken: AccessTokenSource = {
      getAccessToken: () => this.token(key),
      onInvalidToken: (rejected) => this.#handleRevocation(key, rejected),
    }
    const options = { context: key, ...this.#settings.clientOptions, scopes, accessToken, rateLimitKey: key }
    return actor === 'app'
      ? new SupportWorkspace({ ...options, actor: 'app' })
      : new SupportWorkspace({ ...options, actor: 'self' })
  }

  async #save(save: Save): Promise<Connection> {
    const { accessToken, login, startedAt } = save
    try {
      save.identity ??= await this.#identifier.identify(accessToken, save.grantedScopes)
      const { identity } = save
      // A mark is replaced, and so is a record that cannot be read.
      return await this.#settings.records.update(identity.key, ({ record, mark }) => {
        if (record?.login === login || (save.isRetry && isNewer(record, save))) return { result: record.connection }
        save.replaces ??= { login: record?.login }
        const before = record ?? mark
        const metadata = save.metadata ?? record?.connection.metadata
        const connectedAt = Math.max(startedAt, (before?.connection.connectedAt ?? 0) + 1)
        const connection = { ...identity, connectedAt, ...(metadata !== undefined && { metadata }) }
        return changed({ login, accessToken, revocation: before?.revocation }, connection)
      })
    } catch (thrown) {
      const cause = isSupportWorkspaceError(thrown) ? thrown : safeCause(thrown, [accessToken])
      const hint = isLasting(cause) ? cause.hint : 'The token is not lost: call `retry()` on this error.'
      throw new ConnectionNotSavedError(`The connection was not saved: ${cause.message.replace(hint, '').trimEnd()}`, {
        reason: cause instanceof ConnectionStoreError ? cause.reason : 'me_failed',
        key: save.identity?.key,
        cause,
        hint,
        retry: () => {
          save.isRetry = true
          return this.#save(save)
        },
      })
    }
  }

  #handleRevocation(key: string, accessToken: string): Promise<void> {
    const name = `${key} ${accessToken}`
    let handling = this.#revocations.get(name)
    if (handling === undefined) {
      handling = this.#removeIfRevoked(key, accessToken).finally(() => this.#revocations.delete(name))
      this.#revocations.set(name, handling)
    }
    return handling
  }

  /**
   * Removes a connection in two steps: first marks it as revoked, then removes the mark. After a lost response, a write
   * is recognized by its text, and a removal alone would leave no text. The process that wrote the mark calls
   * `onRevoked`.
   */
  async #removeIfRevoked(key: string, accessToken: string): Promise<void> {
    const { records, keepRevoked, onRevoked } = this.#settings
    // Otherwise a new login has replaced the token, or its revocation has already been handled.
    if (recordIn(await records.find(key))?.accessToken !== accessToken) return
    // Asks the service again, so that a single wrong response does not remove a connection.
    if (!(await this.#identifier.isRevoked(accessToken))) return
    const revocation = randomId()
    let marking: Connection | undefined
    const revoked = await records.update(key, (found) => {
      const record = recordIn(found)
      // The write was applied although its response was lost, and another process has changed the record since.
      if (record?.revocation === revocation) return { result: marking }
      if (record?.accessToken !== accessToken) return { result: undefined }
      const connection = { ...record.connection, revokedAt: Date.now() }
      marking = keepRevoked ? connection : record.connection
      return { write: { connection, accessToken: undefined, login: record.login, revocation }, result: marking }
    })
    if (revoked === undefined) return
    try {
      if (!keepRevoked) {
        await records.update(key, ({ mark }) => ({
          write: mark?.revocation === revocation ? null : undefined,
          result: undefined,
        }))
      }
    } finally {
      await onRevoked?.(revoked)
    }
  }

  async *#list(filter: ConnectionFilter): AsyncGenerator<Found, void, undefined> {
    const { records } = this.#settings
    const isWanted = await keyMatcher(filter)
    for await (const page of records.pages()) {
      const wanted = page.filter(([key]) => isWanted(key))
      yield* await Promise.all(wanted.map(([key, text]) => records.open(key, text)))
    }
  }

  /** Returns whether the record was outdated and is encrypted again, or why it cannot be read. */
  async #reseal(key: string, listed: string): Promise<boolean | ConnectionStoreError> {
    const { records } = this.#settings
    const { record, mark = record, error } = await records.open(key, listed)
    if (mark?.outdated !== true) return error ?? false
    return records.update(key, ({ record, mark = record }) => {
      const isOutdated = mark?.outdated === true
      return { write: isOutdated ? mark : undefined, result: isOutdated }
    })
  }
}

/** Returns the change of a record to another connection, which is the result. */
function changed(
  record: Omit<ConnectionRecord, 'connection'>,
  connection: Connection,
): Change<Connection, ConnectionRecord> {
  return { write: { ...record, connection }, result: connection }
}

let lastLogin = 0

/** Returns the current time in milliseconds since the Unix epoch. Unique in a process, so that logins have an order. */
function loginTime(): number {
  lastLogin = Math.max(Date.now(), lastLogin + 1)
  return lastLogin
}

/** Whether the record's login was saved after the first attempt of this save. */
function isNewer(found: ConnectionRecord | undefined, { replaces, startedAt }: Save): found is ConnectionRecord {
  if (found?.accessToken === undefined) return false
  return replaces === undefined ? found.connection.connectedAt > startedAt : found.login !== replaces.login
}

/** Returns a copy of the granted scopes. An empty list means that they are unknown. */
function scopesOf({ scopes }: AccessToken): readonly string[] | undefined {
  return Array.isArray(scopes) && scopes.length > 0 ? [...scopes] : undefined
}
