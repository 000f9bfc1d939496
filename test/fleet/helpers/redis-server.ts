import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

export interface RedisServer {
  /** The path of its Unix socket. */
  readonly url: string
  /** Kills it with everything that it has, and starts an empty one after `pause` milliseconds. */
  crash(pause: number): Promise<void>
  close(): Promise<void>
}

/** Starts a Redis that keeps nothing on disk. */
export async function startRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-redis-'))
  const url = join(folder, 'redis.sock')
  let server: ChildProcess
  const start = async () => {
    const options = ['--port', '0', '--unixsocket', url, '--save', '', '--appendonly', 'no', '--dir', folder]
    server = spawn('redis-server', options, { stdio: 'ignore' })
    await once(server, 'spawn')
    const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
    client.on('error', () => {})
    await client.ping()
    client.disconnect()
  }
  const stop = async () => {
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
  }
  await start()
  return {
    url,
    crash: async (pause) => {
      await stop()
      await new Promise((resolve) => setTimeout(resolve, pause))
      await start()
    },
    close: async () => {
      await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
