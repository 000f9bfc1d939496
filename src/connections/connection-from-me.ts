import type { Me } from '../models/me.ts'
import type { Connection, ConnectionParty } from './connection.ts'
import { connectionKey } from './connection-key.ts'
import { ConnectionStoreError } from './connection-store-error.ts'

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
    ...(Array.isArray(scopes) && { scopes: scopes.filter((scope) => typeof scope === 'string') }),
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
