// Opens the connection store of all organizations, and changes its secret.
import { createHmac } from 'node:crypto'
import { ConnectionStore, type ConnectionStoreOptions } from 'support-workspace-sdk/oauth'
import type { OpenDatabase } from './open-database.ts'
import { type Settings, SettingsError } from './settings.ts'
import type { Database, SettingTable } from './tables.ts'

/**
 * Opens the connections of all organizations. Give the same store to your login handlers.
 *
 * @throws SettingsError before anything is written, if this process could not read the entries of other processes.
 */
export async function openConnections(
  settings: Pick<Settings, 'baseUrl' | 'storeSecrets'>,
  { database, storage }: Pick<OpenDatabase, 'database' | 'storage'>,
  client: ConnectionStoreOptions['client'] = {},
): Promise<ConnectionStore> {
  await checkSettings(database, settings)
  return new ConnectionStore({
    baseUrl: settings.baseUrl,
    storage,
    secret: settings.storeSecrets,
    // Keeps revoked connections in the store, so that they differ from removed ones.
    keepRevoked: true,
    client: { ...client, appInfo: { name: 'fleet-sync' } },
  })
}

/** Saves the base URL and a mark of the secret, or throws if another process saved different ones. */
async function checkSettings(
  database: Database,
  { baseUrl, storeSecrets }: Pick<Settings, 'baseUrl' | 'storeSecrets'>,
) {
  const readable = { BASE_URL: [new URL(baseUrl).href], STORE_SECRET: storeSecrets.map(markOf) }
  const check = async () => {
    const rows = await database.selectFrom('settings').selectAll().execute()
    const wrong = rows.find(({ name, value }) => !readable[name].includes(value))
    if (wrong === undefined) return
    const hint =
      'Set the same. To change a secret, set both in STORE_SECRETS; for another service, use another database.'
    throw new SettingsError(`${wrong.name} is not that of the processes that use this database. ${hint}`)
  }
  await check()
  const values = Object.entries(readable).map(([name, [value]]) => ({ name, value }) as SettingTable)
  const insert = database.insertInto('settings').values(values)
  await insert.onConflict((conflict) => conflict.doNothing()).execute()
  // Another process might have started at the same time.
  await check()
}

/** Encrypts all tokens with the first secret. After that, the other secrets can be dropped. */
export async function reseal(
  database: Database,
  store: ConnectionStore,
  [first = '']: readonly string[],
): Promise<void> {
  const { unreadable } = await store.reseal()
  if (unreadable.length > 0)
    throw new Error(`${unreadable.length} connections cannot be read: ${unreadable[0]?.message}`)
  const others = database.deleteFrom('settings').where('name', '=', 'STORE_SECRET')
  await others.where('value', '<>', markOf(first)).execute()
}

/** Returns an HMAC, which shows whether two processes have the same secret but keeps the secret hidden. */
function markOf(secret: string): string {
  return createHmac('sha256', secret).update('fleet-sync').digest('base64url')
}
