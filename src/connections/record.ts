import type { Me } from '../client/index.ts'
import { randomId } from '../shared/bytes.ts'
import { isObject, parseObject } from '../shared/json.ts'
import { createSealer, type Sealer, type SealSecret } from '../shared/seal.ts'
import type { Connection } from './connection.ts'
import { ConnectionStoreError } from './connection-store-error.ts'
import { identityFromMe } from './identity.ts'

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

/** A record with a token. */
type LiveRecord = StoredRecord & { readonly accessToken: string }

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
export function requireToken(key: string, found: Found): LiveRecord {
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

/** The start of an unencrypted record. */
const plain = 'plain:'

/**
 * Writes and reads records as text, which is encrypted if there is a secret, and encoded JSON otherwise. Each text is
 * different, so a write can be recognized by its text. A record contains its prefix, service and connection, so a text
 * that is copied to another place in the storage is rejected there.
 */
export class RecordFormat {
  readonly #origin: RecordOrigin
  readonly #sealer: Sealer | undefined
  readonly #keepRevoked: boolean

  /**
   * @param keepRevoked whether the store shows a revoked connection as a record instead of removing it
   * @throws InvalidArgumentError when a secret is shorter than 32 characters
   */
  constructor({ prefix, service }: RecordOrigin, secret: SealSecret | undefined, keepRevoked: boolean) {
    this.#keepRevoked = keepRevoked
    this.#origin = { prefix, service }
    this.#sealer = secret === undefined ? undefined : createSealer(secret, 'connection')
  }

  async write({ connection, accessToken, login, revocation }: ConnectionRecord): Promise<string> {
    const content = { ...this.#origin, connection, accessToken, login, revocation }
    // An encrypted text has a random initialization vector.
    if (this.#sealer !== undefined) return this.#sealer.seal(content)
    return `${plain}${encode(JSON.stringify({ nonce: randomId(), ...content }))}`
  }

  async read(key: string, text: string): Promise<Found> {
    const isPlain = text.startsWith(plain)
    if (this.#sealer === undefined && !isPlain) {
      // An encrypted text is a compact JWE, which has five parts.
      return text.split('.').length === 5 ? unknownSecret(key) : damagedEntry(key)
    }
    // Anyone who can write to the storage could have put it there.
    if (this.#sealer !== undefined && isPlain)
      return damagedEntry(key, 'is not encrypted, although the store has a secret')
    const opened = await this.#sealer?.open(text)
    if (opened?.ok === false) return opened.failure === 'unknown-key' ? unknownSecret(key) : damagedEntry(key)
    try {
      const value = opened === undefined ? JSON.parse(decode(text.slice(plain.length))) : opened.value
      const record = { ...(await this.#parse(value, key)), outdated: opened?.outdated === true }
      return record.accessToken === undefined && !this.#keepRevoked ? { mark: record } : { record }
    } catch {
      return damagedEntry(key)
    }
  }

  /** Returns the record in a value, with the connection rebuilt from its parts. Throws if it is invalid. */
  async #parse(value: unknown, key: string): Promise<ConnectionRecord> {
    const { prefix, service, connection: stored, accessToken, login, revocation } = parseObject(value) ?? {}
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

/**
 * Returns a text as base64url. Errors of a storage can quote its entries, and a token there can be redacted only if it
 * is encoded. The encoding protects no secrets.
 */
function encode(text: string): string {
  return btoa(encodeURIComponent(text)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function decode(text: string): string {
  return decodeURIComponent(atob(text.replaceAll('-', '+').replaceAll('_', '/')))
}

function damagedEntry(key: string, what = 'is damaged'): Found {
  const error = new ConnectionStoreError(`The entry of the connection "${key}" ${what}.`, {
    reason: 'entry_damaged',
    key,
    hint: 'Log in again to replace it, or remove the connection.',
  })
  return { error }
}

function unknownSecret(key: string): Found {
  const error = new ConnectionStoreError(`The entry of the connection "${key}" is encrypted with an unknown secret.`, {
    reason: 'secret_unknown',
    key,
    hint: 'Add its secret to the list, after the newest one, or log in again.',
  })
  return { error }
}
