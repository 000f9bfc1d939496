import { SupportWorkspace, SupportWorkspaceError } from 'support-workspace-sdk'
import { type Change, ChangeFeed, ChangeFeedError, type ChangeFeedOptions } from 'support-workspace-sdk/changes'
import { type KeyValueStorage, memoryStorage } from 'support-workspace-sdk/storage'
import { describe, expect, test, vi } from 'vitest'
import { failingCallbacks, thrower } from '../helpers/failing-callbacks.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'
import { filled, Process, slow } from './helpers.ts'
import { failure, respond, SimulatedService } from './simulated-service.ts'
import { simulateTime } from './simulated-time.ts'

const clock = simulateTime()

const firstOf = (service: SimulatedService) => [...service.conversations.keys()][0] as string
const messagesOf = (service: SimulatedService, id: string) => [
  ...(service.conversations.get(id)?.messages.keys() ?? []),
]

describe('changes', () => {
  test('have an author, and say whether a message is automatic', async () => {
    const { service, first: id, start } = await filled({ conversations: 1, messages: 0 })
    const users = [{ id: `usr_${id}` }, { id: 'usr_me' }, { id: 'usr_other' }, null]
    for (const user of users) service.addMessage(id, { user, is_ai_message: user?.id === 'usr_other' })
    const changes: Change[] = []
    for await (const change of start().feed) changes.push(change)
    expect(changes).toMatchObject([
      { resource: 'conversations', kind: 'updated', id, conversationId: id, value: { id } },
      { resource: 'messages', kind: 'created', conversationId: id, author: 'customer', isAutomatic: false },
      { author: 'you', isAutomatic: false },
      { author: 'other', isAutomatic: true },
      { author: 'unknown', isAutomatic: false },
    ])
    service.conversations.get(id)!.entry.user = null
    service.addMessage(id)
    const later: Change[] = []
    for await (const change of start().feed) later.push(change)
    expect(later).toMatchObject([{ resource: 'conversations' }, { author: 'unknown' }])
    expect(later[0]).not.toHaveProperty('author')
  })

  test.each([
    [1, ['customer', 'you', 'other']],
    [1000, ['customer', 'unknown', 'unknown']],
  ])('have no wrong author after %i answers of `/me` without the person', async (times, authors) => {
    const service = new SimulatedService({ conversations: 1, messages: 0 })
    const id = firstOf(service)
    for (const user of [`usr_${id}`, 'usr_me', 'usr_other']) service.addMessage(id, { user: { id: user } })
    let left = times
    const me = { ...service.me, user: undefined }
    service.answer = (path) => (path === '/me' && left-- > 0 ? respond(me) : undefined)
    const found: string[] = []
    for await (const change of new Process(service, memoryStorage(), { passes: 1 }).feed) {
      if ('author' in change) found.push(change.author)
    }
    expect(found).toEqual(authors)
  })

  test('go on behind a conversation whose id no path can have', async () => {
    const service = new SimulatedService({ conversations: 3 })
    const odd = service.conversations.get(firstOf(service))!
    odd.entry = { ...odd.entry, id: '..' }
    const run = new Process(service, memoryStorage(), { passes: 1 })
    const read: Record<string, number> = {}
    for await (const { resource } of run.feed) read[resource] = (read[resource] ?? 0) + 1
    expect(read).toEqual({ conversations: 3, messages: 4 })
    expect(run.problems).toMatchObject([{ conversationId: '..', error: { argument: 'conversation_id' } }])
  })

  test('are read after at most the longest wait that a timer has', async () => {
    const service = new SimulatedService({ conversations: 1 })
    const started = clock.now
    vi.spyOn(Math, 'random').mockReturnValue(0.9)
    await new Process(service, memoryStorage(), { passes: 2, interval: 2_147_483_647 }).read()
    vi.restoreAllMocks()
    expect(clock.now - started).toBe(2_147_483_647)
  })

  test('do not count in ignored fields, and nothing is written for what did not change', async () => {
    const { service, first, start, read } = await filled({ conversations: 30, maxLimit: 10 }, { limit: 10 })
    clock.now += 4000
    const [lists, messages] = [service.counts.lists, service.counts.messages]
    const run = start({ auditEvery: 1, passes: 3, limit: 10 })
    expect(await run.read()).toEqual([])
    expect(run.writes).toEqual(Array(3).fill('changes:feed:progress'))
    expect(service.counts).toMatchObject({ lists: lists + 9, messages: messages + 90 })
    expect(run.feed.status()).toMatchObject({ passes: 3, requests: 1 + 9 + 90 })
    // Neither does the order of the fields count.
    for (const found of service.conversations.values()) {
      found.entry = Object.fromEntries(Object.entries(found.entry).reverse()) as typeof found.entry
    }
    service.conversations.get(first)!.entry.user!.profile_picture_url = 'https://files.example/new'
    expect(await read({ auditEvery: 1, limit: 10 })).toEqual([])
  })
})

describe('messages are read', () => {
  test('a second time, at least two seconds later, for what the list entry does not show', async () => {
    const { service, first: id, read } = await filled({ conversations: 3 })
    service.addMessage(id, { body_html: 'Yes' })
    const { entry } = service.conversations.get(id)!
    entry.last_message = 'Yes'
    expect(await read()).toHaveLength(2)
    // The second message has the time and text of the first, so the entry stays the same.
    service.traits = { ...service.traits, follows: false }
    const second = service.addMessage(id, { body_html: 'Yes' })
    const before = service.counts.messages
    clock.now += 1000
    expect(await read()).toEqual([])
    expect(service.counts.messages).toBe(before)
    clock.now += 3000
    expect(await read()).toEqual([`messages created ${second}`])
    clock.now += 4000
    service.addMessage(id)
    expect(await read({ passes: 2 })).toEqual([])
  })

  test.each([true, false])('twice, although the first reading failed (follows: %s)', async (follows) => {
    const { service, first: id, read } = await filled({ conversations: 3 })
    const added = [service.addMessage(id)]
    service.traits = { ...service.traits, follows }
    service.answer = (path) => (path.includes(id) ? failure(500, 'unavailable') : undefined)
    clock.now += 4000
    await read()
    service.answer = undefined
    clock.now += 4000
    const found = await read()
    added.push(service.addMessage(id))
    clock.now += 4000
    found.push(...(await read()))
    expect(found.filter((change) => change.startsWith('messages'))).toEqual(
      added.map((each) => `messages created ${each}`),
    )
  })

  test('once in a pass that was interrupted, unless their conversation has changed or some were not stored', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const service = new SimulatedService({ conversations: 12, messages: 2 })
    // The first of the list. Its changes are stored in two parts.
    service.addConversation(30)
    const storage = memoryStorage()
    const keys = new Set<string>()
    const read = async (isEnough: (messages: number) => boolean = () => false) => {
      let [readings, messages] = [0, 0]
      service.onRequest = (path, query) => {
        if (path.endsWith('/messages') && !query.has('after')) readings += 1
      }
      // With one entry on a page, the order of the list is that of the readings.
      for await (const { resource, key } of new Process(service, storage, { ...slow, limit: 1, passes: 1 }).feed) {
        keys.add(key)
        if (resource === 'messages') messages += 1
        if (isEnough(messages)) break
      }
      return readings
    }
    expect(await read((messages) => messages === 5)).toBe(1)
    // 26 messages of the first conversation, two of each of the next two, and one of the fourth.
    expect(await read((messages) => messages === 31)).toBe(4)
    service.touch([...service.conversations.keys()][11] as string)
    expect(await read()).toBe(1 + 9)
    expect(keys.size).toBe(13 + 30 + 12 * 2 + 1)
    clock.now += 4000
    expect(await read()).toBe(13)
    vi.restoreAllMocks()
  })

  test('once in `auditEvery` for each conversation, and the status counts what only that found', async () => {
    const { service, ids, start } = await filled({ conversations: 20, follows: false })
    const added = ids.map((id) => service.addMessage(id))
    const run = start({ auditEvery: 100_000, interval: 2000, passes: 60 })
    const before = service.counts.messages
    const perPass: number[] = []
    service.onRequest = (path, query) => {
      if (path === '/conversations' && !query.has('after')) perPass.push(0)
      if (path.endsWith('messages')) perPass[perPass.length - 1] = (perPass.at(-1) ?? 0) + 1
    }
    const found = await run.read()
    // Not all at once.
    expect(Math.max(...perPass)).toBeLessThan(8)
    expect(found.sort()).toEqual(added.map((id) => `messages created ${id}`).sort())
    expect(run.feed.status().foundByAudit).toBe(20)
    // Each once for the audit, each once more because it was found changed, and those whose turn has come again.
    expect(service.counts.messages - before).toBeGreaterThanOrEqual(40)
    expect(service.counts.messages - before).toBeLessThanOrEqual(48)
  })
})

type Fault = readonly [name: string, answer: () => Response]

const withStatus = (status: number): Fault => [`${status}`, () => failure(status, 'odd')]

const forAnHour = (status: number) => new Response('{}', { status, headers: { 'retry-after': '3600' } })

/** Responses after which waiting can help. */
const passing: readonly Fault[] = [
  ...[408, 429, 500, 501, 502, 503, 504, 599].map(withStatus),
  ...[503, 429].map((status): Fault => [`${status} for an hour`, () => forAnHour(status)]),
  ['HTML', () => new Response('<html>')],
  ['a body that is cut off', () => new Response('{"data":[{"id":"m')],
  ['a connection that breaks', thrower(new TypeError('fetch failed'))],
  ['a timeout', thrower(new DOMException('It took too long.', 'TimeoutError'))],
]

const faults: readonly Fault[] = [
  ...passing,
  ...[400, 402, 403, 404, 405, 406, 409, 410, 415, 422, 425, 431, 451].map(withStatus),
  ['a redirect', () => new Response(null, { status: 302, headers: { location: '/elsewhere' } })],
  ['JSON without `data`', () => respond({})],
  ['an entry without an id', () => respond({ data: [{}], page_metadata: { after: null, before: null } })],
  [
    'an entry with many levels',
    () =>
      new Response(
        `{"data":[{"id":"msg","extra":${'['.repeat(200)}${']'.repeat(200)}}],"page_metadata":{"after":null}}`,
      ),
  ],
]

const isMessagesOf = (path: string, ids: readonly string[]) =>
  path.endsWith('/messages') && ids.some((id) => path.includes(id))

describe('since now', () => {
  const now = { since: 'now', passes: 1 } as const

  test('reports nothing that was there before, and what comes during the first pass', async () => {
    const service = new SimulatedService({ conversations: 12, messages: 3 })
    clock.now += 5000
    const storage = memoryStorage()
    const ids = [...service.conversations.keys()]
    let early = ''
    let fresh = ''
    service.onRequest = (path) => {
      clock.now += 1000
      // After the list was read, and before most conversations were.
      if (path.endsWith('messages') && early === '') {
        service.onRequest = undefined
        early = service.addMessage(ids[0] as string)
        fresh = service.addConversation(2)
      }
    }
    const during = await new Process(service, storage, now).read()
    const later = await new Process(service, storage, { ...now, passes: 2, interval: 4000 }).read()
    const all = [...during, ...later]
    expect(all).toContain(`messages created ${early}`)
    expect(all).toContain(`conversations created ${fresh}`)
    expect(all.filter((change) => change.startsWith('messages created'))).toHaveLength(3)
    expect(all.filter((change) => change.startsWith('conversations created'))).toHaveLength(1)
  })

  test('reports a conversation that appears before a later start, but not its messages from before', async () => {
    const service = new SimulatedService({ conversations: 3 })
    const id = firstOf(service)
    service.hidden.add(id)
    clock.now += 60_000
    const storage = memoryStorage()
    expect(await new Process(service, storage, now).read()).toEqual([])
    service.hidden.clear()
    clock.now += 60_000
    const message = service.addMessage(id)
    clock.now += 60_000
    expect(await new Process(service, storage, now).read()).toEqual([
      `conversations created ${id}`,
      `messages created ${message}`,
    ])
  })

  test.each([
    ['milliseconds', (seconds: number) => seconds * 1000],
    ['a text', (seconds: number) => new Date(seconds * 1000).toISOString() as never],
    ['nothing', () => undefined],
  ])('takes what the first reading finds for old if the service sends its time as %s', async (_, timeOf) => {
    const service = new SimulatedService({ conversations: 3 })
    const give = () => {
      for (const { messages } of service.conversations.values())
        for (const item of messages.values())
          if (Number(item.inserted_at) < 1e11) item.inserted_at = timeOf(Number(item.inserted_at))
    }
    give()
    clock.now += 60_000
    const storage = memoryStorage()
    expect(await new Process(service, storage, now).read()).toEqual([])
    const message = service.addMessage(firstOf(service))
    give()
    expect(await new Process(service, storage, now).read()).toContain(`messages created ${message}`)
  })

  test('reports what comes to a conversation that was read, although the clock of `Date` is ahead', async () => {
    const service = new SimulatedService({ conversations: 3 })
    const { fetch } = service
    const ahead: typeof fetch = async (...request) => {
      const response = await fetch(...request)
      response.headers.set('date', new Date(clock.now + 120_000).toUTCString())
      return response
    }
    Object.assign(service, { fetch: ahead })
    const storage = memoryStorage()
    expect(await new Process(service, storage, now).read()).toEqual([])
    clock.now += 30_000
    const message = service.addMessage(firstOf(service))
    expect(await new Process(service, storage, now).read()).toContain(`messages created ${message}`)
  })
})

describe('deletions', () => {
  test('of a conversation come after two complete passes and a 404', async () => {
    const { service, storage, first: id, read } = await filled({ conversations: 6 })
    service.removeConversation(id)
    expect(await read()).toEqual([])
    expect(await read()).toEqual([`conversations deleted ${id}`])
    expect(await read()).toEqual([])
    for await (const page of storage.list('')) expect(page.filter(([key]) => key.includes(id))).toEqual([])
  })

  test('of a hidden conversation come when the audit finds a 404 and it is asked for once more', async () => {
    const { service, first: id, read } = await filled({ conversations: 6 })
    service.hidden.add(id)
    expect(await read({ passes: 4 })).toEqual([])
    service.removeConversation(id)
    expect(await read({ passes: 2 })).toEqual([])
    expect(await read({ auditEvery: 1, passes: 4 })).toEqual([`conversations deleted ${id}`])
  })

  test.each(['messages fail', 'the token changes'])('do not come from a 404 for `/me` when %s', async (cause) => {
    const { service, first: id, read, start } = await filled()
    service.hidden.add(id)
    await read()
    const isOutage = cause === 'messages fail'
    let isBroken = false
    service.answer = (path, query) => {
      if (path === '/me') return isBroken ? failure(404, 'not_found') : undefined
      // The token changes with the last page of the list.
      isBroken ||= isOutage ? path.endsWith('/messages') : query.has('after')
      return isOutage && isBroken ? failure(503, 'unavailable') : undefined
    }
    const accessToken = () => (isBroken && !isOutage ? 'swot_two' : 'swot_one')
    const run = start({ limit: 8, accessToken })
    expect(await run.read()).toEqual([])
    expect(run.problems).toMatchObject([{ conversationId: id, error: { status: isOutage ? 503 : 404 } }])
  })

  test('of many hidden conversations at once are held back as well', async () => {
    const { service, ids, start } = await filled({ conversations: 30 })
    const gone = ids.slice(0, 8)
    const held = async (options: Partial<ChangeFeedOptions>) => {
      const run = start({ maxDeletions: 4, ...options })
      expect(await run.read()).toEqual([])
      return run.feed.status().heldDeletions
    }
    for (const some of [gone.slice(0, 4), gone.slice(4)]) {
      for (const id of some) service.hidden.add(id)
      expect(await held({ passes: 2 })).toEqual({})
    }
    for (const id of gone) service.removeConversation(id)
    expect(await held({ passes: 3, auditEvery: 1 })).toEqual({ conversations: 8 })
  })

  test('are held back if many are missing at once, until somebody accepts them', async () => {
    const { service, ids, read, start } = await filled({ conversations: 30 })
    const gone = ids.slice(0, 8)
    for (const id of gone) service.removeConversation(id)
    const before = service.counts.messages
    const run = start({ passes: 4 })
    expect(await run.read()).toEqual([])
    expect(service.counts.messages).toBe(before)
    expect(run.problems.map(({ error }) => String(error))).toEqual(
      Array(4).fill(expect.stringContaining('8 conversations are missing at once')),
    )
    expect(run.feed.status().heldDeletions).toEqual({ conversations: 8 })
    await run.feed.acceptDeletions()
    // One more than was accepted.
    const [more = ''] = service.conversations.keys()
    service.hidden.add(more)
    expect(await read()).toEqual([])
    service.hidden.clear()
    await run.feed.acceptDeletions()
    const accepted = await read()
    expect(accepted.sort()).toEqual(gone.map((id) => `conversations deleted ${id}`).sort())
  })

  test('of messages come only if they are asked for, after two readings', async () => {
    const { service, first: id, read: readAll } = await filled({ conversations: 3, messages: 3 })
    const [lost = ''] = messagesOf(service, id)
    service.removeMessage(id, lost)
    expect(await readAll({ auditEvery: 1, passes: 4 })).toEqual([])
    service.touch(id)
    const read = () => readAll({ watch: ['messages'], deletions: ['messages'] })
    expect(await read()).toEqual([])
    clock.now += 4000
    expect(await read()).toEqual([`messages deleted ${lost}`])
    // With its conversation, each message is deleted as well.
    const left = messagesOf(service, id)
    service.removeConversation(id)
    await read()
    expect((await read()).sort()).toEqual(left.map((each) => `messages deleted ${each}`).sort())
  })
})

test.each([
  [['messages'], 0],
  [['conversations', 'messages'], 6],
  [['conversations'], 6],
] as const)('a removed conversation is forgotten with `watch: %j`', async (watch, reported) => {
  const { service, ids, start, read } = await filled({ conversations: 30 }, { watch })
  const gone = ids.slice(0, 6)
  const run = start({ watch, passes: 18 })
  let lists = 0
  service.onRequest = (path) => {
    if (path === '/conversations' && lists++ % 3 === 0 && gone.length > 0) service.removeConversation(gone.shift()!)
  }
  expect(await run.read()).toHaveLength(reported)
  expect(run.problems.filter(({ conversationId }) => conversationId === undefined)).toEqual([])
  const before = service.counts.messages
  expect(await read({ watch, passes: 3 })).toEqual([])
  expect(service.counts.messages).toBe(before)
})

test('an empty `watch` is refused', () => {
  expect(() => new Process(new SimulatedService({}), memoryStorage(), { watch: [] })).toThrow('`watch` is empty')
  expect(() => new Process(new SimulatedService({}), memoryStorage(), { watch: new Array(2) })).toThrow('`watch`')
})

describe('a change that was not acknowledged', () => {
  test('of a list stays while the list is not watched', async () => {
    const { service, storage, first, read, start } = await filled({ conversations: 2 })
    const message = service.addMessage(first)
    for await (const { id } of start().feed) if (id === message) break
    const conversations = { watch: ['conversations'], deletions: ['messages'], passes: 2 } as const
    expect(await read(conversations)).toEqual([])
    service.touch(first)
    expect(await read(conversations)).toHaveLength(1)
    expect(await read()).toEqual([`messages created ${message}`])
    service.removeConversation(first)
    expect(await read(conversations)).toHaveLength(1)
    for await (const page of storage.list('')) expect(page.join()).not.toContain(message)
  })

  test('does not block the others once it is skipped', async () => {
    const service = new SimulatedService({ conversations: 2, messages: 3 })
    const storage = memoryStorage()
    const [poison = ''] = messagesOf(service, firstOf(service))
    const handled: string[] = []
    const run = new Process(service, storage, { passes: 1 })
    for await (const { id, key } of run.feed) {
      if (id !== poison) handled.push(id)
      else expect(await run.feed.skip(key)).toBe(true)
    }
    expect(handled).toHaveLength(7)
    expect(run.feed.status()).toMatchObject({ skipped: 1 })
    // From another process, of one that is not the first.
    const changes: Change[] = []
    service.addMessage(firstOf(service))
    service.addMessage(firstOf(service))
    for await (const change of new Process(service, storage, { passes: 1 }).feed) {
      changes.push(change)
      if (changes.length === 2) break
    }
    expect(await new Process(service, storage).feed.skip(changes[1]?.key as string)).toBe(true)
    expect(await new Process(service, storage).feed.skip(changes[1]?.key as string)).toBe(false)
    for (const key of ['nonsense', 'messages:%E0:x', 'messages:%:x', 'tasks:a:b']) {
      expect(await new Process(service, storage).feed.skip(key)).toBe(false)
    }
    expect(await new Process(service, storage, { passes: 1 }).read()).toHaveLength(1)
  })

  test('is acknowledged after an abort only if the loop asked for the next', async () => {
    const service = new SimulatedService({})
    const storage = memoryStorage()
    const controller = new AbortController()
    const keys: string[] = []
    const loop = async () => {
      for await (const { key } of new Process(service, storage, { signal: controller.signal }).feed) {
        keys.push(key)
        if (keys.length === 3) controller.abort(new RangeError('Stop.'))
      }
    }
    await expect(loop()).rejects.toThrow('Stop.')
    for await (const { key } of new Process(service, storage, { passes: 1 }).feed) keys.push(key)
    expect(keys).toHaveLength(11 * 3)
    expect(new Set(keys).size).toBe(11 * 3)
  })
})

/** Reads an entry whose field `extra` is the JSON text twice, in two loops. Returns the number of changes. */
async function readWith(list: string, extra: string, secret?: string): Promise<number> {
  const service = new SimulatedService({ conversations: 1, messages: 1 })
  const id = list === '/messages' ? messagesOf(service, firstOf(service))[0] : firstOf(service)
  const page = `{"data":[{"id":"${id}","extra":${extra}}],"page_metadata":{"after":null,"before":null}}`
  service.answer = (path) => (path.endsWith(list) ? new Response(page) : undefined)
  const workspace = new SupportWorkspace({
    ...{ baseUrl: 'https://service.example', accessToken: 'swot_feed', fetch: service.fetch },
  })
  const storage = memoryStorage()
  let changes = 0
  for (let loop = 1; loop <= 2; loop += 1) {
    const feed = new ChangeFeed({ ...{ workspace, storage, secret }, since: 'beginning', interval: 4000, passes: 2 })
    for await (const _ of feed) changes += 1
  }
  return changes
}

describe('errors', () => {
  test.each(faults)(
    'of a conversation are told by its id, and it is skipped until the next pass: %s',
    async (name, answer) => {
      const service = new SimulatedService({})
      const storage = memoryStorage()
      const broken = firstOf(service)
      service.answer = (path) => (isMessagesOf(path, [broken]) ? answer() : undefined)
      const run = new Process(service, storage, { passes: 1, limit: 50 })
      const started = clock.now
      expect(await run.read()).toHaveLength(11 + 10 * 2)
      expect(run.problems.filter(({ retryIn }) => retryIn === undefined)).toEqual([
        { error: expect.any(SupportWorkspaceError), conversationId: broken },
      ])
      expect(run.problems.filter(({ conversationId }) => conversationId !== broken)).toEqual([])
      expect(run.feed.status().completedAt).toBe(clock.now)
      expect(run.problems.some(({ retryIn }) => retryIn !== undefined)).toBe(name.startsWith('429'))
      expect(clock.now - started).toBeLessThan(name === '429 for an hour' ? 61_000 : 10_000)
      service.answer = undefined
      clock.now += 4000
      expect(await new Process(service, storage, { ...slow, passes: 1 }).read()).toHaveLength(2)
    },
  )

  // Each fault is tested with one conversation, above. Of these, each has another effect on deletions, waits or the audit.
  const kinds = ['503', '429 for an hour', 'a connection that breaks', '403', '404', 'an entry with many levels']
  test.each(faults.filter(([name]) => kinds.includes(name)))(
    'of ten conversations stop neither the audit, nor deletions, nor the others: %s',
    async (name, answer) => {
      const { service, ids, start } = await filled({ conversations: 30, messages: 1, follows: false })
      const [absent, shown, healthy] = [ids.slice(0, 5), ids.slice(5, 10), ids.slice(10)]
      service.answer = (path) => (isMessagesOf(path, [...absent, ...shown]) ? answer() : undefined)
      for (const id of absent) service.hidden.add(id)
      const gone = healthy.pop() as string
      service.removeConversation(gone)
      const added = healthy.map((id) => `messages created ${service.addMessage(id)}`)
      let readings = 0
      service.onRequest = (path) => {
        if (isMessagesOf(path, healthy)) readings += 1
      }
      const auditEvery = 100_000
      const run = start({ auditEvery, limit: 50, maxDeletions: 10, passes: 40 })
      const deleted = [gone, ...(name === '404' ? absent : [])].map((id) => `conversations deleted ${id}`)
      const started = clock.now
      expect((await run.read()).sort()).toEqual([...deleted, ...added].sort())
      expect(run.feed.status().completedAt).toBe(clock.now)
      // Once for each audit, once more for what it found, and those whose turn has come again.
      expect(readings / healthy.length).toBeLessThan((clock.now - started) / auditEvery + 3)
    },
  )

  test.each<readonly [string, seconds: number, answer: () => Response]>([
    ['its requests take 90 seconds', 90, () => failure(504, 'timeout')],
    ['each call waits for a minute', 60, () => failure(429, 'slow_down')],
    ['it asks for an hour', 0, () => forAnHour(429)],
  ])('of a conversation hold up the others for a short time, although %s', async (_, seconds, answer) => {
    const { service, ids, first: broken, read, start } = await filled({ conversations: 4 })
    const added = ids.map((id) => `messages created ${service.addMessage(id)}`)
    service.answer = (path) => {
      if (!isMessagesOf(path, [broken])) return undefined
      clock.now += seconds * 1000
      return answer()
    }
    const started = clock.now
    const run = start()
    const changes = await run.read()
    expect(clock.now - started).toBeLessThan(95_000)
    expect(run.problems.map(({ conversationId }) => conversationId)).toEqual(run.problems.map(() => broken))
    // Its list entry stays the same.
    service.answer = undefined
    changes.push(...(await read()))
    expect(changes.filter((change) => change.startsWith('messages')).sort()).toEqual(added.sort())
  })

  test('of a conversation that asks for an hour come once an hour, and it is read afterwards', async () => {
    const { service, first: broken, start } = await filled({ conversations: 3, follows: false })
    service.touch(broken)
    const message = service.addMessage(broken)
    const started = clock.now
    let refused = 0
    service.answer = (path) => {
      if (!isMessagesOf(path, [broken]) || clock.now - started > 10_000_000) return undefined
      refused += 1
      return forAnHour(429)
    }
    const run = start({ interval: 30_000, passes: 500 })
    const changes = await run.read()
    expect(refused).toBe(3)
    expect(run.problems).toHaveLength(2 * 3)
    expect(changes).toEqual([`conversations updated ${broken}`, `messages created ${message}`])
  })

  test('of an outage in which requests take long are not taken for those of a conversation', async () => {
    const service = new SimulatedService({ conversations: 3 })
    let left = 3
    let isOut = false
    service.answer = (path) => {
      isOut ||= path.endsWith('/messages')
      if (!isOut || left-- <= 0) return undefined
      clock.now += 90_000
      return failure(504, 'timeout')
    }
    const run = new Process(service, memoryStorage(), { passes: 1 })
    expect(await run.read()).toHaveLength(9)
    expect(run.problems).toMatchObject([{ retryIn: expect.any(Number) }, { retryIn: expect.any(Number) }])
  })

  test('of the audit are made up for in the next pass', async () => {
    const { service, ids, read } = await filled({ conversations: 20, follows: false })
    const added = ids.map((id) => `messages created ${service.addMessage(id)}`)
    service.answer = (path) => (path.endsWith('/messages') ? failure(500, 'unavailable') : undefined)
    clock.now += 100_000
    expect(await read({ auditEvery: 100_000 })).toEqual([])
    service.answer = undefined
    expect((await read({ auditEvery: 100_000 })).sort()).toEqual(added.sort())
  })

  test.each(faults)('of everything lose nothing: %s', async (name, answer) => {
    const { service, ids, read, start } = await filled({ conversations: 5 })
    const added = ids.map((id) => `messages created ${service.addMessage(id)}`)
    let [isOut, left] = [false, 40]
    service.answer = (path) => {
      isOut ||= path.endsWith('/messages')
      return isOut && left-- > 0 ? answer() : undefined
    }
    const run = start({ limit: 50 })
    const changes = await run.read()
    const unread = run.problems.filter((problem) => problem.conversationId !== undefined && !problem.retryIn)
    // What can pass is waited for. The rest is an answer about each conversation, as long as the lists can be read.
    const isWaitedFor = passing.some(([each]) => each === name)
    expect(unread).toHaveLength(isWaitedFor ? 0 : 5)
    expect(run.problems.some(({ retryIn }) => (retryIn ?? 0) >= 30_000)).toBe(isWaitedFor)
    left = 0
    clock.now += 4000
    changes.push(...(await read({ limit: 50 })))
    expect(changes.filter((change) => change.startsWith('messages')).sort()).toEqual(added.sort())
  })

  test.each(['messages', 'what is missing'])(
    'that use up the time of each job do not keep %s of the others from being read',
    async (what) => {
      const { service, ids, start } = await filled({ conversations: 8 })
      const [broken, others] = [ids.slice(2, 5), [...ids.slice(0, 2), ...ids.slice(5)]]
      const changes: string[] = []
      for (const id of ids) {
        if (what === 'messages') service.addMessage(id)
        else if (broken.includes(id)) service.hidden.add(id)
        else service.removeConversation(id)
      }
      for (let job = 1; job <= 60; job += 1) {
        const controller = new AbortController()
        service.answer = (path) => {
          if (!isMessagesOf(path, broken)) return undefined
          controller.abort(new RangeError('Stop.'))
          return failure(500, 'unavailable')
        }
        const { feed } = start({ maxDeletions: 10, signal: controller.signal })
        try {
          for await (const { resource, kind, id, ...change } of feed) {
            const owner = 'conversationId' in change ? change.conversationId : id
            if (others.includes(owner)) changes.push(`${resource} ${kind}`)
          }
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
        }
        clock.now += 4000
      }
      const expected = what === 'messages' ? 'messages created' : 'conversations deleted'
      expect(changes.filter((change) => change === expected)).toHaveLength(5)
    },
  )

  test.each([true, false])(
    'of five conversations that change in each pass do not keep the others from being read (follows: %s)',
    async (follows) => {
      const { service, ids, read } = await filled({ conversations: 8, follows })
      // The newest come first in the list.
      const broken = ids.slice(3)
      service.answer = (path) => (broken.some((id) => path.includes(id)) ? failure(403, 'forbidden') : undefined)
      service.onRequest = (path) => {
        if (path === '/conversations') for (const id of broken) service.touch(id)
      }
      const added = ids.slice(0, 3).map((id) => `messages created ${service.addMessage(id)}`)
      const changes = await read({ auditEvery: 1, limit: 50, passes: 2 })
      expect(changes.filter((change) => change.startsWith('messages')).sort()).toEqual(added.sort())
    },
  )

  test.each([
    ['/conversations', () => failure(429, 'slow_down')],
    ['/me', () => new Response('<html>')],
  ])('of %s that waiting can mend are waited out', async (broken, answer) => {
    const service = new SimulatedService({})
    let left = 3
    service.answer = (path) => (path === broken && left-- > 0 ? answer() : undefined)
    const run = new Process(service, memoryStorage(), { passes: 1 })
    expect(await run.read()).toHaveLength(33)
    expect(run.problems.map(({ retryIn }) => (retryIn as number) > 0)).toEqual([true, true, true])
  })

  test.each(failingCallbacks(new RangeError('The callback failed.')))(
    'do not end the feed if `onProblem` %s',
    async (_, onProblem) => {
      const service = new SimulatedService({})
      service.answer = (path) => (isMessagesOf(path, [firstOf(service)]) ? failure(403, 'forbidden') : undefined)
      const unhandled = await unhandledDuring(async () => {
        expect(await new Process(service, memoryStorage(), { onProblem, passes: 1 }).read()).toHaveLength(11 + 10 * 2)
      })
      expect(unhandled).toEqual([])
    },
  )

  test.each(['/conversations', '/messages'])('about `limit` of %s: it is left out once', async (list) => {
    const service = new SimulatedService({})
    const refused = (path: string, query: URLSearchParams) => path.endsWith(list) && query.has('limit')
    service.answer = (path, query) => (refused(path, query) ? failure(422, 'invalid') : undefined)
    const run = new Process(service, memoryStorage(), { passes: 1 })
    expect(await run.read()).toHaveLength(33)
    expect(run.problems).toHaveLength(1)
  })

  test.each([400, 403, 404, 422])('of messages are not replaced by a %i for `/me`', async (status) => {
    const service = new SimulatedService({ conversations: 3 })
    const ids = [...service.conversations.keys()]
    const failing = new Map([ids[0], ids[1]].map((id, index) => [`/conversations/${id}/messages`, index === 0 ? 2 : 3]))
    service.answer = (path) => {
      if (path === '/me') return service.counts.me > 0 ? failure(status, 'refused') : undefined
      const left = failing.get(path) ?? 0
      failing.set(path, left - 1)
      return left > 0 ? failure(503, 'unavailable') : undefined
    }
    const run = new Process(service, memoryStorage(), { passes: 1 })
    // The messages of the second one are missing.
    expect(await run.read()).toHaveLength(3 + 4)
    expect(run.problems).toMatchObject([{ conversationId: ids[1], error: { status: 503 } }])
  })

  test.each([
    [1, 422, 1],
    [2, 410, 3],
  ])('about page %i of a conversation name it, and the others keep their `limit` (%i)', async (page, status, times) => {
    const service = new SimulatedService({ conversations: 3, messages: 6 })
    const id = [...service.conversations.keys()][2] as string
    let unlimited = 0
    service.answer = (path, query) => {
      const isBroken = path.includes(id)
      if (path.endsWith('/messages') && !isBroken && !query.has('limit')) unlimited += 1
      return isBroken && query.has('after') === (page === 2) ? failure(status, 'invalid_request') : undefined
    }
    const run = new Process(service, memoryStorage(), { passes: 1 })
    expect(await run.read()).toHaveLength(3 + 12 + (page === 2 ? 4 : 0))
    expect(run.problems).toMatchObject(Array(times).fill({ conversationId: id, error: { status } }))
    expect(unlimited).toBe(0)
  })

  const ofMessages = (answer: () => Response) => (path: string) => (path.endsWith('/messages') ? answer() : undefined)
  const outage = ofMessages(() => failure(503, 'unavailable'))
  const invalidToken = () => failure(401, 'invalid_token')

  test.each<[string, string, (path: string, service: SimulatedService) => Response | undefined]>([
    ['a token', 'AuthenticationError', ofMessages(invalidToken)],
    [
      'a token, although messages fail',
      'AuthenticationError',
      (path, { counts }) => (path === '/me' && counts.me > 0 ? invalidToken() : outage(path)),
    ],
    ['a scope', 'InsufficientScopeError', ofMessages(() => failure(403, 'insufficient_scope'))],
    [
      'a list that waiting does not mend',
      'UnprocessableError',
      (path) => (path === '/conversations' ? failure(422, 'invalid') : undefined),
    ],
  ])('of %s end the feed', async (_, name, answer) => {
    const service = new SimulatedService({ conversations: 3 })
    service.answer = (path) => answer(path, service)
    await expect(new Process(service, memoryStorage(), { passes: 1 }).read()).rejects.toMatchObject({ name })
  })

  /** Lets a service list these JSON texts before its conversations. */
  const listFirst = (service: SimulatedService, ...texts: readonly string[]) => {
    service.answer = (path) => {
      if (path !== '/conversations') return undefined
      const shown = [...service.conversations.values()].filter(({ entry }) => !service.hidden.has(entry.id))
      const entries = shown.map(({ entry }) => JSON.stringify(entry))
      return new Response(`{"data":[${[...texts, ...entries].join()}],"page_metadata":{"after":null,"before":null}}`)
    }
  }

  test.each(['null', '{}', '{"id":5}', '{"id":""}', '{"id":"\\ud800"}', '"cnv_1"', '[]'])(
    'of entries without an id are told once in a pass, in which nothing is missing: %s',
    async (odd) => {
      const { service, first: gone, read, start } = await filled({ conversations: 4 })
      service.removeConversation(gone)
      const added = service.addMessage(firstOf(service))
      listFirst(service, odd, odd)
      const run = start({ passes: 3 })
      expect(await run.read()).toEqual([`conversations updated ${firstOf(service)}`, `messages created ${added}`])
      const message = expect.stringContaining('`conversations.list` returned an entry without a valid `id`')
      const problem = { error: { message } }
      expect(run.problems).toMatchObject([problem, problem, problem])
      service.answer = undefined
      const later = await read({ passes: 2 })
      expect(later).toEqual([`conversations deleted ${gone}`])
    },
  )

  test.each([
    ['many arrays in arrays', '['.repeat(1000) + ']'.repeat(1000)],
    ['many objects in objects', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`],
  ])('of a conversation with %s are told by its id, and it is skipped until the next pass', async (_, deep) => {
    const { service, ids, read, start } = await filled({ conversations: 4 })
    const [gone = '', broken = '', other = ''] = ids
    service.removeConversation(gone)
    const { entry } = service.conversations.get(broken)!
    const added = [broken, other].map((id) => service.addMessage(id))
    service.hidden.add(broken)
    listFirst(service, JSON.stringify({ ...entry, extra: 'deep' }).replace('"deep"', deep))
    const list = service.answer
    // It is in the list, so this does not mean that it is gone.
    service.answer = (path, ...rest) =>
      isMessagesOf(path, [broken]) ? failure(404, 'not_found') : list?.(path, ...rest)
    const run = start({ passes: 3 })
    expect((await run.read()).sort()).toEqual([
      ...[`conversations deleted ${gone}`, `conversations updated ${other}`, `messages created ${added[1]}`],
    ])
    const message = expect.stringMatching(/^The entry "\w+" has more than 100 levels/)
    expect(run.problems).toMatchObject(Array(3).fill({ conversationId: broken, error: { message } }))
    service.answer = undefined
    service.hidden.clear()
    expect(await read()).toEqual([`conversations updated ${broken}`, `messages created ${added[0]}`])
  })

  test.each(['/conversations', '/messages'])(
    'do not come from the stack if an entry of %s has 50,000 levels',
    async (list) => {
      expect(await readWith(list, '['.repeat(50_000) + ']'.repeat(50_000))).toBe(list === '/messages' ? 1 : 0)
    },
  )

  test('do not come from an id that is twice on a page', async () => {
    const service = new SimulatedService({ conversations: 3 })
    listFirst(service, JSON.stringify(service.conversations.get(firstOf(service))!.entry))
    const list = service.answer
    const message = { id: 'msg_twice', inserted_at: 1 }
    service.answer = (path, ...rest) => {
      if (!isMessagesOf(path, [firstOf(service)])) return list?.(path, ...rest)
      return respond({ data: [message, message], page_metadata: { after: null, before: null } })
    }
    const run = new Process(service, memoryStorage(), { ...slow, passes: 2 })
    expect(await run.read()).toHaveLength(3 + 1 + 2 * 2)
    expect(run.problems).toEqual([])
    expect(run.feed.status().completedAt).toBe(clock.now)
  })

  test.each([
    ['a hundred levels', `${'{"a":['.repeat(49)}1${']}'.repeat(49)}`],
    ['a long array', `[${Array(130_000).fill('1').join()}]`],
    ['an object with many fields', `{${Array.from({ length: 5_000 }, (_, index) => `"${index}k":1`).join()}}`],
    ['names of prototypes', '{"__proto__":{"a":1},"constructor":null,"toJSON":1}'],
    ['a long text', `"${'x'.repeat(130_000)}"`],
  ])('do not come from an entry with %s', async (_, wide) => {
    expect(await readWith('/conversations', wide)).toBe(2)
    expect(await readWith('/messages', wide, 's'.repeat(32))).toBe(2)
  })

  test('a cursor that comes twice begins the list again', async () => {
    const service = new SimulatedService({})
    let times = 0
    service.answer = (path, query) => {
      if (path !== '/conversations' || !query.has('after') || times > 0) return undefined
      times += 1
      return respond({ data: [], page_metadata: { after: query.get('after'), before: null } })
    }
    const run = new Process(service, memoryStorage(), { passes: 1 })
    expect(await run.read()).toHaveLength(33)
    expect(run.problems).toHaveLength(1)
    expect(run.feed.status().completedAt).toBeUndefined()
  })
})

describe('a token', () => {
  test('of another organization reads nothing', async () => {
    const { service, read } = await filled()
    service.me = { organization: { id: 'org_2' } }
    const before = service.counts.lists
    await expect(read()).rejects.toThrow('reads another organization')
    expect(service.counts.lists).toBe(before)
    service.me = {}
    await expect(read()).rejects.toThrow('does not tell the organization')
  })

  test('that a provider changes is asked about before it reads', async () => {
    const service = new SimulatedService({})
    let token = 'swot_one'
    let organization = 'org_1'
    const reads: string[] = []
    service.answer = (path, _, authorization) => {
      if (path === '/me')
        return respond({ organization: { id: authorization.endsWith('one') ? 'org_1' : organization } })
      reads.push(authorization)
      return undefined
    }
    const read = async () => {
      const changes: string[] = []
      const run = new Process(service, memoryStorage(), { passes: 1, accessToken: () => token })
      for await (const { id } of run.feed) {
        changes.push(id)
        token = 'swot_two'
      }
      return changes
    }
    expect(await read()).toHaveLength(33)
    expect(new Set(reads).size).toBe(2)
    token = 'swot_one'
    organization = 'org_2'
    reads.length = 0
    await expect(read()).rejects.toThrow('reads another organization')
    expect(new Set(reads).size).toBe(1)
  })
})

describe('what is stored', () => {
  const texts = async (storage: KeyValueStorage) => {
    const all: string[] = []
    for await (const page of storage.list('')) for (const [key, text] of page) all.push(`${key} ${text}`)
    return all.join('\n')
  }
  const open = async (service: SimulatedService, storage: KeyValueStorage, secret?: string | string[]) => {
    for await (const _ of new Process(service, storage, { passes: 1, secret }).feed) break
  }
  const [old, young] = ['o'.repeat(32), 'y'.repeat(32)]

  test('is encrypted with `secret`, which can be rotated', async () => {
    const service = new SimulatedService({ conversations: 2 })
    const storage = memoryStorage()
    await open(service, storage, old)
    expect(await texts(storage)).not.toMatch(/plain:|usr_cnv|<p>/)
    await expect(open(service, storage, young)).rejects.toThrow('is encrypted with an unknown secret')
    await expect(open(service, storage)).rejects.toThrow('is encrypted with an unknown secret')
    expect(await new Process(service, storage, { passes: 1, secret: [young, old] }).read()).toHaveLength(6)
    const plain = await filled()
    await expect(plain.read({ secret: old })).rejects.toThrow('is not encrypted')
  })

  test('belongs to one feed by its name', async () => {
    const { service, first, read } = await filled({ conversations: 2 })
    const name = 'feed:messages'
    expect(await read({ name })).toHaveLength(6)
    expect(await read({ name })).toEqual([])
    service.addMessage(first)
    expect(await read()).toHaveLength(2)
    expect(await read({ name })).toHaveLength(2)
  })

  test('is refused by the name of its entry and field if it is damaged', async () => {
    const { service, storage, first, read } = await filled({ conversations: 2 })
    const key = `changes:feed:conversations:${first}`
    const text = (await storage.get(key)) as string
    const encode = (value: object) => `plain:${Buffer.from(JSON.stringify(value)).toString('base64url')}`
    const entry = JSON.parse(Buffer.from(text.slice('plain:'.length), 'base64url').toString())
    for (const [content, problem] of [
      [{ ...entry.content, format: 2 }, 'was written by another version'],
      [{ ...entry.content, missing: 'maybe' }, 'is damaged in its field "missing"'],
      [{ ...entry.content, revision: 3 }, 'is damaged in its field "revision"'],
      [[], 'is damaged'],
    ] as const) {
      const now = (await storage.get(key)) as string
      await storage.compareAndSet(key, now, encode({ ...entry, content }))
      const error = await open(service, storage).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ChangeFeedError)
      expect(error).toMatchObject({ remedy: 'fix', message: expect.stringContaining(problem) })
      expect(String(error)).toContain(key)
    }
    // Without the entry, the conversation comes once more.
    await storage.compareAndSet(key, (await storage.get(key)) as string, null)
    expect(await read({ passes: 2 })).toEqual([`conversations created ${first}`])
  })

  test('does not get into an error through the message of a driver', async () => {
    const service = new SimulatedService({ conversations: 1 })
    service.addMessage(firstOf(service), { body_html: 'My secret sorrow' })
    const storage = memoryStorage()
    const loop = new Process(
      service,
      { ...storage, compareAndSet: (key, _, value) => Promise.reject(Object.assign(new Error(`No: ${key} ${value}`))) },
      { passes: 1, signal: AbortSignal.abort(new Error('Over')) },
    )
    await expect(loop.read()).rejects.toThrow('Over')
    const failing: KeyValueStorage = {
      ...storage,
      compareAndSet(key, expected, value) {
        if (key.includes('messages')) throw new Error(`No: ${key} ${value}`)
        return storage.compareAndSet(key, expected, value)
      },
    }
    const controller = new AbortController()
    const messages: string[] = []
    const onProblem = ({ error }: { readonly error: unknown }) => {
      messages.push(String(error), JSON.stringify(error))
      controller.abort(new Error('Over'))
    }
    await expect(new Process(service, failing, { onProblem, signal: controller.signal }).read()).rejects.toThrow('Over')
    expect(messages.join()).toContain('The storage of the change feed failed')
    expect(messages.join()).not.toMatch(/sorrow|plain:\w/)
    expect(messages.join()).not.toContain(Buffer.from('secret sorrow').toString('base64url'))
  })
})

describe('an upgrade', () => {
  test('to another `ignore` takes over differences once, and says so', async () => {
    const { service, first, read, start } = await filled({ conversations: 4 })
    const ignore = ['presigned_url', 'profile_picture_url', 'unread_count']
    const run = start({ ignore, passes: 3 })
    expect(await run.read()).toEqual([])
    expect(run.problems.map(({ error }) => String(error)).join()).toContain('another `ignore`')
    service.touch(first)
    service.editMessage(first, messagesOf(service, first)[0] as string)
    expect(await read({ auditEvery: 1, ignore, passes: 2 })).toHaveLength(1)
  })

  test('that watches messages later begins by `since`', async () => {
    const filledWith = (watch: 'conversations' | 'messages') => filled({ conversations: 4 }, { watch: [watch] })
    expect(await (await filledWith('conversations')).read()).toHaveLength(8)
    const { read } = await filledWith('conversations')
    clock.now += 5000
    expect(await read({ since: 'now' })).toEqual([])
    expect(await (await filledWith('messages')).read()).toHaveLength(4)
  })
})

test('every request is marked as background for the rate limiter', async () => {
  const service = new SimulatedService({ conversations: 2 })
  const seen = new Set<boolean>()
  const workspace = new SupportWorkspace({
    ...{ baseUrl: 'https://service.example', accessToken: 'swot_feed', fetch: service.fetch },
    rateLimiter: { acquire: (_, __, { background }) => void seen.add(background) },
  })
  for await (const _ of new ChangeFeed({ workspace, storage: memoryStorage(), passes: 1 }));
  expect([...seen]).toEqual([true])
})

test('contacts are watched as a list of their own', async () => {
  const service = new SimulatedService({ conversations: 0 })
  const contacts = Array.from({ length: 9 }, (_, index) => ({ id: `ctc_${index}`, blocked: false }))
  service.answer = (path) =>
    path === '/contacts' ? respond({ data: contacts, page_metadata: { after: null, before: null } }) : undefined
  const storage = memoryStorage()
  const read = async (options: Partial<ChangeFeedOptions> = {}) => {
    const run = new Process(service, storage, { ...slow, watch: ['contacts'], passes: 3, ...options })
    return run.read()
  }
  expect(await read()).toHaveLength(9)
  Object.assign(contacts[2] as object, { blocked: true })
  expect(await read()).toEqual(['contacts updated ctc_2'])
  contacts.pop()
  expect(await read()).toEqual([])
  expect(await read({ deletions: ['contacts'] })).toEqual(['contacts deleted ctc_8'])
  expect(service.counts).toMatchObject({ lists: 0, messages: 0 })
})
