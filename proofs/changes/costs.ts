/**
 * Prints what a change feed costs: requests, writes, time and memory.
 *
 *   npm run feed-costs -- [conversations] [messages] [storages]
 *
 * The storages are some of `memory,sqlite,redis,postgres`. The last two start a server.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SupportWorkspace } from 'support-workspace-sdk'
import { ChangeFeed } from 'support-workspace-sdk/changes'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { moduleFor, open } from '../../test/connections/helpers/open-storage.ts'
import { findPostgres, startPostgres } from '../../test/fleet/helpers/postgres-server.ts'
import { startRedis } from '../../test/fleet/helpers/redis-server.ts'
import type { OpenStorage } from '../../test/storage/contract.ts'

const [conversations = 5000, messages = 5] = process.argv.slice(2, 4).map(Number)
const wanted = (process.argv[4] ?? 'memory,sqlite,redis,postgres').split(',')
const limit = 50

/** Returns a service that keeps nothing, so that the memory is that of the feed. */
function startService() {
  const added = new Map<number, number>()
  const counts = { requests: 0 }
  const message = (conversation: number, index: number) => ({
    id: `msg_${conversation}_${index}`,
    conversation_id: `cnv_${conversation}`,
    inserted_at: index < messages ? 1 : Math.floor(Date.now() / 1000),
    body_html: `<p>Message ${index} of the conversation ${conversation}, which has some words more.</p>`,
    user: { id: `usr_${conversation}` },
  })
  const entry = (conversation: number) => ({
    id: `cnv_${conversation}`,
    inserted_at: 1,
    status: 'open',
    last_message: `Message ${messages + (added.get(conversation) ?? 0)}`,
    user: { id: `usr_${conversation}` },
  })
  const fetch = async (url: string) => {
    counts.requests += 1
    const { pathname, searchParams } = new URL(url)
    if (pathname.endsWith('/me'))
      return respond({ organization: { id: 'org_1' }, user: { id: 'usr_me' }, actor: 'self' })
    const start = Number(searchParams.get('after') ?? 0)
    const [, id] = /cnv_(\d+)\/messages$/.exec(pathname) ?? []
    const conversation = Number(id)
    const total = id === undefined ? conversations : messages + (added.get(conversation) ?? 0)
    const end = Math.min(total, start + limit)
    const data = Array.from({ length: end - start }, (_, index) =>
      id === undefined ? entry(start + index) : message(conversation, total - 1 - start - index),
    )
    return respond({ data, page_metadata: { after: end < total ? `${end}` : null, before: null } })
  }
  return {
    fetch,
    counts,
    addMessage: (conversation: number) => added.set(conversation, (added.get(conversation) ?? 0) + 1),
  }
}

function respond(body: unknown) {
  const headers = new Headers({ date: new Date().toUTCString() })
  return { status: 200, headers, text: async () => JSON.stringify(body) }
}

async function openStorage(kind: string): Promise<OpenStorage> {
  if (kind === 'memory') return memoryStorage()
  if (kind === 'sqlite') {
    // In memory where possible, because each write waits for the disk.
    const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'feed-costs-'))
    const storage = await open(moduleFor(kind, join(folder, 'feed.db')))
    return { ...storage, close: () => rmSync(folder, { recursive: true }) }
  }
  if (kind === 'redis') {
    const redis = await startRedis()
    const storage = await open(moduleFor(kind, redis.url))
    return {
      ...storage,
      async close() {
        await storage.close?.()
        await redis.close()
      },
    }
  }
  const binaries = findPostgres()
  if (binaries === undefined) throw new Error('Install postgresql.')
  const postgres = await startPostgres(binaries)
  const storage = await open(moduleFor('postgres', await postgres.createDatabase()))
  return {
    ...storage,
    async close() {
      await storage.close?.()
      await postgres.close()
    },
  }
}

console.log(`${conversations} conversations of ${messages} messages, limit ${limit}, Node ${process.version}`)
console.log('Requests of a pass: 1 /me + ceil(N / limit) + (changed + second readings + audited) × ceil(M / limit)')
console.log(
  '| storage | pass | requests | changes | writes | seconds | peak heap, MiB |\n| --- | --- | --- | --- | --- | --- | --- |',
)
for (const kind of wanted) {
  const service = startService()
  const storage = await openStorage(kind)
  let writes = 0
  const workspace = new SupportWorkspace({
    ...{ baseUrl: 'https://service.example', accessToken: 'swot_feed', fetch: service.fetch },
  })
  const pass = async (title: string) => {
    writes = 0
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    const start = performance.now()
    const { requests } = service.counts
    let peak = before
    const timer = setInterval(() => {
      // Garbage counts for nothing.
      if (process.memoryUsage().heapUsed < peak) return
      globalThis.gc?.()
      peak = Math.max(peak, process.memoryUsage().heapUsed)
    }, 500)
    const feed = new ChangeFeed({
      ...{ workspace, limit, passes: 1 },
      storage: {
        get: (key) => storage.get(key),
        list: (prefix) => storage.list(prefix),
        compareAndSet(key, expected, value) {
          writes += 1
          return storage.compareAndSet(key, expected, value)
        },
      },
    })
    let changes = 0
    for await (const _ of feed) changes += 1
    clearInterval(timer)
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    const heap = Math.round((peak - before) / 2 ** 20)
    const cells = [kind, title, service.counts.requests - requests, changes, writes, seconds, heap]
    console.log(`| ${cells.join(' | ')} |`)
  }
  await pass('first, since now')
  await pass('idle')
  for (let index = 0; index < 50; index += 1) service.addMessage((index * 37) % conversations)
  await pass('50 new messages')
  await storage.close?.()
}
process.exit()
