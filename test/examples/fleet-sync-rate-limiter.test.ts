import { Redis } from 'ioredis'
import type { RateLimitedCall } from 'support-workspace-sdk'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { SharedRateLimiter } from '../../examples/fleet-sync/shared-rate-limiter.ts'
import { describeOnRedis, type RedisServer, startRedis } from '../connections/helpers/redis-server.ts'

describeOnRedis('test/examples/fleet-sync-rate-limiter.test.ts', (binary) => {
  let server: RedisServer
  let redis: Redis
  beforeAll(async () => {
    server = await startRedis(binary)
    redis = new Redis(server.path)
  })
  afterAll(async () => {
    redis.disconnect()
    await server.close()
  })

  afterEach(() => void vi.useRealTimers())

  /** Makes calls that refuse to wait. Returns the time that each should have waited, in milliseconds; 0 if it was sent. */
  async function waitsOf(key: string, calls: number, limiter = new SharedRateLimiter(redis)): Promise<number[]> {
    const waits: number[] = []
    for (let index = 0; index < calls; index += 1) {
      let needed = 0
      const refusal = new Error('The call cannot wait.')
      const call: RateLimitedCall = {
        operation: 'GET /things',
        canWait: true,
        startedAt: performance.now(),
        timeLeft: 60_000,
        onWait: (wait) => {
          needed = wait
          throw refusal
        },
      }
      await limiter.acquire(key, new AbortController().signal, call).catch((error) => expect(error).toBe(refusal))
      waits.push(needed)
    }
    return waits
  }

  test('a process pauses and paces a connection by what another has learned', async () => {
    const other = new SharedRateLimiter(redis)
    await other.penalize('paused', 30_000)
    const [wait] = await waitsOf('paused', 1)
    expect(wait).toBeGreaterThan(20_000)
    expect(await waitsOf('other', 3)).toEqual([0, 0, 0])

    // Two calls in 100 seconds.
    await redis.set('rate:paced', '20')
    const [first, second] = await waitsOf('paced', 2)
    expect(first).toBe(0)
    expect(second).toBeGreaterThan(20_000)
  })

  test('a shorter pause does not end a longer one', async () => {
    for (const limiters of [
      [new SharedRateLimiter(redis)],
      [new SharedRateLimiter(redis), new SharedRateLimiter(redis)],
    ]) {
      const [first, last = first] = limiters
      await first?.penalize('held', 30_000)
      await last?.penalize('held', 1_000)
      expect(await redis.pttl('pause:held')).toBeGreaterThan(20_000)
      expect((await waitsOf('held', 1, last))[0]).toBeGreaterThan(20_000)
      await redis.del('pause:held')
    }
  })

  test.each<[string, (key: string) => Promise<unknown>]>([
    ...['0', '-5', '0.5', 'NaN', 'any', '', '-Infinity', '{"rate":1}'].map(
      (value): [string, (key: string) => Promise<unknown>] => [
        `the rate ${JSON.stringify(value)}`,
        (key) => redis.set(`rate:${key}`, value),
      ],
    ),
    ['a rate of another type', (key) => redis.hset(`rate:${key}`, 'a', 1)],
    ['a pause without an end', (key) => redis.set(`pause:${key}`, '2')],
    ['a pause of another type', (key) => redis.lpush(`pause:${key}`, 'a')],
  ])('ignores %s', async (name, write) => {
    // A pause that ends within the first second of a process is ignored in any case.
    vi.useFakeTimers({ toFake: ['performance'] }).advanceTimersByTime(10_000)
    await write(name)
    expect(await waitsOf(name, 3)).toEqual([0, 0, 0])
  })
})
