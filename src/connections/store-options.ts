import { type ClientOptions, checkClientOptions as checkOptionsOfClient, settingsOf } from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { AdaptiveRateLimiter } from '../rate-limiter/index.ts'
import { type Check, checkFlag, checkFunction, checkPlain, checkText, readOptions } from '../shared/check-options.ts'
import type { SealSecret } from '../shared/seal.ts'
import { checkStorage, type KeyValueStorage, memoryStorage } from '../storage/interface.ts'
import type { Connection } from './connection.ts'
import type { IdentitySettings } from './connection-identity.ts'
import { encode } from './connection-key.ts'
import { RecordFormat } from './connection-record.ts'
import { ConnectionRecords } from './connection-records.ts'

/** The options of a `ConnectionStore`. */
export interface ConnectionStoreOptions {
  /**
   * The service's URL, as for a client. The URL is part of every storage key, so that a store for another URL cannot
   * see these connections and send their tokens there.
   */
  readonly baseUrl: string
  /**
   * The client id of your app. If set, `save` rejects a token for which `/me` names another client id, or none. By
   * default tokens of every app are accepted.
   */
  readonly clientId?: string | undefined
  /**
   * Where connections are kept: `sqliteStorage` for one machine, `redisStorage` or `postgresStorage` for several, or
   * your own.
   * @default `memoryStorage`, which ends with the process
   */
  readonly storage?: KeyValueStorage | undefined
  /**
   * Encrypts the entries (AES-256-GCM), so that tokens and names are unreadable in the storage. At least 32 characters,
   * and the same in every process. For rotation pass several: the first encrypts, and each of them can decrypt.
   * `reseal()` encrypts all entries with the first, after which you can drop the older secrets.
   *
   * **Warning:** Without a secret, everyone who can read the storage can act for every connected organization, because
   * the tokens are stored in PLAIN TEXT (as base64). Leave the secret out only for a storage in memory or for tests.
   */
  readonly secret?: SealSecret | undefined
  /**
   * The start of every storage key, to share a storage: letters, digits, `_`, `-`, and `:` between parts.
   * @default 'connections'
   */
  readonly prefix?: string | undefined
  /**
   * Called when the token of a connection was revoked and the connection has been removed, to ask for a new login. A
   * token counts as revoked after a 401 `invalid_token` that a call of `/me` with the same token confirms.
   *
   * Called once, in the process that removed the connection, even if many calls in several processes fail at the same
   * time. If that process ends between the removal and the call, the callback is not called. The failing calls of that
   * process wait for the callback, within their time limits, before they reject. If the callback throws an error, it
   * becomes the `cause` of their `AuthenticationError`.
   *
   * Do not `remove` the connection here, because there might already be a new login.
   */
  readonly onRevoked?: ((connection: Connection) => void | Promise<void>) | undefined
  /**
   * Whether a revoked connection stays in the store, without its token and with `revokedAt`, so that an app can show
   * it. `get` and `list` return it, `workspace` rejects with `not_connected`, and a new login replaces it. Stores
   * without this option hide such connections.
   * @default false
   */
  readonly keepRevoked?: boolean | undefined
  /**
   * The options of every client that the store creates, including the one that calls `/me`. All clients share one
   * `rateLimiter`, by default an `AdaptiveRateLimiter`, which limits each connection by its key.
   */
  readonly client?: Omit<ClientOptions, (typeof ownClientOptions)[number]> | undefined
}

/** The options of a client that the store sets itself. */
const ownClientOptions = ['baseUrl', 'accessToken', 'actor', 'scopes', 'rateLimitKey'] as const

const optionChecks = {
  // Checked with the options of the client.
  baseUrl: (_, url) => url as string,
  clientId: checkText,
  storage: (_, storage) => checkStorage(storage as KeyValueStorage),
  // Checked when its keys are derived.
  secret: (_, secret) => secret as SealSecret,
  prefix: checkPrefix,
  onRevoked: checkFunction<NonNullable<ConnectionStoreOptions['onRevoked']>>,
  keepRevoked: checkFlag,
  client: checkClientOptions,
} satisfies { readonly [Name in keyof ConnectionStoreOptions]-?: Check<unknown> }

/** The validated options. */
export interface StoreSettings extends IdentitySettings {
  readonly keepRevoked: boolean
  readonly records: ConnectionRecords
  readonly onRevoked: ConnectionStoreOptions['onRevoked']
}

export function readStoreSettings(options: ConnectionStoreOptions): StoreSettings {
  const given = readOptions(options, optionChecks, 'a connection store')
  const { clientId, storage, secret, prefix = 'connections', onRevoked, keepRevoked = false, client = {} } = given
  // Checks the client options now, so that they fail before a new token is saved.
  const { baseUrl: url } = settingsOf(
    checkOptionsOfClient({ ...client, baseUrl: options.baseUrl, accessToken: 'none' }),
  )
  const service = `${url.protocol.slice(0, -1)}.${url.host}${url.pathname.replace(/\/$/, '')}`
  const format = new RecordFormat({ prefix, service }, secret, keepRevoked)
  return {
    baseUrl: url.href.replace(/\/$/, ''),
    clientId,
    keepRevoked,
    records: new ConnectionRecords(storage ?? memoryStorage(), `${prefix}:${encode(service, '.')}`, format),
    onRevoked,
    clientOptions: { ...client, baseUrl: url.href, rateLimiter: client.rateLimiter ?? new AdaptiveRateLimiter() },
  }
}

function checkClientOptions(name: string, given: unknown): NonNullable<ConnectionStoreOptions['client']> {
  const client = checkPlain(name, given, 'Pass the options of a client, for example { timeout: 10_000 }.')
  const own = ownClientOptions.find((option) => option in client)
  if (own === undefined) return client
  throw new InvalidArgumentError(
    name,
    `\`client\` must not contain \`${own}\`, which the store sets.`,
    own === 'baseUrl' ? 'Pass `baseUrl` to the store.' : 'Leave it out.',
  )
}

function checkPrefix(name: string, prefix: unknown): string {
  if (typeof prefix === 'string' && prefix.length <= 200 && /^[\w-]+(:[\w-]+)*$/.test(prefix)) return prefix
  throw new InvalidArgumentError(
    name,
    '`prefix` must consist of letters, digits, `_` and `-`, with `:` between parts.',
    'Use at most 200 characters, for example "support:connections".',
  )
}
