import { isObject, parseObject } from '../json.ts'
import type { Me } from '../models/me.ts'
import { createSealer, type Sealer, type SealSecret } from '../oauth/seal.ts'
import { type Connection, connectionOf } from './connection.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

/** A connection with its token: what an entry holds. */
export interface ConnectionRecord {
  readonly connection: Connection
  /** Undefined once the connection is revoked. */
  readonly accessToken: string | undefined
}

/** A record from the storage. */
export interface StoredRecord extends ConnectionRecord {
  /** Whether it is sealed with another secret than the first. */
  readonly outdated: boolean
}

/** Where a store keeps its records: stores that differ in any of these do not read each other's. */
export interface RecordOrigin {
  readonly prefix: string
  readonly service: string
}

/**
 * Writes records as text and reads them again: sealed when there is a secret, plain JSON otherwise. A record names its
 * prefix, service and connection, so an entry copied to another place in the storage is rejected there.
 */
export class RecordFormat {
  readonly #origin: RecordOrigin
  /** The first secret, which seals. */
  readonly #sealer: Sealer | undefined
  /** All secrets, each of which opens. */
  readonly #opener: Sealer | undefined

  /** @throws InvalidArgumentError when a secret is too short. */
  constructor({ prefix, service }: RecordOrigin, secret: SealSecret | undefined) {
    this.#origin = { prefix, service }
    if (secret === undefined) return
    this.#opener = createSealer(secret, 'connection')
    this.#sealer = createSealer((typeof secret === 'string' ? secret : secret[0]) ?? '', 'connection')
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
    const record = await toRecord(found)
    const { prefix, service } = this.#origin
    const isOwn = record?.prefix === prefix && record.service === service && record.connection.key === key
    if (!isOwn) throw damagedEntry(key)
    return { connection: record.connection, accessToken: record.accessToken, outdated }
  }

  /** With a secret, a plain entry is refused: whoever can write to the storage could have put it there. */
  #plain(key: string, content: unknown): unknown {
    if (this.#sealer === undefined) return content
    throw damagedEntry(key, 'is not sealed, though the store has a secret')
  }

  async #open(key: string, sealed: unknown): Promise<{ readonly value: unknown; readonly outdated: boolean }> {
    if (typeof sealed !== 'string') throw damagedEntry(key)
    if (this.#sealer === undefined || this.#opener === undefined) throw unknownSecret(key)
    const opened = await this.#sealer.open(sealed)
    if (opened.ok) return { value: opened.value, outdated: false }
    const reopened = await this.#opener.open(sealed)
    if (reopened.ok) return { value: reopened.value, outdated: true }
    throw reopened.failure === 'unknown-key' ? unknownSecret(key) : damagedEntry(key)
  }
}

export function damagedEntry(key: string, what = 'is damaged'): ConnectionStoreError {
  return new ConnectionStoreError(`The entry of the connection "${key}" ${what}.`, {
    reason: 'entry_damaged',
    key,
    hint: 'Log in again, which writes it anew, or remove the connection.',
  })
}

function unknownSecret(key: string): ConnectionStoreError {
  return new ConnectionStoreError(
    `The entry of the connection "${key}" is sealed with a secret that is not known here.`,
    {
      reason: 'secret_unknown',
      key,
      hint: 'Pass that secret too, behind the newest one in the list, or log in again.',
    },
  )
}

/** The content of an entry, with the connection made anew from its parts; undefined when some are not there. */
async function toRecord(
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
      accessToken: typeof accessToken === 'string' ? accessToken : undefined,
      connection: await connectionOf(me as Me, undefined, {
        connectedAt,
        ...(isRevoked && { revokedAt }),
        metadata: isObject(metadata) ? metadata : undefined,
      }),
    }
  } catch {
    return undefined
  }
}
