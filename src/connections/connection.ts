import { InvalidArgumentError } from '../errors/index.ts'
import { isObject } from '../json.ts'
import type { Me } from '../models/me.ts'
import { connectionKey } from './connection-key.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

/** An application, organization or user of a connection. */
export interface ConnectionParty {
  readonly id: string
  /** Its name at the time of the login, for people to read; undefined when the service named none. */
  readonly name?: string | undefined
}

interface CommonConnection {
  /** Names the connection in this store: keep it with your own user or job. No secret; safe in URLs and cookies. */
  readonly key: string
  /** The app that the token was given to. */
  readonly application: ConnectionParty
  /** The organization that the token is bound to. */
  readonly organization: ConnectionParty
  /** The scopes of the token at the time of the login; undefined when nobody named them. */
  readonly scopes?: readonly string[] | undefined
  /** When the token was saved, in ms since the epoch. */
  readonly connectedAt: number
  /** When the service refused the token for good, in ms since the epoch. Only in a store with `keepRevoked`. */
  readonly revokedAt?: number | undefined
  /** Your own data about this connection: see `save` and `setMetadata`. */
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
  /** The person. */
  readonly user: ConnectionParty
}

/** What a token is bound to (specification, section 5, rule 5), without the token. Plain data, discriminated by `actor`. */
export type Connection = AppConnection | SelfConnection

/** What a connection has besides what `/me` says. */
export type ConnectionState = Pick<Connection, 'connectedAt' | 'revokedAt' | 'metadata'>

/**
 * Returns the connection that `/me` describes.
 *
 * @throws ConnectionStoreError `identity_incomplete`
 */
export async function connectionOf(
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
    hint: 'Connections would be mixed up without it: keep this token yourself, and pass it to `new SupportWorkspace`.',
  })
}

/** Answers are taken as sent, so nothing about them is certain. A lone surrogate has no bytes of its own to make a key of. */
function party(id: unknown, name: unknown): ConnectionParty | undefined {
  if (typeof id !== 'string' || id === '' || /\p{Surrogate}/u.test(id)) return undefined
  return { id, ...(typeof name === 'string' && name !== '' && { name }) }
}

/** A copy, as it will be read: what JSON cannot hold is refused or left out now, not found missing later. */
export function checkMetadata(metadata: unknown): ConnectionMetadata {
  const copy = isObject(metadata) ? jsonCopy(metadata) : undefined
  if (isObject(copy)) return copy
  throw new InvalidArgumentError(
    'metadata',
    '`metadata` must be a JSON object.',
    'Pass an object of strings, numbers, booleans, null, lists and objects.',
  )
}

function jsonCopy(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch {
    return undefined
  }
}
