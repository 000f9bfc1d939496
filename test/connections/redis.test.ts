import { createStorage, type Storage } from 'unstorage'
import redisDriver from 'unstorage/drivers/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox.ts'
import { rejection } from '../helpers/client.ts'
import { type StoreProcess, startProcess } from './helpers/processes.ts'
import { describeOnRedis, type RedisServer, startRedis } from './helpers/redis-server.ts'
import { makeStore, secret, useSandbox } from './helpers/store.ts'

describeOnRedis('test/connections/redis.test.ts', (binary) => {
  let redis: RedisServer
  let storage: Storage
  beforeAll(async () => {
    redis = await startRedis(binary)
    storage = createStorage({ driver: redisDriver({ path: redis.path }) })
  })
  afterAll(async () => {
    await storage.dispose()
    await redis.close()
  })
  afterEach(() => storage.clear())

  const newSandbox = useSandbox()
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = await newSandbox()
  })

  test.each([undefined, secret])('saves, reads, lists and removes connections (secret: %s)', async (key) => {
    const store = () => makeStore(sandbox, { storage, secret: key })
    const app = await store().save(sandbox.issueToken())
    const self = await store().save(sandbox.issueToken({ actor: 'self' }))
    expect(await store().get(app.key)).toEqual(app)
    expect((await store().list()).connections).toHaveLength(2)
    expect((await store().list({ actor: 'self' })).connections).toEqual([self])
    await (await store().workspace(self.key)).me()
    await store().remove(app.key)
    expect((await store().list()).connections).toEqual([self])
    await store().remove(self.key)
    expect(await storage.getKeys()).toEqual([])
  })

  describe('two processes', { timeout: 60_000 }, () => {
    let one: StoreProcess
    let two: StoreProcess
    beforeEach(async () => {
      const start = () => startProcess(redis.path, sandbox.url, secret)
      ;[one, two] = await Promise.all([start(), start()])
    })
    afterEach(() => Promise.all([one.close(), two.close()]))

    /** Saves a connection, and opens a client for it in both processes. */
    async function connected() {
      const token = sandbox.issueToken()
      const { key, connectedAt } = await one.run('save', token)
      await Promise.all([one.run('open', key), two.run('open', key)])
      sandbox.clearRequests()
      return { token, key, connectedAt }
    }

    test('agree on one connected token after concurrent saves', async () => {
      const { key } = await connected()
      for (let round = 0; round < 20; round += 1) {
        const saved = await Promise.all([one.run('save', sandbox.issueToken()), two.run('save', sandbox.issueToken())])
        const seen = await Promise.all([one.run('get', key), two.run('get', key)])
        expect(saved).toContainEqual(seen[0])
        expect(seen[0]).toEqual(seen[1])
        expect(await one.run('call', key, 1)).toEqual(['ok'])
      }
      await two.run('remove', key)
      expect(await storage.getKeys()).toEqual([])
    })

    test('call onRevoked at most once each, and send nothing until a new login', async () => {
      const { token, key, connectedAt } = await connected()
      sandbox.revoke(token)
      const names = await Promise.all([one.run('call', key, 50), two.run('call', key, 50)])
      expect(names.flat()).toContain('AuthenticationError')
      const heard = await Promise.all([one.run('revoked'), two.run('revoked')])
      expect(heard.flat().length).toBeGreaterThan(0)
      for (const times of heard)
        expect(times.length === 0 || (times.length === 1 && times[0] === connectedAt)).toBe(true)

      sandbox.clearRequests()
      const later = await Promise.all([one.run('call', key, 5), two.run('call', key, 5)])
      expect(later).toEqual([['ConnectionStoreError'], ['ConnectionStoreError']])
      expect(sandbox.requests).toEqual([])

      await two.run('save', sandbox.issueToken())
      expect(await Promise.all([one.run('call', key, 5), two.run('call', key, 5)])).toEqual([['ok'], ['ok']])
    })

    test('keep a new token that one saves while the other fails with the old one', async () => {
      let { token, key } = await connected()
      for (let round = 0; round < 20; round += 1) {
        sandbox.revoke(token)
        token = sandbox.issueToken()
        const [saved] = await Promise.all([two.run('save', token), one.run('call', key, 20)])
        expect(await one.run('get', key)).toEqual(saved)
        expect(await one.run('call', key, 5)).toEqual(['ok'])
        expect(await one.run('revoked')).not.toContain(saved.connectedAt)
      }
      expect(await storage.getKeys()).toHaveLength(2)
    })
  })

  test('reports a stopped server as storage_failed', async () => {
    const driver = redisDriver({ path: `${redis.path}.gone`, retryStrategy: () => null })
    // Without a listener the client prints its connection errors.
    driver.getInstance?.().on('error', () => {})
    const lost = createStorage({ driver })
    const error = await rejection(makeStore(sandbox, { storage: lost }).save(sandbox.issueToken()))
    expect(error).toMatchObject({ name: 'ConnectionNotSavedError', reason: 'storage_failed' })
    await lost.dispose()
  })
})
