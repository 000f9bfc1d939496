// A command to manage organizations. KEY is the key of a connection, and the interval 0 means the default.
//
// npm run manage -- pause KEY | resume KEY | interval KEY SECONDS | sync KEY | erase KEY | reseal
import { openConnections, reseal } from './connections.ts'
import { openDatabase } from './open-database.ts'
import { leave } from './scheduler.ts'
import { readSettings } from './settings.ts'
import type { OrganizationTable } from './tables.ts'

const [command = '', key = '', seconds] = process.argv.slice(2)
const changes: Record<string, Partial<OrganizationTable>> = {
  pause: { paused: 1 },
  resume: { paused: 0 },
  interval: { interval: Number(seconds) * 1_000 || null },
  sync: { due_at: 0 },
  erase: { paused: 1 },
}
const change = changes[command]
if (change === undefined && command !== 'reseal') {
  throw new Error('Use pause, resume, interval, sync or erase, and the key of a connection; or reseal.')
}
if (command === 'interval' && !(Number(seconds) >= 0)) throw new Error('Give the interval in seconds.')
const settings = readSettings()
const opened = await openDatabase(settings.databaseUrl)
const { database, close } = opened
const store = await openConnections(settings, opened)
if (change === undefined) await reseal(database, store, settings.storeSecrets)
else {
  const update = database.updateTable('organizations').set(change).where('key', '=', key)
  const { numUpdatedRows } = await update.executeTakeFirst()
  if (numUpdatedRows === 0n) throw new Error(`There is no organization ${key}.`)
  if (command === 'erase') await leave(database, store, key)
}
await close()
