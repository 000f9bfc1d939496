import type { Me } from '../client/index.ts'
import { isObject, type JsonObject, parseObject } from '../shared/json.ts'
import type { SealSecret } from '../shared/seal.ts'
import { type StoredTexts, storedTexts } from '../storage/interface.ts'
import type { Connection } from './connection.ts'
import { identityFromMe } from './connection-identity.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

/** A connection with its token: what the storage keeps under a key. */
export interface ConnectionRecord {
  readonly connection: Connection
  /** Undefined if the connection is revoked. */
  readonly accessToken: string | undefined
  /** Random id of the login. Two logins might have the same token. */
  readonly login: string
  /**
   * Random id of the last revocation. By this id, the process that wrote it recognizes its write after a lost response.
   * A later login keeps the id.
   */
  readonly revocation?: string | undefined
}

/** A record read from the storage. */
export interface StoredRecord extends ConnectionRecord {
  /** Whether the record was encrypted with an older secret than the first. */
  readonly outdated: boolean
}

/** The record under a key, or why it cannot be read. Empty if the storage has no record. */
export interface Found {
  readonly record?: StoredRecord
  /** The record of a revoked connection that is being removed. It counts as no connection. */
  readonly mark?: StoredRecord
  /** Why the record cannot be read: `secret_unknown` or `entry_damaged`. */
  readonly error?: ConnectionStoreError
}

/** @throws the error of a record that cannot be read */
export function recordIn({ record, error }: Found): StoredRecord | undefined {
  if (error !== undefined) throw error
  return record
}

/** @throws ConnectionStoreError `not_connected` if there is no record, or the error of an unreadable record */
export function requireRecord(key: string, found: Found): StoredRecord {
  const record = recordIn(found)
  if (record !== undefined) return record
  throw notConnected(key, `There is no connection "${key}": it never existed, was removed, or its token was revoked.`)
}

/** @throws ConnectionStoreError like `requireRecord`, and `not_connected` if the token was revoked */
export function requireToken(key: string, found: Found): StoredRecord & { readonly accessToken: string } {
  const { accessToken, ...record } = requireRecord(key, found)
  if (accessToken !== undefined) return { ...record, accessToken }
  const since = new Date(record.connection.revokedAt ?? 0).toISOString()
  throw notConnected(key, `The token of the connection "${key}" was found revoked at ${since}.`)
}

function notConnected(key: string, message: string): ConnectionStoreError {
  return new ConnectionStoreError(message, {
    reason: 'not_connected',
    key,
    hint: 'Log in again and save the new token.',
  })
}

/** Where a store keeps its records. A store reads only records with the same values. */
interface RecordOrigin {
  readonly prefix: string
  readonly service: string
}

/**
 * Writes and reads records as texts of a storage. A record contains its prefix, service and connection, so a text that is
 * copied to another place in the storage is rejected there.
 */
export class RecordFormat {
  readonly #origin: RecordOrigin
  readonly #texts: StoredTexts
  readonly #keepRevoked: boolean

  /**
   * @param keepRevoked whether the store shows a revoked connection as a record instead of removing it
   * @throws InvalidArgumentError when a secret is shorter than 32 characters
   */
  constructor({ prefix, service }: RecordOrigin, secret: SealSecret | undefined, keepRevoked: boolean) {
    this.#keepRevoked = keepRevoked
    this.#origin = { prefix, service }
    this.#texts = storedTexts(secret, 'connection')
  }

  write({ connection, accessToken, login, revocation }: ConnectionRecord): Promise<string> {
    const content = { ...this.#origin, connection, accessToken, login, revocation }
    return this.#texts.write(connection.key, content)
  }

  async read(key: string, text: string): Promise<Found> {
    const opened = await this.#texts.open(key, text)
    if ('failure' in opened) return { error: unreadable(key, opened.failure, opened.problem) }
    try {
      const record = { ...(await this.#parse(opened.content, key)), outdated: opened.outdated }
      return record.accessToken === undefined && !this.#keepRevoked ? { mark: record } : { record }
    } catch {
      return { error: unreadable(key, 'damaged', 'is damaged') }
    }
  }

  /** Returns the record in the content of a text, with the connection rebuilt from its parts. Throws if it is invalid. */
  async #parse(content: JsonObject, key: string): Promise<ConnectionRecord> {
    const { prefix, service, connection: stored, accessToken, login, revocation } = content
    const { connectedAt, revokedAt, metadata, ...me } = parseObject(stored) ?? {}
    const isRevoked = typeof revokedAt === 'number'
    const identity = await identityFromMe(me as Me)
    if (
      prefix !== this.#origin.prefix ||
      service !== this.#origin.service ||
      identity.key !== key ||
      typeof connectedAt !== 'number' ||
      typeof login !== 'string' ||
      typeof accessToken !== (isRevoked ? 'undefined' : 'string')
    )
      throw new TypeError('It is not a record of this store.')
    return {
      connection: {
        ...identity,
        connectedAt,
        ...(isRevoked && { revokedAt }),
        ...(isObject(metadata) && { metadata }),
      },
      accessToken: accessToken as string | undefined,
      login,
      revocation: revocation as string | undefined,
    }
  }
}

function unreadable(key: string, failure: 'damaged' | 'secret_unknown', problem: string): ConnectionStoreError {
  return new ConnectionStoreError(`The entry of the connection "${key}" ${problem}.`, {
    reason: failure === 'damaged' ? 'entry_damaged' : failure,
    key,
    hint:
      failure === 'damaged'
        ? 'Log in again to replace it, or remove the connection.'
        : 'Add its secret to the list, after the newest one, or log in again.',
  })
}
