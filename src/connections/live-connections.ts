import type { AccessTokenSource } from '../http/options.ts'
import type { Connection } from './connection.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import type { ConnectionRecord, StoredRecord } from './record.ts'
import type { StoreSettings } from './store-options.ts'

interface Found extends StoredRecord {
  /** The id of the entry. */
  readonly id: string
}

/** The result of a read whose entry may be unreadable. All other failures are thrown. */
export type ReadResult<Value> =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: ConnectionStoreError }

/** Reads and changes the connections of a store, except revoked ones, and removes a connection when its token is revoked. */
export class LiveConnections {
  readonly #settings: StoreSettings
  readonly #isRevoked: (accessToken: string) => Promise<boolean>
  /** The revocations being handled, by key and token. Calls that fail at the same time share one. */
  readonly #revocations = new Map<string, Promise<void>>()
  /** Entries with a revoked token that are still in the storage, because their removal is in progress or has failed. */
  readonly #revoked = new Map<string, 'being removed' | 'not removed'>()
  /** The last change of each connection, by key. Changes run one after the other, so that none undoes another. */
  readonly #changes = new Map<string, Promise<unknown>>()

  /** @param isRevoked asks the service again, so that a single wrong response does not remove a connection */
  constructor(settings: StoreSettings, isRevoked: (accessToken: string) => Promise<boolean>) {
    this.#settings = settings
    this.#isRevoked = isRevoked
  }

  /**
   * Returns the record of a connection; undefined if there is none, or if its token was revoked.
   *
   * @param secrets tokens that no error may quote
   */
  async read(key: string, secrets: readonly string[] = []): Promise<Found | undefined> {
    const found = await this.#read(key, secrets)
    // A failure is ignored, because the older secret still opens the entry. While the connection is being changed, a read
    // does not wait: a later one reseals the entry.
    if (found?.outdated === true && !this.#changes.has(key))
      await this.change(key, found, (record) => record).catch(() => {})
    return found
  }

  /**
   * Seals an entry with the first secret if an older one sealed it. Returns whether it was.
   *
   * @throws ConnectionStoreError `storage_failed`, `secret_unknown`, `entry_damaged`
   */
  async reseal(key: string): Promise<boolean> {
    const found = await this.#read(key, [])
    if (found?.outdated === true) await this.change(key, found, (record) => record)
    return found?.outdated === true
  }

  /**
   * Changes the record of an entry. Returns the new connection; undefined if the entry is no longer the current one.
   *
   * @param current the entry that was read
   * @throws ConnectionStoreError `storage_failed`, `secret_unknown`, `entry_damaged`
   */
  async change(
    key: string,
    current: Found,
    edit: (record: ConnectionRecord) => ConnectionRecord,
  ): Promise<Connection | undefined> {
    return this.#inTurn(key, async () => {
      const found = await this.#read(key, tokensOf(current))
      return found?.id === current.id ? this.#rewrite(key, found, edit) : undefined
    })
  }

  /**
   * Changes the record of the entry that is current once all earlier changes are done.
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   */
  async changeCurrent(key: string, edit: (record: ConnectionRecord) => ConnectionRecord): Promise<Connection> {
    return this.#inTurn(key, async () => this.#rewrite(key, requireFound(key, await this.#read(key, [])), edit))
  }

  /** @throws ConnectionStoreError `not_connected` and those of the storage */
  async require(key: string, secrets: readonly string[] = []): Promise<Found> {
    return requireFound(key, await this.read(key, secrets))
  }

  /**
   * Returns the token source for a client of the connection. It remembers the last token, but only so that no error of the
   * storage quotes it.
   */
  tokenSource(key: string, secrets: readonly string[] = []): AccessTokenSource {
    let known = secrets
    return {
      getAccessToken: async () => {
        const { accessToken } = await this.requireToken(key, known)
        known = [accessToken]
        return accessToken
      },
      onInvalidToken: (accessToken) => this.#handleRevocation(key, accessToken),
    }
  }

  /** @throws ConnectionStoreError `not_connected` and those of the storage */
  async requireToken(key: string, secrets: readonly string[] = []): Promise<Found & { readonly accessToken: string }> {
    const { accessToken, ...found } = await this.require(key, secrets)
    if (accessToken !== undefined) return { ...found, accessToken }
    const since = new Date(found.connection.revokedAt ?? 0).toISOString()
    throw notConnected(key, `The token of the connection "${key}" was found revoked at ${since}.`)
  }

  async #read(key: string, secrets: readonly string[]): Promise<Found | undefined> {
    const { entries, format } = this.#settings
    const entry = await entries.redacting(secrets).read(key)
    if (entry === undefined) return undefined
    if (!this.#revoked.has(entry.id)) return { id: entry.id, ...(await format.read(key, entry.value)) }
    if (this.#revoked.get(entry.id) === 'not removed') await this.#remove(key, entry.id, secrets).catch(() => {})
    return undefined
  }

  async #rewrite(key: string, found: Found, edit: (record: ConnectionRecord) => ConnectionRecord): Promise<Connection> {
    const { entries, format } = this.#settings
    const { connection, accessToken } = edit(found)
    const value = await format.write({ connection, accessToken })
    await entries.redacting(tokensOf(found)).rewrite(key, found.id, value)
    return connection
  }

  /** Runs a change after all earlier changes of the same connection. */
  async #inTurn<Result>(key: string, change: () => Promise<Result>): Promise<Result> {
    const before = this.#changes.get(key)
    const running = before === undefined ? change() : before.catch(() => {}).then(change)
    this.#changes.set(key, running)
    try {
      return await running
    } finally {
      if (this.#changes.get(key) === running) this.#changes.delete(key)
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

  /** An error that this throws becomes the cause of the errors of the calls. */
  async #removeIfRevoked(key: string, accessToken: string): Promise<void> {
    const found = await this.read(key, [accessToken])
    // Otherwise a new login has replaced the token, or its revocation has already been handled.
    if (found === undefined || found.accessToken !== accessToken) return
    if (!(await this.#isRevoked(accessToken))) return
    if (this.#settings.keepRevoked) return this.#markRevoked(key, found)
    try {
      await this.#remove(key, found.id, [accessToken])
    } finally {
      await this.#settings.onRevoked?.(found.connection)
    }
  }

  async #markRevoked(key: string, found: Found): Promise<void> {
    const revoked = await this.change(key, found, ({ connection }) => ({
      connection: { ...connection, revokedAt: Date.now() },
      accessToken: undefined,
    }))
    if (revoked !== undefined) await this.#settings.onRevoked?.(revoked)
  }

  /** If the removal fails, this process no longer uses the entry, and every read tries to remove it again. */
  async #remove(key: string, id: string, secrets: readonly string[]): Promise<void> {
    this.#revoked.set(id, 'being removed')
    try {
      await this.#settings.entries.redacting(secrets).removeEntry(key, id)
      this.#revoked.delete(id)
    } catch (failure) {
      this.#revoked.set(id, 'not removed')
      throw failure
    }
  }
}

/** Returns the result of a read, or the error of an entry that cannot be read (`secret_unknown`, `entry_damaged`). */
export async function tryRead<Value>(read: () => Promise<Value>): Promise<ReadResult<Value>> {
  try {
    return { value: await read() }
  } catch (thrown) {
    if (thrown instanceof ConnectionStoreError && thrown.reason !== 'storage_failed') return { error: thrown }
    throw thrown
  }
}

/** @throws ConnectionStoreError `not_connected` */
function requireFound(key: string, found: Found | undefined): Found {
  if (found !== undefined) return found
  throw notConnected(key, `There is no connection "${key}": it never existed, was removed, or its token was revoked.`)
}

function tokensOf({ accessToken }: ConnectionRecord): readonly string[] {
  return accessToken === undefined ? [] : [accessToken]
}

function notConnected(key: string, message: string): ConnectionStoreError {
  return new ConnectionStoreError(message, {
    reason: 'not_connected',
    key,
    hint: 'Log in again and save the new token.',
  })
}
