// Opens the storage that the query of this module's URL names, such as `?redis=/tmp/redis.sock`. Other processes import it too.
import { postgresStorage, redisStorage, sqliteStorage } from 'support-workspace-sdk/storage'
import type { OpenStorage } from '../../storage/contract.ts'

/** Each loads only its own client, because tests start many processes. */
const kinds: Readonly<Record<string, (address: string) => Promise<OpenStorage>>> = {
  sqlite: async (path) => sqliteStorage(path),
  redis: async (path) => {
    const { Redis } = await import('ioredis')
    const client = new Redis({ path })
    client.on('error', () => {})
    return { ...redisStorage(client), close: () => client.disconnect() }
  },
  'node-redis': async (path) => {
    const { createClient } = await import('redis')
    const client = createClient({ socket: { path, tls: false } })
    client.on('error', () => {})
    await client.connect()
    return { ...redisStorage(client), close: () => client.destroy() }
  },
  postgres: async (connectionString) => {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString, max: 4 })
    pool.on('error', () => {})
    return { ...postgresStorage(pool), close: () => pool.end() }
  },
}

/** Returns the URL of this module that opens a storage. */
export function moduleFor(kind: string, address: string): string {
  return `${import.meta.url.replace(/\?.*/, '')}?${new URLSearchParams({ [kind]: address })}`
}

export async function open(url = import.meta.url): Promise<OpenStorage> {
  const [kind = '', address = ''] = [...new URL(url).searchParams][0] ?? []
  const openKind = kinds[kind]
  if (openKind === undefined) throw new Error(`There is no storage "${kind}".`)
  return openKind(address)
}
