import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

export interface RunningRedis {
  /** A `redis://` URL, or the path of a Unix socket. */
  readonly url: string
  /** Stops the server if this process started it. */
  close(): Promise<void>
}

/** Returns the Redis of `REDIS_URL`, or the one of this machine. If there is none, starts one without persistence. */
export async function findRedis(): Promise<RunningRedis> {
  const close = async () => {}
  if (process.env.REDIS_URL) return { url: process.env.REDIS_URL, close }
  const local = 'redis://127.0.0.1:6379'
  return (await respondsAt(local)) ? { url: local, close } : startRedis()
}

async function respondsAt(url: string): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  try {
    return (await client.ping()) === 'PONG'
  } catch {
    return false
  } finally {
    client.disconnect()
  }
}

export async function startRedis(): Promise<RunningRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-redis-'))
  const url = join(folder, 'redis.sock')
  const options = ['--port', '0', '--unixsocket', url, '--save', '', '--appendonly', 'no', '--dir', folder]
  // In its own process group, so that Ctrl-C does not end it before the workers.
  const server = spawn('redis-server', options, { stdio: 'ignore', detached: true })
  // Unlike `once`, this does not reject as well if redis-server is not installed.
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()))
  const stop = () => {
    process.off('exit', stop)
    server.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  // If this process fails, nothing else stops the server.
  process.once('exit', stop)
  try {
    await once(server, 'spawn')
    while (!(await respondsAt(url))) if (server.exitCode !== null) throw new Error('redis-server ended.')
  } catch (error) {
    stop()
    const help = 'Install redis-server (for example `apt install redis-server`), or set REDIS_URL.'
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`There is no Redis at 127.0.0.1:6379, and redis-server did not start: ${reason}\n${help}`)
  }
  return {
    url,
    close: async () => {
      stop()
      await ended
    },
  }
}
