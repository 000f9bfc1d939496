// npm run manage -- pause KEY | resume KEY | interval KEY SECONDS (0: that of the others) | sync KEY | erase KEY
import { openConnections, openDatabase } from './open-database.ts'
import { leave } from './scheduler.ts'
import { readSettings } from './settings.ts'
import type { OrganizationTable } from './tables.ts'

const [command = '', key = '', seconds] = process.argv.slice(2)
const changes: Record<string, Partial<OrganizationTable>> = {
  pause: { paused: 1 },
  resume: { paused: 0 },
  interval: { interval: Number(seconds) * 1_000 || null },
  sync: { due_at: 0 },
  // Nothing is read again before it is erased.
  erase: { paused: 1 },
}
const change = changes[command]
if (change === undefined) throw new Error('Use pause, resume, interval, sync or erase, and the key of a connection.')
if (command === 'interval' && !(Number(seconds) >= 0)) throw new Error('Give the interval in seconds.')
const settings = readSettings()
const { database, storage, close } = await openDatabase(settings.databaseUrl)
const update = database.updateTable('organizations').set(change).where('key', '=', key)
const { numUpdatedRows } = await update.executeTakeFirst()
if (numUpdatedRows === 0n) throw new Error(`There is no organization ${key}.`)
if (command === 'erase') await leave(database, openConnections(settings, storage), key)
await close()
