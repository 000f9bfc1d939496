import { ConnectionStoreError } from '../../errors/connection-store-error.ts'
import { parseObject } from '../../http/json-object.ts'
import type { Me } from '../../models/me.ts'
import { createSealer, type Sealer, type SealSecret } from '../seal.ts'
import { type Connection, connectionOf } from './connection.ts'

/** A connection with its token: what an entry holds. */
export interface ConnectionRecord {
  readonly connection: Connection
  readonly accessToken: string
}

/**
 * Writes records as text and reads them again: sealed when there is a secret, plain JSON otherwise. A record tells which
 * service and connection it is for, so that an entry moved to another place in the storage is not taken for that one's.
 */
export class RecordFormat {
  readonly #service: string
  readonly #sealer: Sealer | undefined

  /** @throws InvalidArgumentError when a secret is too short. */
  constructor(service: string, secret: SealSecret | undefined) {
    this.#service = service
    this.#sealer = secret === undefined ? undefined : createSealer(secret, 'connection')
  }

  async write({ connection, accessToken }: ConnectionRecord): Promise<string> {
    const content = { service: this.#service, connection, accessToken }
    const form = this.#sealer === undefined ? { content } : { sealed: await this.#sealer.seal(content) }
    return JSON.stringify({ version: 1, ...form })
  }

  /** @throws ConnectionStoreError `entry_damaged`, `secret_unknown` */
  async read(key: string, value: unknown): Promise<ConnectionRecord> {
    const { version, content, sealed } = parseObject(value) ?? {}
    if (version !== 1) throw damagedEntry(key)
    const record = toRecord(sealed === undefined ? this.#plain(key, content) : await this.#open(key, sealed))
    if (record?.service !== this.#service || record.connection.key !== key) throw damagedEntry(key)
    return record
  }

  /** With a secret, a plain entry is refused: whoever can write to the storage could have put it there. */
  #plain(key: string, content: unknown): unknown {
    if (this.#sealer === undefined) return content
    throw damagedEntry(key, 'is not sealed, though the store has a secret')
  }

  async #open(key: string, sealed: unknown): Promise<unknown> {
    if (typeof sealed !== 'string') throw damagedEntry(key)
    if (this.#sealer === undefined) throw unknownSecret(key)
    const opened = await this.#sealer.open(sealed)
    if (opened.ok) return opened.value
    throw opened.failure === 'unknown-key' ? unknownSecret(key) : damagedEntry(key)
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
function toRecord(content: unknown): (ConnectionRecord & { readonly service: unknown }) | undefined {
  const { service, connection, accessToken } = parseObject(content) ?? {}
  const facts = parseObject(connection)
  if (facts === undefined || typeof accessToken !== 'string' || typeof facts.connectedAt !== 'number') return undefined
  try {
    return { service, accessToken, connection: connectionOf(facts as Me, undefined, facts.connectedAt) }
  } catch {
    return undefined
  }
}
