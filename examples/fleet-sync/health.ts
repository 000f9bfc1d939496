// Serves `/health`, and starts a web server for it.
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { sql } from 'kysely'
import type { SyncQueue } from './queue.ts'
import { SettingsError } from './settings.ts'
import type { Database } from './tables.ts'

/** The database and the queue, which a process needs for its work. */
export interface HealthParts {
  readonly database: Database
  readonly queue: SyncQueue
}

/** Responds at `/health` with 503 while the database or Redis does not respond. A restart would not help. */
export function createHealthSite({ database, queue }: HealthParts): Hono {
  return new Hono().get('/health', async (context) => {
    const answers = await Promise.all([inTime(sql`SELECT 1`.execute(database)), inTime(queue.getJobCounts())])
    const [isDatabaseUp, isRedisUp] = answers.map((answer) => answer !== undefined)
    return context.json({ database: isDatabaseUp, redis: isRedisUp }, isDatabaseUp && isRedisUp ? 200 : 503)
  })
}

/** Returns undefined instead of an answer that fails or takes too long. While Redis is down, BullMQ waits for it. */
export function inTime<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return Promise.race([answer.catch(() => undefined), setTimeout(2_000, undefined, { ref: false })])
}

/**
 * Serves a site. `port` 0 selects a free one.
 *
 * @throws SettingsError if another program uses the port.
 */
export async function serveSite(
  { fetch }: Hono,
  { host, port, name = 'PORT' }: { readonly host: string; readonly port: number; readonly name?: string },
): Promise<{ url: string; close(): void }> {
  const server = serve({ fetch, port, hostname: host })
  await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject)).catch(
    (error) => {
      if (error.code !== 'EADDRINUSE') throw error
      throw new SettingsError(`${name} ${port} is in use. Set another, or 0 for any that is free.`)
    },
  )
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  }
}
