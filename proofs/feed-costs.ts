/**
 * Prints what a change feed costs: requests, writes, time and memory.
 *
 *   npm run feed-costs -- [conversations] [messages]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SupportWorkspace } from 'support-workspace-sdk'
import { ChangeFeed, type ChangeFeedOptions } from 'support-workspace-sdk/changes'
import { type KeyValueStorage, memoryStorage, sqliteStorage } from 'support-workspace-sdk/storage'
import { SimulatedService } from '../test/changes/simulated-service.ts'

const [conversations = 5000, messages = 5] = process.argv.slice(2).map(Number)
const limit = 50
const folder = mkdtempSync(join(tmpdir(), 'feed-costs-'))
const storages: Readonly<Record<string, KeyValueStorage>> = {
  memory: memoryStorage(),
  SQLite: sqliteStorage(join(folder, 'feed.db')),
}

console.log(`${conversations} conversations of ${messages} messages, limit ${limit}, Node ${process.version}`)
console.log('Requests of a pass: 1 /me + ceil(N / limit) + (changed + second readings + audited) × ceil(M / limit)')
for (const [name, storage] of Object.entries(storages)) {
  const service = new SimulatedService({ conversations, messages, order: 'activity' })
  // They were there before.
  for (const { entry, messages: items } of service.conversations.values()) {
    for (const item of [entry, ...items.values()]) item.inserted_at = 1
  }
  // Its record of states would dominate the memory.
  service.states.length = 0
  let writes = 0
  const counted: KeyValueStorage = {
    get: (key) => storage.get(key),
    list: (prefix) => storage.list(prefix),
    compareAndSet(key, expected, value) {
      writes += 1
      return storage.compareAndSet(key, expected, value)
    },
  }
  const workspace = new SupportWorkspace({
    baseUrl: 'https://service.example',
    accessToken: 'swot_feed',
    fetch: service.fetch,
  })
  const pass = async (title: string, options: Partial<ChangeFeedOptions> = {}) => {
    writes = 0
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    const start = performance.now()
    const tick = service.tick
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().heapUsed)
    }, 20)
    let changes = 0
    for await (const _ of new ChangeFeed({ workspace, storage: counted, limit, passes: 1, ...options })) changes += 1
    clearInterval(watch)
    const seconds = Math.round((performance.now() - start) / 100) / 10
    const heap = Math.round((peak - before) / 2 ** 20)
    console.log(
      name,
      '|',
      title,
      '|',
      JSON.stringify({ requests: service.tick - tick, changes, writes, seconds, 'peak heap, MiB': heap }),
    )
  }
  await pass('first pass, since now')
  await pass('idle')
  const ids = [...service.conversations.keys()]
  for (let index = 0; index < 50; index += 1) service.addMessage(ids[(index * 37) % ids.length] as string)
  await pass('50 new messages')
}
rmSync(folder, { recursive: true })
