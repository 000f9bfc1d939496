import type { ClientOptions } from '../../client-options.ts'
import { InvalidArgumentError } from '../../errors/index.ts'
import { readSettings } from '../../http/settings.ts'
import type { SealSecret } from '../seal.ts'
import type { Connection } from './connection.ts'
import { encode } from './connection-key.ts'
import { Entries } from './entries.ts'
import { RecordFormat } from './record.ts'
import { type ConnectionStorage, checkStorage, memoryStorage } from './storage.ts'

export interface ConnectionStoreOptions {
  /**
   * The service's address, as for a client. It is part of where connections are kept: a store for another address does
   * not see them, and so never sends their tokens there.
   */
  readonly baseUrl: string
  /** Where connections are kept. Default: in memory, gone with the process. */
  readonly storage?: ConnectionStorage | undefined
  /**
   * Seals the entries (AES-256-GCM): whoever reads the storage sees no token and no name. At least 32 characters, the same
   * in every process. Several for rotation: the first seals, every one opens. Keep an old one in the list until every
   * connection has logged in again, as entries are not sealed anew.
   *
   * Without it the storage holds the tokens in PLAIN TEXT, and with them the right to act for every connected
   * organization. Leave it out only for a storage in memory or for tests.
   */
  readonly secret?: SealSecret | undefined
  /**
   * What every storage key begins with, to share a storage: letters, digits, `_`, `-`, and `:` between parts.
   * @default 'connections'
   */
  readonly prefix?: string | undefined
  /**
   * The service has refused a connection's token (401 `invalid_token`), and the connection is removed: tell somebody to
   * log in again. Called once, however many calls fail together in this process; other processes that hear of it at the
   * same moment call theirs. Awaited before those calls reject, within their time limits; what it throws becomes the
   * `cause` of their `AuthenticationError`.
   *
   * Do not `remove` the connection here: somebody may have logged in again in the meantime.
   */
  readonly onRevoked?: ((connection: Connection) => void | Promise<void>) | undefined
  /** The options of every client that the store makes, and of its own `/me` call. */
  readonly client?: Omit<ClientOptions, 'baseUrl' | 'accessToken' | 'actor' | 'scopes'> | undefined
}

/** The checked options. */
export interface StoreSettings {
  readonly baseUrl: string
  readonly entries: Entries
  readonly format: RecordFormat
  readonly onRevoked: ConnectionStoreOptions['onRevoked']
  readonly client: NonNullable<ConnectionStoreOptions['client']>
}

export function readStoreSettings(options: ConnectionStoreOptions): StoreSettings {
  const { storage, secret, prefix = 'connections', onRevoked, client = {} } = options
  // What every client would refuse is refused here, before there is a token to lose.
  const { baseUrl: url } = readSettings({ ...client, baseUrl: options.baseUrl, accessToken: () => '' })
  const service = `${url.protocol.slice(0, -1)}.${url.host}${url.pathname.replace(/\/$/, '')}`
  return {
    baseUrl: url.href,
    entries: new Entries(
      storage === undefined ? memoryStorage() : checkStorage(storage),
      `${checkPrefix(prefix)}:${encode(service, '.')}`,
    ),
    format: new RecordFormat(service, secret),
    onRevoked,
    client,
  }
}

function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && /^[\w-]+(:[\w-]+)*$/.test(prefix)) return prefix
  throw new InvalidArgumentError(
    'prefix',
    '`prefix` would not survive as a storage key.',
    'Use letters, digits, `_` and `-`, with `:` between parts, for example "support:connections".',
  )
}
