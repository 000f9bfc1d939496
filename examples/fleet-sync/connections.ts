import { Redis } from 'ioredis'
import { ConnectionStore, type ConnectionStoreOptions } from 'support-workspace-sdk/oauth'
import { redisStorage } from 'support-workspace-sdk/storage'
import type { Settings } from './settings.ts'

export interface Connections {
  store: ConnectionStore
  close(): Promise<void>
}

/** Opens the connections of all organizations. They are in Redis, so every process sees a login and a revocation. */
export function openConnections(
  { baseUrl, redisUrl, storeSecret }: Settings,
  client: ConnectionStoreOptions['client'] = {},
): Connections {
  const redis = new Redis(redisUrl)
  redis.on('error', (error) => console.error(`Redis: ${error.message}`))
  const store = new ConnectionStore({
    baseUrl,
    storage: redisStorage(redis),
    secret: storeSecret,
    // A worker that finds a connection gone can then tell a revocation from a connection that was removed.
    keepRevoked: true,
    client: { ...client, appInfo: { name: 'fleet-sync' } },
  })
  return { store, close: async () => redis.disconnect() }
}
