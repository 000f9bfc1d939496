import { toHex } from '../bytes.ts'
import { isObject, parseObject } from '../json.ts'
import type { Me } from '../models/me.ts'
import { createSealer, type Sealer, type SealSecret } from '../oauth/seal.ts'
import type { Connection } from './connection.ts'
import { connectionFromMe } from './connection-from-me.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

/** A connection with its token: what the storage keeps under a key. */
export interface ConnectionRecord {
  readonly connection: Connection
  /** Undefined if the connection is revoked. */
  readonly accessToken: string | undefined
  /** Random id of the login. Two logins may have the same token. */
  readonly login: string
  /**
   * Random id of the last revocation. A login keeps it, so that the process that wrote it recognizes it after a lost response.
   */
  readonly revocation?: string | undefined
}

/** A record read from the storage. */
export interface StoredRecord extends ConnectionRecord {
  /** Whether an older secret than the first sealed it. */
  readonly outdated: boolean
}

/** The result of a read whose record may be unreadable. All other failures are thrown. */
export type ReadResult<Value> =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: ConnectionStoreError }

/** Where a store keeps its records. Stores that differ in any of these do not read each other's records. */
interface RecordOrigin {
  readonly prefix: string
  readonly service: string
}

/** The start of a record that is not sealed. A storage that parses JSON leaves it alone. */
const plain = 'plain:'

/**
 * Writes and reads records as text: sealed if there is a secret, JSON otherwise. No two texts are the same, so a write can be
 * recognized by its text. A record contains its prefix, service and connection, so a text copied to another place in the
 * storage is rejected there.
 */
export class RecordFormat {
  readonly #origin: RecordOrigin
  readonly #sealer: Sealer | undefined

  /** @throws InvalidArgumentError when a secret is shorter than 32 characters */
  constructor({ prefix, service }: RecordOrigin, secret: SealSecret | undefined) {
    this.#origin = { prefix, service }
    this.#sealer = secret === undefined ? undefined : createSealer(secret, 'connection')
  }

  async write({ connection, accessToken, login, revocation }: ConnectionRecord): Promise<string> {
    const content = { ...this.#origin, connection, accessToken, login, revocation }
    // A sealed text has a random initialization vector.
    if (this.#sealer !== undefined) return this.#sealer.seal(content)
    return `${plain}${JSON.stringify({ nonce: randomId(), ...content })}`
  }

  /** @throws ConnectionStoreError `entry_damaged`, `secret_unknown` */
  async read(key: string, text: string): Promise<StoredRecord> {
    const { value, outdated } = await this.#open(key, text)
    const record = await parseRecord(value)
    const { prefix, service } = this.#origin
    const isOwn = record?.prefix === prefix && record.service === service && record.connection.key === key
    if (!isOwn) throw damagedEntry(key)
    const { connection, accessToken, login, revocation } = record
    return { connection, accessToken, login, revocation, outdated }
  }

  /** With a secret, a plain record is rejected: anyone who can write to the storage could have put it there. */
  async #open(key: string, text: string): Promise<{ readonly value: unknown; readonly outdated: boolean }> {
    if (this.#sealer === undefined) {
      if (text.startsWith(plain)) return { value: text.slice(plain.length), outdated: false }
      throw looksSealed(text) ? unknownSecret(key) : damagedEntry(key)
    }
    if (text.startsWith(plain)) throw damagedEntry(key, 'is not sealed, although the store has a secret')
    const opened = await this.#sealer.open(text)
    if (opened.ok) return opened
    throw opened.failure === 'unknown-key' ? unknownSecret(key) : damagedEntry(key)
  }
}

/** Returns 80 random bits as hexadecimal digits. */
export function randomId(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(10)))
}

/** Returns the token in the text of a record, if it is there in plain. */
export function tokenIn(text: string | null): string {
  const token = text?.startsWith(plain) === true ? parseObject(text.slice(plain.length))?.accessToken : undefined
  return typeof token === 'string' ? token : ''
}

/** Returns the result of a read, or the error of a record that cannot be read (`secret_unknown`, `entry_damaged`). */
export async function tryRead<Value>(read: () => Promise<Value>): Promise<ReadResult<Value>> {
  try {
    return { value: await read() }
  } catch (thrown) {
    if (thrown instanceof ConnectionStoreError && thrown.reason !== 'storage_failed') return { error: thrown }
    throw thrown
  }
}

/** Whether a text is a compact JWE. */
function looksSealed(text: string): boolean {
  return /^[\w-]+(\.[\w-]*){4}$/.test(text)
}

function damagedEntry(key: string, what = 'is damaged'): ConnectionStoreError {
  return new ConnectionStoreError(`The entry of the connection "${key}" ${what}.`, {
    reason: 'entry_damaged',
    key,
    hint: 'Log in again to replace it, or remove the connection.',
  })
}

function unknownSecret(key: string): ConnectionStoreError {
  return new ConnectionStoreError(`The entry of the connection "${key}" is sealed with an unknown secret.`, {
    reason: 'secret_unknown',
    key,
    hint: 'Add its secret to the list, after the newest one, or log in again.',
  })
}

/** Returns the content of a record, with the connection rebuilt from its parts; undefined if it is invalid. */
async function parseRecord(
  content: unknown,
): Promise<(ConnectionRecord & { readonly [Name in keyof RecordOrigin]: unknown }) | undefined> {
  const { prefix, service, connection, accessToken, login, revocation } = parseObject(content) ?? {}
  const { connectedAt, revokedAt, metadata, ...me } = parseObject(connection) ?? {}
  if (typeof connectedAt !== 'number' || typeof login !== 'string') return undefined
  const isRevoked = typeof revokedAt === 'number'
  if (isRevoked ? accessToken !== undefined : typeof accessToken !== 'string') return undefined
  try {
    return {
      prefix,
      service,
      login,
      revocation: typeof revocation === 'string' ? revocation : undefined,
      accessToken: accessToken as string | undefined,
      connection: await connectionFromMe(me as Me, undefined, {
        connectedAt,
        ...(isRevoked && { revokedAt }),
        metadata: isObject(metadata) ? metadata : undefined,
      }),
    }
  } catch {
    return undefined
  }
}
