import { ConnectionStoreError } from '../../errors/connection-store-error.ts'
import type { AccessTokenSource } from '../../http/authorization.ts'
import type { Connection } from './connection.ts'
import type { ConnectionRecord } from './record.ts'
import type { StoreSettings } from './store-options.ts'

interface Found extends ConnectionRecord {
  /** The id of the entry. */
  readonly id: string
}

/** The connections of a store less those whose token the service has refused, and the reaction to a refusal. */
export class LiveConnections {
  readonly #settings: StoreSettings
  /** The running reaction to a refused token, by key and token, for all calls that fail together. */
  readonly #reactions = new Map<string, Promise<void>>()
  /** Entries with a refused token that are still in the storage, because their removal runs or has failed. */
  readonly #refused = new Map<string, 'being removed' | 'not removed'>()

  constructor(settings: StoreSettings) {
    this.#settings = settings
  }

  /** What is kept under the key; undefined when nothing is, or when its token was refused. */
  async read(key: string): Promise<Found | undefined> {
    const { entries, format } = this.#settings
    const entry = await entries.read(key)
    if (entry === undefined) return undefined
    if (!this.#refused.has(entry.id)) return { id: entry.id, ...(await format.read(key, entry.value)) }
    if (this.#refused.get(entry.id) === 'not removed') await this.#remove(key, entry.id)
    return undefined
  }

  /** @throws ConnectionStoreError `not_connected` and those of the storage */
  async require(key: string): Promise<Connection> {
    return (await this.#requireFound(key)).connection
  }

  /** What a client of the connection asks before each attempt, and tells after a 401 `invalid_token`. */
  tokenSource(key: string): AccessTokenSource {
    return {
      getAccessToken: async () => (await this.#requireFound(key)).accessToken,
      onInvalidToken: (accessToken) => this.#reactOnce(key, accessToken),
    }
  }

  async #requireFound(key: string): Promise<Found> {
    const found = await this.read(key)
    if (found !== undefined) return found
    throw new ConnectionStoreError(
      `There is no connection "${key}": it was never made, was removed, or the service has revoked it.`,
      { reason: 'not_connected', key, hint: 'Log in again and save the new token.' },
    )
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
    const found = await this.read(key)
    if (found === undefined || found.accessToken !== accessToken) return
    const failure = await this.#remove(key, found.id)
    await this.#settings.onRevoked?.(found.connection)
    if (failure !== undefined) throw failure
  }

  /** Gives what failed, if anything. Where the storage fails, this process does not use the entry again, and each read tries to remove it. */
  async #remove(key: string, id: string): Promise<unknown> {
    this.#refused.set(id, 'being removed')
    try {
      await this.#settings.entries.removeEntry(key, id)
      this.#refused.delete(id)
      return undefined
    } catch (failure) {
      this.#refused.set(id, 'not removed')
      return failure
    }
  }
}
