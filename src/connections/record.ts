import { isObject, parseObject } from '../json.ts'
import type { Me } from '../models/me.ts'
import { createSealer, type Sealer, type SealSecret } from '../oauth/seal.ts'
import type { Connection } from './connection.ts'
import { connectionFromMe } from './connection-from-me.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

/** A connection with its token: the content of an entry. */
export interface ConnectionRecord {
  readonly connection: Connection
  /** Undefined if the connection is revoked. */
  readonly accessToken: string | undefined
}

/** A record read from the storage. */
export interface StoredRecord extends ConnectionRecord {
  /** Whether an older secret than the first sealed it. */
  readonly outdated: boolean
}

/** Where a store keeps its records. Stores that differ in any of these do not read each other's records. */
interface RecordOrigin {
  readonly prefix: string
  readonly service: string
}

/**
 * Writes and reads records as text: sealed if there is a secret, plain JSON otherwise. A record contains its prefix,
 * service and connection, so an entry copied to another place in the storage is rejected there.
 */
export class RecordFormat {
  readonly #origin: RecordOrigin
  readonly #sealer: Sealer | undefined

  /** @throws InvalidArgumentError when a secret is shorter than 32 characters */
  constructor({ prefix, service }: RecordOrigin, secret: SealSecret | undefined) {
    this.#origin = { prefix, service }
    this.#sealer = secret === undefined ? undefined : createSealer(secret, 'connection')
  }

  async write({ connection, accessToken }: ConnectionRecord): Promise<string> {
    const content = { ...this.#origin, connection, accessToken }
    const form = this.#sealer === undefined ? { content } : { sealed: await this.#sealer.seal(content) }
    return JSON.stringify({ version: 1, ...form })
  }

  /** @throws ConnectionStoreError `entry_damaged`, `secret_unknown` */
  async read(key: string, value: unknown): Promise<StoredRecord> {
    const { version, content, sealed } = parseObject(value) ?? {}
    if (version !== 1) throw damagedEntry(key)
    const { value: found, outdated } =
      sealed === undefined ? { value: this.#plain(key, content), outdated: false } : await this.#open(key, sealed)
    const record = await parseRecord(found)
    const { prefix, service } = this.#origin
    const isOwn = record?.prefix === prefix && record.service === service && record.connection.key === key
    if (!isOwn) throw damagedEntry(key)
    return { connection: record.connection, accessToken: record.accessToken, outdated }
  }

  /** With a secret, a plain entry is rejected: anyone who can write to the storage could have put it there. */
  #plain(key: string, content: unknown): unknown {
    if (this.#sealer === undefined) return content
    throw damagedEntry(key, 'is not sealed, although the store has a secret')
  }

  async #open(key: string, sealed: unknown): Promise<{ readonly value: unknown; readonly outdated: boolean }> {
    if (typeof sealed !== 'string') throw damagedEntry(key)
    if (this.#sealer === undefined) throw unknownSecret(key)
    const opened = await this.#sealer.open(sealed)
    if (opened.ok) return opened
    throw opened.failure === 'unknown-key' ? unknownSecret(key) : damagedEntry(key)
  }
}

export function damagedEntry(key: string, what = 'is damaged'): ConnectionStoreError {
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

/** Returns the content of an entry, with the connection rebuilt from its parts; undefined if it is invalid. */
async function parseRecord(
  content: unknown,
): Promise<(ConnectionRecord & { readonly [Name in keyof RecordOrigin]: unknown }) | undefined> {
  const { prefix, service, connection, accessToken } = parseObject(content) ?? {}
  const { connectedAt, revokedAt, metadata, ...me } = parseObject(connection) ?? {}
  if (typeof connectedAt !== 'number') return undefined
  const isRevoked = typeof revokedAt === 'number'
  if (isRevoked ? accessToken !== undefined : typeof accessToken !== 'string') return undefined
  try {
    return {
      prefix,
      service,
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
