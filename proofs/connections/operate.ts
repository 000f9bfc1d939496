import type { Connection, ConnectionStore } from '../../src/oauth/index.ts'
import { type Action, view } from './model.ts'

/** Operates on the connection of an organization, and returns the result as the model writes it. */
export async function operate(
  store: ConnectionStore,
  organization: string,
  action: Exclude<Action, { do: 'retry' | 'refused' }>,
): Promise<string> {
  const key = `app.a.${organization}`
  const metadataOf = (m: string | undefined) => (m === undefined ? undefined : { m })
  switch (action.do) {
    case 'save':
      return nameIn(await store.save(action.token, { metadata: metadataOf(action.metadata) }))
    case 'setMetadata':
      return viewOf(await store.setMetadata(key, metadataOf(action.metadata)))
    case 'verify':
      return viewOf(await store.verify(key))
    case 'get':
      return viewOf(await store.get(key))
    case 'list':
      return viewOf((await store.list({ organization }).toArray())[0])
    case 'remove':
      await store.remove(key)
      return 'none'
    case 'reseal':
      await store.reseal()
      return 'none'
  }
}

export function nameIn(connection: Connection | undefined): string {
  return connection?.organization.name ?? ''
}

function viewOf(connection: Connection | undefined): string {
  if (connection === undefined) return view(undefined)
  const metadata = connection.metadata?.m as string | undefined
  return view({ name: nameIn(connection), metadata, isRevoked: connection.revokedAt !== undefined })
}
