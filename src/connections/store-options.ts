import { checkFlag, checkObject, checkOptionalFunction, checkOptions, checkText } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import type { ClientOptions } from '../http/options.ts'
import { RetryAfterLimiter } from '../http/retry-after-limiter.ts'
import { readClientSettings } from '../http/settings.ts'
import type { SealSecret } from '../oauth/seal.ts'
import type { Connection } from './connection.ts'
import { encode } from './connection-key.ts'
import { KeyedStorage } from './keyed-storage.ts'
import { RecordFormat } from './record.ts'
import { type ConnectionStorage, checkStorage, memoryStorage } from './storage.ts'

/** The options of a `ConnectionStore`. */
export interface ConnectionStoreOptions {
  /**
   * The service's URL, as for a client. It is part of every storage key: a store for another URL does not see these
   * connections, and so never sends their tokens there.
   */
  readonly baseUrl: string
  /**
   * The client id of your app. If set, `save` rejects a token for which `/me` names another client id, or none. By
   * default tokens of every app are accepted.
   */
  readonly clientId?: string | undefined
  /**
   * Where connections are kept: `sqliteStorage` for one machine, `redisStorage` or `postgresStorage` for several, or your
   * own.
   * @default `memoryStorage`, which ends with the process
   */
  readonly storage?: ConnectionStorage | undefined
  /**
   * Encrypts the entries (AES-256-GCM), so that the storage reveals neither tokens nor names. At least 32 characters, and
   * the same in every process. For rotation pass several: the first seals, and each of them opens. `reseal()` seals all
   * entries with the first, after which the older secrets can be dropped.
   *
   * Without it the storage contains the tokens in PLAIN TEXT, and everyone who can read them can act for every connected
   * organization. Leave it out only for a storage in memory or for tests.
   */
  readonly secret?: SealSecret | undefined
  /**
   * The start of every storage key, to share a storage: letters, digits, `_`, `-`, and `:` between parts.
   * @default 'connections'
   */
  readonly prefix?: string | undefined
  /**
   * Called when the token of a connection was revoked and the connection has been removed, to ask for a new login. A token
   * counts as revoked after a 401 `invalid_token` that a call of `/me` with the same token confirms.
   *
   * Called once, in the process that removed the connection, even if many calls in several processes fail at the same
   * time. If that process ends between the removal and the call, it is not called at all. Awaited before the failing
   * calls of that process reject, within their time limits. An error that it throws becomes the `cause` of their
   * `AuthenticationError`.
   *
   * Do not `remove` the connection here: there may already be a new login.
   */
  readonly onRevoked?: ((connection: Connection) => void | Promise<void>) | undefined
  /**
   * Whether a revoked connection stays in the store, without its token and with `revokedAt`, so that an app can show it.
   * `get` and `list` return it, `workspace` rejects with `not_connected`, and a new login replaces it. A store without
   * this option does not show such connections.
   * @default false
   */
  readonly keepRevoked?: boolean | undefined
  /**
   * The options of every client that the store creates, including the one that calls `/me`. All clients share one
   * `rateLimiter`, by default a `RetryAfterLimiter`, which limits each connection by its key. Jobs that send a backlog are
   * faster with `client: { rateLimiter: new AdaptiveRateLimiter() }`.
   */
  readonly client?: Omit<ClientOptions, (typeof ownClientOptions)[number]> | undefined
}

const optionNames = {
  baseUrl: true,
  clientId: true,
  storage: true,
  secret: true,
  prefix: true,
  onRevoked: true,
  keepRevoked: true,
  client: true,
} satisfies Record<keyof ConnectionStoreOptions, true>

/** The options of a client that the store sets itself. */
const ownClientOptions = ['baseUrl', 'accessToken', 'actor', 'scopes', 'rateLimitKey'] as const

/** The validated options. */
export interface StoreSettings {
  readonly baseUrl: string
  readonly clientId: string | undefined
  readonly keepRevoked: boolean
  readonly storage: KeyedStorage
  readonly format: RecordFormat
  readonly onRevoked: ConnectionStoreOptions['onRevoked']
  /** The options of every client of the store, except its token, actor and scopes. */
  readonly clientOptions: Omit<ClientOptions, 'accessToken' | 'actor' | 'scopes' | 'rateLimitKey'>
}

export function readStoreSettings(options: ConnectionStoreOptions): StoreSettings {
  checkOptions('options', options, optionNames, 'a connection store')
  const { storage, secret, prefix = 'connections', onRevoked, keepRevoked, clientId, client = {} } = options
  checkClientOptions(client)
  // Invalid client options throw here, and not when a new token is saved.
  const { baseUrl: url } = readClientSettings({ ...client, baseUrl: options.baseUrl, accessToken: () => '' })
  const service = `${url.protocol.slice(0, -1)}.${url.host}${url.pathname.replace(/\/$/, '')}`
  return {
    baseUrl: url.href,
    clientId: clientId === undefined ? undefined : checkText('clientId', clientId),
    keepRevoked: checkFlag('keepRevoked', keepRevoked),
    storage: new KeyedStorage(
      storage === undefined ? memoryStorage() : checkStorage(storage),
      `${checkPrefix(prefix)}:${encode(service, '.')}`,
    ),
    format: new RecordFormat({ prefix, service }, secret),
    onRevoked: checkOptionalFunction('onRevoked', onRevoked),
    clientOptions: { ...client, baseUrl: url.href, rateLimiter: client.rateLimiter ?? new RetryAfterLimiter() },
  }
}

function checkClientOptions(client: unknown): void {
  checkObject('client', client, 'Pass the options of a client, for example { timeout: 10_000 }.')
  const own = ownClientOptions.find((name) => name in client)
  if (own === undefined) return
  throw new InvalidArgumentError(
    'client',
    `\`client\` must not contain \`${own}\`, which the store sets.`,
    own === 'baseUrl' ? 'Pass `baseUrl` to the store.' : 'Leave it out.',
  )
}

function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && prefix.length <= 200 && /^[\w-]+(:[\w-]+)*$/.test(prefix)) return prefix
  throw new InvalidArgumentError(
    'prefix',
    '`prefix` must consist of letters, digits, `_` and `-`, with `:` between parts.',
    'Use at most 200 characters, for example "support:connections".',
  )
}
