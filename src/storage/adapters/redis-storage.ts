import { checkMethods, type KeyValueStorage, pageOf } from '../interface.ts'

/** A client of `ioredis`, or of `redis` (node-redis). */
export type RedisClient = IoredisClient | NodeRedisClient

/** A client of `ioredis`. */
export interface IoredisClient {
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>
}

/** A client of `redis` (node-redis). */
export interface NodeRedisClient {
  /** Sends a command and its arguments. */
  sendCommand(args: string[]): Promise<unknown>
}

/**
 * A Lua script, which Redis runs as one atomic step. An empty text means that the key must be absent, or is removed.
 */
const compareAndSet = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
return 1`

/**
 * Keeps connections in Redis, which several machines can share. Works with `ioredis` and `redis` (node-redis), but not
 * with a cluster, as `SCAN` lists the keys of one node. The server must not evict keys (`maxmemory-policy noeviction`).
 * Do not set a `keyPrefix` on the client: use the `prefix` of the store.
 */
export function redisStorage(client: RedisClient): KeyValueStorage {
  if (!isIoredis(client))
    checkMethods('client', client, ['sendCommand'], 'Pass a client of `ioredis` or `redis`, not what creates it.')
  const send = (command: string, ...args: string[]): Promise<unknown> =>
    isIoredis(client) ? client.call(command, ...args) : client.sendCommand([command, ...args])
  return {
    get: async (key) => (await send('GET', key)) as string | null,
    compareAndSet: async (key, expected, value) =>
      (await send('EVAL', compareAndSet, '1', key, expected ?? '', value ?? '')) === 1,
    async *list(prefix) {
      const pattern = `${prefix.replace(/[*?[\]\\]/g, '\\$&')}*`
      let cursor = '0'
      do {
        const reply = (await send('SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000')) as [string, string[]]
        const [next, keys] = reply
        if (keys.length > 0) yield pageOf(keys, (await send('MGET', ...keys)) as (string | null)[])
        cursor = next
      } while (cursor !== '0')
    },
  }
}

/** Returns whether a client is from `ioredis`. Checks for an object, because every function has a `call` as well. */
function isIoredis(client: RedisClient): client is IoredisClient {
  return typeof client === 'object' && typeof (client as Partial<IoredisClient> | null)?.call === 'function'
}
