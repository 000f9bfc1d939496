import { spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'

export interface RedisServer {
  /** The path of the Unix socket. The server has no port. */
  readonly path: string
  readonly close: () => Promise<void>
}

/** Describes tests that need a `redis-server`. Without one they are skipped, or fail with `REQUIRE_REDIS=1`. */
export function describeOnRedis(file: string, tests: (binary: string) => void): void {
  const binary = findRedis()
  const required = process.env.REQUIRE_REDIS === '1'
  test.runIf(required)('finds the redis-server that REQUIRE_REDIS requires', () => {
    expect(binary, 'redis-server is not in the PATH').toMatch(/redis-server$/)
  })
  if (binary === undefined && !required) {
    console.warn(
      `Skipped ${file}: redis-server is not in the PATH. To run it: apt-get install redis-server. To fail without it: REQUIRE_REDIS=1.`,
    )
  }
  describe.skipIf(binary === undefined)('on a Redis server', () => tests(binary ?? ''))
}

/** The path of `redis-server`; undefined if it is not installed. */
export function findRedis(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'redis-server'))
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Starts a server without persistence, and waits until it accepts connections. */
export async function startRedis(binary: string): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'redis-'))
  const path = join(folder, 'redis.sock')
  const options = ['--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no', '--dir', folder]
  const server = spawn(binary, options, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    void ended.then(() => reject(new Error(`redis-server ended before it was ready:\n${log}`)))
    let log = ''
    server.stdout.on('data', (piece: Buffer) => {
      log += piece
      if (/ready to accept connections/i.test(log)) resolve()
    })
  })
  return {
    path,
    close: async () => {
      server.kill()
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}
