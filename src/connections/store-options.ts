import { InvalidArgumentError } from '../errors/index.ts'
import type { ClientOptions } from '../http/options.ts'
import { readClientSettings } from '../http/settings.ts'
import type { SealSecret } from '../oauth/seal.ts'
import type { Connection } from './connection.ts'
import { encode } from './connection-key.ts'
import { Entries } from './entries.ts'
import { RecordFormat } from './record.ts'
import { type ConnectionStorage, checkStorage, KeyedStorage, memoryStorage } from './storage.ts'

export interface ConnectionStoreOptions {
  /**
   * The service's address, as for a client. It is part of where connections are kept: a store for another address does
   * not see them, and so never sends their tokens there.
   */
  readonly baseUrl: string
  /**
   * The client id of your app. When set, `save` rejects a token for which `/me` names another client id, or none.
   * Defaults to accepting the tokens of every app.
   */
  readonly clientId?: string | undefined
  /** Where connections are kept. Default: in memory, gone with the process. */
  readonly storage?: ConnectionStorage | undefined
  /**
   * Seals the entries (AES-256-GCM): whoever reads the storage sees no token and no name. At least 32 characters, the same
   * in every process. Several for rotation: the first seals, every one opens. An entry sealed with an older one is sealed
   * with the first when it is read; `reseal()` does that for all, and then the older one can be dropped.
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
   * Called when the service has refused a connection's token (401 `invalid_token`, confirmed by one call of `/me` with
   * the same token) and the connection has been removed: tell somebody to log in again. Called once, however many calls fail together in this process; other processes that hear of it at the
   * same moment call theirs. Awaited before those calls reject, within their time limits; what it throws becomes the
   * `cause` of their `AuthenticationError`.
   *
   * Do not `remove` the connection here: somebody may have logged in again in the meantime.
   */
  readonly onRevoked?: ((connection: Connection) => void | Promise<void>) | undefined
  /**
   * Whether a revoked connection stays in the store, without its token and with `revokedAt`, so that an app can show it.
   * `get` and `list` return it; `workspace` rejects with `not_connected`. A new login replaces it. Defaults to false: it
   * is removed.
   */
  readonly keepRevoked?: boolean | undefined
  /** The options of every client that the store makes, and of its own `/me` call. */
  readonly client?: Omit<ClientOptions, 'baseUrl' | 'accessToken' | 'actor' | 'scopes'> | undefined
}

/** The checked options. */
export interface StoreSettings {
  readonly baseUrl: string
  readonly clientId: string | undefined
  readonly keepRevoked: boolean
  readonly entries: Entries
  readonly format: RecordFormat
  readonly onRevoked: ConnectionStoreOptions['onRevoked']
  /** The options of every client of the store, less its token and what is known about that. */
  readonly clientOptions: Omit<ClientOptions, 'accessToken' | 'actor' | 'scopes'>
}

export function readStoreSettings(options: ConnectionStoreOptions): StoreSettings {
  const { storage, secret, prefix = 'connections', onRevoked, keepRevoked = false, clientId, client = {} } = options
  // What every client would refuse is refused here, before there is a token to lose.
  const { baseUrl: url } = readClientSettings({ ...client, baseUrl: options.baseUrl, accessToken: () => '' })
  const service = `${url.protocol.slice(0, -1)}.${url.host}${url.pathname.replace(/\/$/, '')}`
  return {
    baseUrl: url.href,
    clientId: checkClientId(clientId),
    keepRevoked,
    entries: new Entries(
      new KeyedStorage(
        storage === undefined ? memoryStorage() : checkStorage(storage),
        `${checkPrefix(prefix)}:${inParts(encode(service, '.'))}`,
      ),
    ),
    format: new RecordFormat({ prefix, service }, secret),
    onRevoked,
    clientOptions: { ...client, baseUrl: url.href },
  }
}

/** In parts that file systems take as names. No later part can be taken for a connection key, as it begins with `-`. */
function inParts(text: string): string {
  return (text.match(/.{1,200}/g) ?? []).join(':-')
}

function checkClientId(clientId: unknown): string | undefined {
  if (clientId === undefined || (typeof clientId === 'string' && clientId !== '')) return clientId
  throw new InvalidArgumentError(
    'clientId',
    '`clientId` must be a non-empty string.',
    'Pass the client id of your app, or leave the option out.',
  )
}

function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && prefix.length <= 200 && /^[\w-]+(:[\w-]+)*$/.test(prefix)) return prefix
  throw new InvalidArgumentError(
    'prefix',
    '`prefix` would not survive as a storage key.',
    'Use at most 200 letters, digits, `_` and `-`, with `:` between parts, for example "support:connections".',
  )
}
