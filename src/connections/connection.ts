import { InvalidArgumentError } from '../errors/index.ts'
import { isObject } from '../json.ts'
import type { Me } from '../models/me.ts'
import { connectionKey } from './connection-key.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

/** An application, organization or user of a connection. */
export interface ConnectionParty {
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
  readonly actor: 'app'
  readonly user?: undefined
}

/** A connection on behalf of a person. */
export interface SelfConnection extends CommonConnection {
  readonly actor: 'self'
  readonly user: ConnectionParty
}

/** What a token is bound to (specification, section 5, rule 5), without the token. Plain data, discriminated by `actor`. */
export type Connection = AppConnection | SelfConnection

/** The properties of a connection that do not come from `/me`. */
type ConnectionState = Pick<Connection, 'connectedAt' | 'revokedAt' | 'metadata'>

/**
 * Returns the connection that `/me` describes.
 *
 * @throws ConnectionStoreError `identity_incomplete`
 */
export async function connectionFromMe(
  me: Me,
  grantedScopes: readonly string[] | undefined,
  { connectedAt, revokedAt, metadata }: ConnectionState,
): Promise<Connection> {
  const actor: unknown = me.actor
  const application = party(me.application?.id, me.application?.name)
  const organization = party(me.organization?.id, me.organization?.display_name ?? me.organization?.name)
  const user = party(me.user?.id, me.user?.name)
  const scopes = me.scopes ?? grantedScopes
  const rest = {
    ...(Array.isArray(scopes) && { scopes: scopes.map(String) }),
    connectedAt,
    ...(revokedAt !== undefined && { revokedAt }),
    ...(metadata !== undefined && { metadata }),
  }
  if (application !== undefined && organization !== undefined) {
    const ids = { application: application.id, organization: organization.id }
    if (actor === 'app') {
      return { key: await connectionKey({ actor, ...ids }), application, organization, actor, ...rest }
    }
    if (actor === 'self' && user !== undefined) {
      const key = await connectionKey({ actor, ...ids, user: user.id })
      return { key, application, organization, actor, user, ...rest }
    }
  }
  const missing = [
    ...(application === undefined ? ['application'] : []),
    ...(organization === undefined ? ['organization'] : []),
    ...(actor !== 'app' && actor !== 'self' ? ['actor'] : []),
    ...(actor === 'self' && user === undefined ? ['user'] : []),
  ]
  throw new ConnectionStoreError(`\`/me\` does not name the token's ${missing.join(', ')}.`, {
    reason: 'identity_incomplete',
    hint: 'Without it the store could mix up connections. Keep this token yourself, and pass it to `new SupportWorkspace`.',
  })
}

/** Checks an id and a name, as responses are not validated. A lone surrogate has no UTF-8 encoding, so it cannot be in a key. */
function party(id: unknown, name: unknown): ConnectionParty | undefined {
  if (typeof id !== 'string' || id === '' || /\p{Surrogate}/u.test(id)) return undefined
  return { id, ...(typeof name === 'string' && name !== '' && { name }) }
}

/** Returns a JSON copy, so that values that JSON cannot represent are rejected or dropped now and not when reading. */
export function checkMetadata(metadata: unknown): ConnectionMetadata {
  const copy = isObject(metadata) ? jsonCopy(metadata) : undefined
  if (isObject(copy)) return copy
  throw new InvalidArgumentError(
    'metadata',
    '`metadata` must be a JSON object.',
    'Pass an object of strings, numbers, booleans, null, arrays and objects.',
  )
}

function jsonCopy(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch {
    return undefined
  }
}
