import { InvalidArgumentError } from '../errors/index.ts'

import { isObject, toJson } from '../shared/json.ts'

/** An application, organization or user of a connection. */
export interface ConnectionParty {
  /** The id, as `/me` returned it. */
  readonly id: string
  /** The display name at the time of the login. Undefined if the service returned none. */
  readonly name?: string | undefined
}

interface CommonConnection {
  /**
   * Identifies the connection in this store. Keep the key with your user or job. It can be in URLs and cookies, because
   * it is not a secret.
   */
  readonly key: string
  /** The app that the token was issued to. */
  readonly application: ConnectionParty
  /** The organization that the token is bound to. */
  readonly organization: ConnectionParty
  /** The scopes of the token at the time of the login. Undefined if unknown. */
  readonly scopes?: readonly string[] | undefined
  /** When the token was saved, in milliseconds since the Unix epoch. */
  readonly connectedAt: number
  /** When the token was found revoked, in milliseconds since the Unix epoch. Only in a store with `keepRevoked`. */
  readonly revokedAt?: number | undefined
  /** Your own data about this connection. See `save` and `setMetadata`. */
  readonly metadata?: ConnectionMetadata | undefined
}

/** Your own data about a connection: a JSON object. */
export type ConnectionMetadata = Readonly<Record<string, unknown>>

/** A connection of the app itself. */
export interface AppConnection extends CommonConnection {
  /** Discriminates the connections. */
  readonly actor: 'app'
  /** A connection of the app itself has no user. */
  readonly user?: undefined
}

/** A connection on behalf of a person. */
export interface SelfConnection extends CommonConnection {
  /** Discriminates the connections. */
  readonly actor: 'self'
  /** The user that the token acts as. */
  readonly user: ConnectionParty
}

/**
 * The app, organization, actor and user that a token is bound to ([specification](docs/service.md#actors)), without the
 * token. Plain data, discriminated by `actor`.
 */
export type Connection = AppConnection | SelfConnection

/** Returns a JSON copy. Values that JSON cannot represent are rejected. */
export function checkMetadata(metadata: unknown): ConnectionMetadata {
  const copy: unknown = isObject(metadata) ? JSON.parse(toJson('metadata', metadata) ?? 'null') : undefined
  if (isObject(copy)) return copy
  throw new InvalidArgumentError(
    'metadata',
    '`metadata` must be a JSON object.',
    'Pass an object of strings, numbers, booleans, null, arrays and objects.',
  )
}
