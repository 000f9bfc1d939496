// Opens the connection store of all organizations.
import { ConnectionStore } from 'support-workspace-sdk/oauth'
import { postgresStorage } from 'support-workspace-sdk/storage'
import type { Database } from './database.ts'
import { type Settings, SettingsError } from './settings.ts'

/**
 * Opens the connections of all organizations. Give the same store to your login handlers.
 *
 * @throws SettingsError if the database has the connections of another service, or if none of them can be read. Otherwise
 * this process would stop every organization.
 */
export async function openConnections(
  { baseUrl, storeSecrets }: Pick<Settings, 'baseUrl' | 'storeSecrets'>,
  database: Database,
): Promise<ConnectionStore> {
  const url = new URL(baseUrl).href
  await database.query('INSERT INTO settings SELECT $1 WHERE NOT EXISTS (SELECT FROM settings)', [url])
  const { rows } = await database.query('SELECT base_url FROM settings')
  if (rows.some(({ base_url }) => base_url !== url))
    throw new SettingsError('BASE_URL is not that of the other processes. For another service, use another database.')
  const store = new ConnectionStore({
    baseUrl,
    storage: postgresStorage(database, { table: 'connections' }),
    secret: storeSecrets,
    // Keeps revoked connections in the store, so that they differ from removed ones.
    keepRevoked: true,
    client: { timeout: 15_000, appInfo: { name: 'fleet-sync' } },
  })
  let unreadable: Error | undefined
  const list = store.list({}, { onUnreadable: (error) => (unreadable ??= error) })
  for await (const _ of list) return store
  if (unreadable === undefined) return store
  throw new SettingsError(`No connection can be read with this STORE_SECRET. ${unreadable.message}`)
}
