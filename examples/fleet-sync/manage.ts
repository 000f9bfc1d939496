// Commands for one organization, and `reseal` for all tokens.
//
//   npm run manage -- erase KEY | accept KEY | reseal
import { ChangeFeed } from 'support-workspace-sdk/changes'
import { openConnections } from './connections.ts'
import { closeDatabase, openDatabase } from './database.ts'
import { erase } from './organizations.ts'
import { readSettings } from './settings.ts'
import { feedStorage } from './sync-organization.ts'

/** @throws Error if the words are wrong, or something could not be done. */
export async function manage([command, key = '']: readonly string[], env?: NodeJS.ProcessEnv): Promise<void> {
  const settings = readSettings(env)
  const database = await openDatabase(settings.databaseUrl)
  try {
    const store = await openConnections(settings, database)
    if (command === 'reseal') {
      // Encrypts all tokens with the first secret. After that, the other secrets can be dropped.
      const { unreadable } = await store.reseal()
      if (unreadable.length === 0) return
      throw new Error(`${unreadable.length} connections cannot be read: ${unreadable[0]?.message}`)
    }
    if (command !== 'erase' && command !== 'accept') throw new Error('Use erase KEY, accept KEY or reseal.')
    const { rowCount } = await database.query('SELECT FROM organizations WHERE key = $1', [key])
    if (rowCount === 0) throw new Error(`There is no organization ${key}.`)
    if (command === 'erase') return await erase(database, store, key)
    // Lets the deletions through that the feed has held back, because many items were missing at once.
    const workspace = await store.workspace(key)
    await new ChangeFeed({ workspace, storage: feedStorage(database), name: key }).acceptDeletions()
  } finally {
    await closeDatabase(database)
  }
}

if (import.meta.main) await manage(process.argv.slice(2))
