import { InvalidArgumentError } from '../shared/errors/index.ts'

import { isObject, toJson } from '../shared/json.ts'

/** An application, organization or user of a connection. */
export interface ConnectionParty {
  /** The id, as `/me` returned it. */
  readonly id: string
  /** The display name at the time of the login. Undefined if the service returned none. */
  readonly name?: string | undefined
}

interface CommonConnection {
  /** Identifies the connection in this store. Keep it with your user or job. Not a secret; safe in URLs and cookies. */
  readonly key: string
  /** The app that the token was issued to. */
  readonly application: ConnectionParty
  /** The organization that the token is bound to. */
  readonly organization: ConnectionParty
  /** The scopes of the token at the time of the login. Undefined if they are not known. */
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
  /** The token acts as the app. */
  readonly actor: 'app'
  /** Absent, because the token has no user. */
  readonly user?: undefined
}

/** A connection on behalf of a person. */
export interface SelfConnection extends CommonConnection {
  /** The token acts as a person. */
  readonly actor: 'self'
  /** The person that the token acts as. */
  readonly user: ConnectionParty
}

/**
 * The app, organization, actor and user of a stored token ([specification](docs/service.md#actors)), without the token.
 * Plain data, discriminated by `actor`.
 */
export type Connection = AppConnection | SelfConnection

/** Returns a JSON copy. Rejects values that JSON would silently change. */
export function checkMetadata(metadata: unknown): ConnectionMetadata {
  const copy: unknown = isObject(metadata) ? JSON.parse(toJson('metadata', metadata) ?? 'null') : undefined
  if (isObject(copy)) return copy
  throw new InvalidArgumentError(
    'metadata',
    '`metadata` must be a JSON object.',
    'Pass an object of strings, numbers, booleans, null, arrays and objects.',
  )
}
