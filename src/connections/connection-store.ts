// src/connections is the connection store: it keeps the tokens of logins and creates clients from them. It imports
// src/client.ts, src/oauth, src/http and src/errors; it must not import src/sandbox, and none of them may import it.

import { throwIfAborted } from '../abort.ts'
import type { Actor } from '../actor.ts'
import { SupportWorkspace } from '../client.ts'
import { checkAccessToken } from '../credentials.ts'
import { isSupportWorkspaceError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import type { AccessTokenSource } from '../http/options.ts'
import { notify } from '../notify.ts'
import type { AccessToken } from '../oauth/access-token.ts'
import { type Connection, type ConnectionMetadata, checkMetadata } from './connection.ts'
import { checkConnectionKey, keyMatches } from './connection-key.ts'
import {
  type ConnectionFilter,
  ConnectionListing,
  copyFilter,
  copyListOptions,
  type ListConnectionsOptions,
  type ReadConnection,
} from './connection-list.ts'
import { ConnectionNotSavedError, ConnectionStoreError } from './connection-store-error.ts'
import { Identity } from './identity.ts'
import {
  checkWorkspaceOptions,
  type ResealOptions,
  type ResealResult,
  readResealOptions,
  readSaveOptions,
  type SaveOptions,
  type WorkspaceOf,
  type WorkspaceOptions,
} from './method-options.ts'
import { type ConnectionRecord, type ReadResult, randomId, tryRead } from './record.ts'
import { type ConnectionStoreOptions, readStoreSettings, type StoreSettings } from './store-options.ts'
import { Turns } from './turns.ts'
import { type Change, update } from './update.ts'

/** A token that is being saved. Only closures hold it, so that no error can reveal it. */
interface Save {
  readonly accessToken: string
  readonly grantedScopes: readonly string[] | undefined
  readonly metadata: ConnectionMetadata | undefined
  /** Random id of the login. */
  readonly login: string
  /** Time of the first attempt, in milliseconds since the Unix epoch. */
  readonly startedAt: number
  connection?: Connection
  /** The login that was found at the first attempt, once the storage has been read. */
  replaces?: { readonly login: string | undefined }
  /** A retry does not replace a login that was saved since the first attempt. */
  isRetry: boolean
}

/** A record with a token. */
type LiveRecord = ConnectionRecord & { readonly accessToken: string }

/** The number of connections resealed at the same time. Connection pools have limits. */
const parallelReseals = 16

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
  /** Changes of a connection run one after the other in this process, so that the last call wins. */
  readonly #turns = new Turns()
  /** The revocations being handled, by key and token. Calls that fail at the same time share one. */
  readonly #revocations = new Map<string, Promise<void>>()

  /** @throws InvalidArgumentError when an option is invalid */
  constructor(options: ConnectionStoreOptions) {
    this.#settings = readStoreSettings(options)
    this.#identity = new Identity(this.#settings)
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
      login: randomId(),
      startedAt: loginTime(),
      isRetry: false,
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
    return (await this.#read(key))?.connection
  }

  /**
   * Lists the connections of this service. `await` it for all of them, or iterate it with `for await` if there are many.
   * It reads the whole storage, page by page, so use it for a page or at startup and not for each request.
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
    return new ConnectionListing(() => this.#list(copied), copyListOptions(options))
  }

  /**
   * Replaces the metadata of a connection; `undefined` removes it. The last change wins.
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection, or `metadata` is not a JSON object
   */
  async setMetadata(key: string, metadata: ConnectionMetadata | undefined): Promise<Connection> {
    checkConnectionKey(key)
    const checked = metadata === undefined ? undefined : checkMetadata(metadata)
    return this.#update(key, async (text) => {
      const record = requireRecord(key, await this.#open(key, text))
      const { metadata: _, ...rest } = record.connection
      return this.#writing(record, { ...rest, ...(checked !== undefined && { metadata: checked }) })
    })
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
    const { accessToken, login, connection } = requireToken(key, await this.#read(key))
    const me = await this.#workspaceOf(key, connection, accessToken).me()
    const identity = await this.#identity.verify(me, key)
    return this.#update(
      key,
      async (text) => {
        const record = requireToken(key, await this.#open(key, text))
        // A login in the meantime has called `/me` itself.
        if (record.login !== login) return { result: record.connection }
        return this.#writing(record, { ...record.connection, ...identity } as Connection)
      },
      [accessToken],
    )
  }

  /**
   * Reseals every entry that an older secret sealed with the first secret. An older secret is no longer needed once no entry
   * is `unreadable`. Concurrent saves are safe.
   *
   * @throws ConnectionStoreError `storage_failed`
   * @throws InvalidArgumentError when an option is invalid
   * @throws the abort reason of `signal`
   */
  async reseal(options: ResealOptions = {}): Promise<ResealResult> {
    const { onProgress, signal } = readResealOptions(options)
    let [checked, resealed] = [0, 0]
    const unreadable: ConnectionStoreError[] = []
    for await (const page of this.#settings.storage.pages()) {
      for (let start = 0; start < page.length; start += parallelReseals) {
        throwIfAborted(signal)
        const some = page.slice(start, start + parallelReseals)
        for (const { value, error } of await Promise.all(some.map(([key, text]) => this.#reseal(key, text)))) {
          checked += 1
          if (error !== undefined) unreadable.push(error)
          else if (value) resealed += 1
          notify(() => onProgress?.({ checked, resealed }))
        }
      }
    }
    return { checked, resealed, unreadable }
  }

  /**
   * Removes a connection and its token; does nothing if there is none. The token itself stays valid: the service documents
   * no way to revoke it except the admin's dashboard ([specification](docs/service.md#tokens)). Restoring a backup of the
   * storage brings the connection back, so remove it again afterwards.
   *
   * @throws ConnectionStoreError `storage_failed`
   * @throws InvalidArgumentError when `key` is not the key of a connection
   */
  async remove(key: string): Promise<void> {
    checkConnectionKey(key)
    await this.#update(key, async () => ({ write: null, result: undefined }))
  }

  /**
   * Returns a client for a connection, with its actor and scopes. The client reads the token before each attempt, so it
   * uses a new login immediately, including one in another process. After a revocation its calls reject with a
   * `ConnectionStoreError` (`not_connected`) before any request is sent, until there is a new login.
   *
   * @example
   * const workspace = await store.workspace(key, { actor: 'self', timeout: 60_000 })
   * await workspace.messages.create(conversationId, { body_html: textToHtml('On it.') })
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   * @throws InvalidArgumentError when `key` is not the key of a connection, or of one with another actor than `actor`
   */
  async workspace<A extends Actor = Actor>(key: string, options: WorkspaceOptions<A> = {}): Promise<WorkspaceOf<A>> {
    checkConnectionKey(key)
    const changes = checkWorkspaceOptions(options, key)
    const { connection, accessToken } = requireToken(key, await this.#read(key))
    return this.#workspaceOf(key, connection, accessToken).withOptions(changes) as WorkspaceOf<A>
  }

  #workspaceOf(
    key: string,
    { actor, scopes }: Connection,
    accessToken: string,
  ): SupportWorkspace<'app'> | SupportWorkspace<'self'> {
    const source = this.#tokenSource(key, accessToken)
    const options = { ...this.#settings.clientOptions, scopes, accessToken: source, rateLimitKey: key }
    return actor === 'app'
      ? new SupportWorkspace({ ...options, actor: 'app' })
      : new SupportWorkspace({ ...options, actor: 'self' })
  }

  /** @param known remembered only so that no error of the storage quotes it */
  #tokenSource(key: string, known: string): AccessTokenSource {
    let last = known
    return {
      getAccessToken: async () => {
        const { accessToken } = requireToken(key, await this.#read(key, [last]))
        last = accessToken
        return accessToken
      },
      onInvalidToken: (accessToken) => this.#handleRevocation(key, accessToken),
    }
  }

  async #save(save: Save): Promise<Connection> {
    const { accessToken, login, startedAt } = save
    try {
      save.connection ??= await this.#identity.identify(accessToken, save.grantedScopes, startedAt)
      const identified = save.connection
      const decide = async (text: string | null): Promise<Change<Connection>> => {
        // An unreadable record is ignored, because it is about to be replaced.
        const { value: record } = await tryRead(() => this.#decode(identified.key, text))
        const found = this.#isHidden(record) ? undefined : record
        if (found?.login === login || (save.isRetry && isNewer(found, save))) return { result: found.connection }
        save.replaces ??= { login: found?.login }
        const metadata = save.metadata ?? found?.connection.metadata
        return this.#writing(
          { login, accessToken, revocation: record?.revocation },
          {
            ...identified,
            connectedAt: Math.max(startedAt, (record?.connection.connectedAt ?? 0) + 1),
            ...(metadata !== undefined && { metadata }),
          },
        )
      }
      return await this.#update(identified.key, decide, [accessToken])
    } catch (thrown) {
      const cause = isSupportWorkspaceError(thrown) ? thrown : safeCause(thrown, [accessToken])
      throw new ConnectionNotSavedError(`The connection was not saved: ${cause.message}`, {
        reason: cause instanceof ConnectionStoreError ? cause.reason : 'me_failed',
        key: save.connection?.key,
        cause,
        hint: 'The token is not lost: call `retry()` on this error.',
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
   * Removes a connection in two steps, because of all writes only a removal leaves no text by which it can be recognized
   * after a lost response. The process that marked the connection as revoked calls `onRevoked`.
   */
  async #removeIfRevoked(key: string, accessToken: string): Promise<void> {
    const { storage, format, keepRevoked, onRevoked } = this.#settings
    // Otherwise a new login has replaced the token, or its revocation has already been handled.
    if ((await this.#read(key, [accessToken]))?.accessToken !== accessToken) return
    // Asks the service again, so that a single wrong response does not remove a connection.
    if (!(await this.#identity.isRevoked(accessToken))) return
    const revocation = randomId()
    let marking: { readonly connection: Connection; readonly mark: string } | undefined
    const revoked = await this.#update(
      key,
      async (text) => {
        const found = await this.#open(key, text)
        // Written, although its response was lost, and changed since.
        if (marking !== undefined && found?.revocation === revocation) return { result: marking }
        if (found?.accessToken !== accessToken) return { result: undefined }
        const { connection, login } = found
        const kept = { ...connection, revokedAt: Date.now() }
        const mark = await format.write({ connection: kept, accessToken: undefined, login, revocation })
        marking = { connection: keepRevoked ? kept : connection, mark }
        return { write: mark, result: marking }
      },
      [accessToken],
    )
    if (revoked === undefined) return
    try {
      if (!keepRevoked) await storage.redacting([accessToken]).compareAndSet(key, revoked.mark, null)
    } finally {
      await onRevoked?.(revoked.connection)
    }
  }

  async *#list(filter: ConnectionFilter): AsyncGenerator<ReadConnection, void, undefined> {
    for await (const page of this.#settings.storage.pages()) {
      const matches = await Promise.all(page.map(([key]) => keyMatches(key, filter)))
      const wanted = page.filter((_, index) => matches[index])
      const read = wanted.map(([key, text]) => tryRead(async () => (await this.#open(key, text))?.connection))
      yield* await Promise.all(read)
    }
  }

  #reseal(key: string, listed: string): Promise<ReadResult<boolean>> {
    const decide = async (text: string | null): Promise<Change<boolean>> => {
      const record = text === null ? undefined : await this.#settings.format.read(key, text)
      if (record?.outdated !== true) return { result: false }
      return { write: await this.#settings.format.write(record), result: true }
    }
    return tryRead(() => this.#update(key, decide, [], listed))
  }

  async #read(key: string, secrets: readonly string[] = []): Promise<ConnectionRecord | undefined> {
    return this.#open(key, await this.#settings.storage.redacting(secrets).get(key))
  }

  /** Returns the record in a text; undefined if there is none, or if it is the mark of a removal. */
  async #open(key: string, text: string | null): Promise<ConnectionRecord | undefined> {
    const record = await this.#decode(key, text)
    return this.#isHidden(record) ? undefined : record
  }

  async #decode(key: string, text: string | null): Promise<ConnectionRecord | undefined> {
    return text === null ? undefined : this.#settings.format.read(key, text)
  }

  #isHidden(record: ConnectionRecord | undefined): boolean {
    return record?.connection.revokedAt !== undefined && !this.#settings.keepRevoked
  }

  #update<Result>(
    key: string,
    decide: (text: string | null) => Promise<Change<Result>>,
    secrets: readonly string[] = [],
    known?: string,
  ): Promise<Result> {
    return this.#turns.run(key, () => update(this.#settings.storage.redacting(secrets), key, decide, known))
  }

  async #writing(record: Omit<ConnectionRecord, 'connection'>, connection: Connection): Promise<Change<Connection>> {
    return { write: await this.#settings.format.write({ ...record, connection }), result: connection }
  }
}

let lastLogin = 0

/** Returns the current time in milliseconds since the Unix epoch. Unique in a process, so that logins have an order. */
function loginTime(): number {
  lastLogin = Math.max(Date.now(), lastLogin + 1)
  return lastLogin
}

/** Whether a record is of a login that was saved since the first attempt of a save. */
function isNewer(found: ConnectionRecord | undefined, { replaces, startedAt }: Save): found is ConnectionRecord {
  if (found?.accessToken === undefined) return false
  return replaces === undefined ? found.connection.connectedAt > startedAt : found.login !== replaces.login
}

/** @throws ConnectionStoreError `not_connected` if there is no record */
function requireRecord(key: string, record: ConnectionRecord | undefined): ConnectionRecord {
  if (record !== undefined) return record
  throw notConnected(key, `There is no connection "${key}": it never existed, was removed, or its token was revoked.`)
}

/** @throws ConnectionStoreError `not_connected` if there is no record, or its token was revoked */
function requireToken(key: string, record: ConnectionRecord | undefined): LiveRecord {
  const { accessToken, ...found } = requireRecord(key, record)
  if (accessToken !== undefined) return { ...found, accessToken }
  const since = new Date(found.connection.revokedAt ?? 0).toISOString()
  throw notConnected(key, `The token of the connection "${key}" was found revoked at ${since}.`)
}

function notConnected(key: string, message: string): ConnectionStoreError {
  return new ConnectionStoreError(message, {
    reason: 'not_connected',
    key,
    hint: 'Log in again and save the new token.',
  })
}

/** Returns a copy of the granted scopes. An empty list means that they are not known. */
function scopesOf({ scopes }: AccessToken): readonly string[] | undefined {
  return Array.isArray(scopes) && scopes.length > 0 ? [...scopes] : undefined
}
