import type { AccessTokenSource } from '../http/authorization.ts'
import type { Connection } from './connection.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import type { ConnectionRecord } from './record.ts'
import type { StoreSettings } from './store-options.ts'

interface Found extends ConnectionRecord {
  /** The id of the entry. */
  readonly id: string
  /** Whether the entry is sealed with another secret than the first. */
  readonly outdated: boolean
}

/** The connections of a store less those whose token the service has refused, and the reaction to a refusal. */
export class LiveConnections {
  readonly #settings: StoreSettings
  readonly #isRefused: (accessToken: string) => Promise<boolean>
  /** The running reaction to a refused token, by key and token, for all calls that fail together. */
  readonly #reactions = new Map<string, Promise<void>>()
  /** Entries with a refused token that are still in the storage, because their removal runs or has failed. */
  readonly #refused = new Map<string, 'being removed' | 'not removed'>()
  /** The last change of each connection, by key: they run one after the other, so that none undoes another. */
  readonly #changes = new Map<string, Promise<unknown>>()

  /** @param isRefused asks the service once more: one stray response must not cost a connection. */
  constructor(settings: StoreSettings, isRefused: (accessToken: string) => Promise<boolean>) {
    this.#settings = settings
    this.#isRefused = isRefused
  }

  /**
   * What is kept under the key; undefined when nothing is, or when its token was refused.
   *
   * @param secrets tokens that the caller knows and that no error may quote.
   */
  async read(key: string, secrets: readonly string[] = []): Promise<Found | undefined> {
    const found = await this.#read(key, secrets)
    // Who reads can do without it: the older secret still opens the entry.
    if (found?.outdated === true) await this.change(key, found, (record) => record).catch(() => {})
    return found
  }

  /**
   * Seals an entry with the first secret if it is sealed with another. Returns whether it was.
   *
   * @throws ConnectionStoreError `storage_failed`, `secret_unknown`, `entry_damaged`
   */
  async reseal(key: string): Promise<boolean> {
    const found = await this.#read(key, [])
    if (found?.outdated === true) await this.change(key, found, (record) => record)
    return found?.outdated === true
  }

  /**
   * Changes what an entry holds. Returns the connection afterwards; undefined when the entry is no longer the current one.
   *
   * @param current the entry, as it was read.
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
   * Changes what the current entry holds, whichever that is when the changes before this one are done.
   *
   * @throws ConnectionStoreError `not_connected`, `storage_failed`, `secret_unknown`, `entry_damaged`
   */
  async changeCurrent(key: string, edit: (record: ConnectionRecord) => ConnectionRecord): Promise<Connection> {
    return this.#inTurn(key, async () => this.#rewrite(key, present(key, await this.#read(key, [])), edit))
  }

  /** @throws ConnectionStoreError `not_connected` and those of the storage */
  async require(key: string, secrets: readonly string[] = []): Promise<Found> {
    return present(key, await this.read(key, secrets))
  }

  /** What a client of the connection asks before each attempt, and tells after a 401 `invalid_token`. */
  tokenSource(key: string): AccessTokenSource {
    return {
      getAccessToken: async () => (await this.requireToken(key)).accessToken,
      onInvalidToken: (accessToken) => this.#reactOnce(key, accessToken),
    }
  }

  /** @throws ConnectionStoreError `not_connected` and those of the storage */
  async requireToken(key: string): Promise<Found & { readonly accessToken: string }> {
    const { accessToken, ...found } = await this.require(key)
    if (accessToken !== undefined) return { ...found, accessToken }
    const since = new Date(found.connection.revokedAt ?? 0).toISOString()
    throw notConnected(key, `The connection "${key}" was found revoked at ${since}.`)
  }

  async #read(key: string, secrets: readonly string[]): Promise<Found | undefined> {
    const { entries, format } = this.#settings
    const entry = await entries.hiding(secrets).read(key)
    if (entry === undefined) return undefined
    if (!this.#refused.has(entry.id)) return { id: entry.id, ...(await format.read(key, entry.value)) }
    if (this.#refused.get(entry.id) === 'not removed') await this.#remove(key, entry.id, secrets)
    return undefined
  }

  async #rewrite(key: string, found: Found, edit: (record: ConnectionRecord) => ConnectionRecord): Promise<Connection> {
    const { entries, format } = this.#settings
    const { connection, accessToken } = edit(found)
    const value = await format.write({ connection, accessToken })
    await entries.hiding(tokensOf(found)).rewrite(key, found.id, value)
    return connection
  }

  /** Runs a change once those of the same connection that were asked for before are done. */
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

  #reactOnce(key: string, accessToken: string): Promise<void> {
    const name = `${key} ${accessToken}`
    let reaction = this.#reactions.get(name)
    if (reaction === undefined) {
      reaction = this.#react(key, accessToken).finally(() => this.#reactions.delete(name))
      this.#reactions.set(name, reaction)
    }
    return reaction
  }

  /**
   * A token that is no longer the connection's has a successor, or has been dealt with: nothing is left to do.
   * What this throws becomes the cause of the errors of the calls.
   */
  async #react(key: string, accessToken: string): Promise<void> {
    const found = await this.read(key, [accessToken])
    if (found === undefined || found.accessToken !== accessToken) return
    if (!(await this.#isRefused(accessToken))) return
    if (this.#settings.keepRevoked) return this.#markRevoked(key, found)
    const failure = await this.#remove(key, found.id, [accessToken])
    await this.#settings.onRevoked?.(found.connection)
    if (failure !== undefined) throw failure
  }

  async #markRevoked(key: string, found: Found): Promise<void> {
    const revoked = await this.change(key, found, ({ connection }) => ({
      connection: { ...connection, revokedAt: Date.now() },
      accessToken: undefined,
    }))
    if (revoked !== undefined) await this.#settings.onRevoked?.(revoked)
  }

  /** Returns what failed, if anything. Where the storage fails, this process does not use the entry again, and each read tries to remove it. */
  async #remove(key: string, id: string, secrets: readonly string[]): Promise<unknown> {
    this.#refused.set(id, 'being removed')
    try {
      await this.#settings.entries.hiding(secrets).removeEntry(key, id)
      this.#refused.delete(id)
      return undefined
    } catch (failure) {
      this.#refused.set(id, 'not removed')
      return failure
    }
  }
}

/** What was read, or the error of an entry that cannot be read: `secret_unknown`, `entry_damaged`. */
export async function orUnreadable<Value>(read: () => Promise<Value>): Promise<Value | ConnectionStoreError> {
  try {
    return await read()
  } catch (thrown) {
    if (thrown instanceof ConnectionStoreError && thrown.reason !== 'storage_failed') return thrown
    throw thrown
  }
}

/** @throws ConnectionStoreError `not_connected` */
function present(key: string, found: Found | undefined): Found {
  if (found !== undefined) return found
  throw notConnected(key, `There is no connection "${key}": it was never made, was removed, or was revoked.`)
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
