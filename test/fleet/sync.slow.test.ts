import { expect, test, vi } from 'vitest'
import { noteSkipped } from '../../examples/fleet-sync/notes.ts'
import { claim, LostLeaseError, mirror, nextDue } from '../../examples/fleet-sync/organizations.ts'
import { save } from '../../examples/fleet-sync/replica.ts'
import { clock } from '../../examples/fleet-sync/tables.ts'
import { memoryStorage } from '../../src/storage/index.ts'
import { describeOnDatabases } from './helpers/databases.ts'
import {
  changesOf,
  connection,
  createReplica,
  key,
  liveItems,
  organizationOf,
  pageOf,
  pagesRead,
} from './helpers/replica.ts'

describeOnDatabases((createDatabase) => {
  const create = async (context: Parameters<typeof createReplica>[0], options = {}) =>
    createReplica(context, await createDatabase(), options)

  test('copies every item, and fetches each page once', async (context) => {
    const { sandbox, database, pass, expectCopy } = await create(context, { conversations: 105 })
    await pass()
    await expectCopy()
    expect(pagesRead(sandbox)).toHaveLength(2 + 105)
    expect(new Set((await changesOf(database)).map(({ change }) => change))).toEqual(new Set(['created']))
    expect(await organizationOf(database)).toMatchObject({ passes: 1, position: null, problem: null })
  })

  test('reports what was created, updated, deleted and restored, each exactly once', async (context) => {
    const { sandbox, database, person, pass, expectCopy } = await create(context)
    const [conversation, hidden] = sandbox.state.conversations.map(({ id }) => id) as [string, string]
    const send = () => person.messages.create(conversation, { body_html: '<p>Hello</p>' })
    const edited = await send()
    const removed = await send()
    await pass()
    const added = await send()
    await person.conversations.update(conversation, { status: 'closed', pinned: true })
    await person.messages.update(conversation, edited.id, { body_html: '<p>Hello again</p>' })
    await person.messages.delete(conversation, removed.id)
    const [vanishing] = sandbox.state.messages(hidden)
    sandbox.faults.add({ path: new RegExp(`${hidden}/messages$`), status: 200, body: pageOf([]), times: 2 })
    await pass()
    await pass()
    await pass()
    const kinds = async (id: string) => (await changesOf(database, id)).map(({ change }) => change)
    expect(await kinds(conversation)).toEqual(['created', 'updated'])
    expect(await kinds(edited.id)).toEqual(['created', 'updated'])
    expect(await kinds(removed.id)).toEqual(['created', 'deleted'])
    expect(await kinds(added.id)).toEqual(['created'])
    expect(await kinds(vanishing!.id)).toEqual(['created', 'deleted', 'restored'])
    await expectCopy()
  })

  test('does not report an item as deleted that one reading of a list missed, or two in turn', async (context) => {
    const { sandbox, database, pass, expectCopy } = await create(context)
    await pass()
    const [first, second, third] = sandbox.state.conversations
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: pageOf([second, third]) })
    sandbox.faults.add({ path: new RegExp(`${first!.id}/messages$`), status: 200, body: pageOf([]) })
    await pass()
    for (const body of [pageOf([second, third]), pageOf([first, third])]) {
      sandbox.faults.add({ path: /\/conversations$/, status: 200, body })
    }
    await pass()
    expect(sandbox.faults.pending).toBe(0)
    expect((await changesOf(database)).filter(({ change }) => change !== 'created')).toEqual([])
    await expectCopy()
  })
  test('reports the messages of a conversation that is gone as deleted, and restores all of it', async (context) => {
    const { sandbox, database, pass, expectCopy } = await create(context)
    await pass()
    const [gone, ...others] = sandbox.state.conversations
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: pageOf(others), times: 2 })
    sandbox.faults.add({ path: new RegExp(`${gone!.id}/messages$`), status: 404, times: 2 })
    await pass({ readAllEvery: 1_000_000 })
    const deleted = (await changesOf(database)).filter(({ change }) => change === 'deleted').map(({ id }) => id)
    expect(deleted.sort()).toEqual([gone!.id, ...sandbox.state.messages(gone!.id).map(({ id }) => id)].sort())
    await pass({ readAllEvery: 1_000_000 })
    await expectCopy()
  })

  test('continues after a slice, within a list and within its second reading', async (context) => {
    const { sandbox, database, person, pass, expectCopy } = await create(context, {
      conversations: 110,
      messagesPerConversation: 1,
    })
    // Each slice is over after a page.
    expect(await pass({ slice: -1, readAllEvery: 1_000_000 })).toBeGreaterThan(111)
    expect(pagesRead(sandbox)).toHaveLength(2 + 110)
    await expectCopy()
    const { id } = sandbox.state.conversations[0]!
    const message = await person.messages.create(id, { body_html: '<p>Hello</p>' })
    await pass({ slice: -1 })
    await person.messages.delete(id, message.id)
    await pass({ slice: -1 })
    expect((await changesOf(database)).filter(({ change }) => change === 'deleted')).toMatchObject([
      { id: message!.id },
    ])
    await expectCopy()
  })

  const nothing = { list: '', items: [], deleted: [], seen: [] }
  const noProgress = { position: null, problem: null, requests: 0, refused: 0 }
  const item = { id: 'one', hash: '', data: '{}', change: 'created' as const }

  test('only the newest of two owners of a sync pass can write', async (context) => {
    const { database, pass, expectCopy } = await create(context)
    const older = (await claim(database, key))!
    await claim(database, key)
    for (const step of [nothing, { ...nothing, items: [item] }]) {
      await expect(save(database, older, step, noProgress)).rejects.toBeInstanceOf(LostLeaseError)
    }
    expect(await organizationOf(database)).toMatchObject({ passes: 0, changes: 0 })
    await pass()
    await expectCopy()
  })

  test('writes a step completely or not at all', async (context) => {
    const { database } = await create(context)
    const claimed = (await claim(database, key))!
    // The second item cannot be stored.
    const step = { ...nothing, items: [item, { ...item, id: null as never }] }
    const position = { list: 'later', checkpoint: { cursor: null, done: true }, tries: 0 }
    await expect(save(database, claimed, step, { ...noProgress, position })).rejects.toThrow()
    expect(await organizationOf(database)).toMatchObject({ changes: 0, position: null })
    expect(await liveItems(database, 'conversation')).toEqual(new Map())
    expect(await changesOf(database)).toEqual([])
  })
  test('stores a long list that the service returns without pages, and deletes it', async (context) => {
    const size = { conversations: 1, messagesPerConversation: 1_500 }
    const { sandbox, database, pass, expectCopy } = await create(context, size)
    const messages = sandbox.state.messages(sandbox.state.conversations[0]?.id ?? '')
    sandbox.faults.add({ path: /\/messages$/, status: 200, body: { data: messages }, times: Infinity })
    await pass()
    await expectCopy()
    sandbox.faults.clear()
    sandbox.faults.add({ path: /\/messages$/, status: 404, times: 2 })
    await pass()
    const changes = (await changesOf(database)).map(({ kind, change }) => `${change} ${kind}`)
    expect(changes.slice(1_501)).toEqual(Array(1_500).fill('deleted message'))
    expect(await liveItems(database, 'conversation')).toHaveLength(1)
  })

  test.for([['conversations'], ['messages']] as const)(
    'starts a list of %s over when a saved cursor is rejected',
    async ([list], context) => {
      const { sandbox, database, pass, expectCopy } = await create(context)
      await pass()
      const [first] = sandbox.state.conversations.map(({ id }) => id).sort()
      const checkpoint = { cursor: 'expired', done: false }
      const position = JSON.stringify({ list: list === 'messages' ? first : '', checkpoint, tries: 0 })
      await database.updateTable('organizations').set({ position }).execute()
      await pass()
      expect(sandbox.requests.filter(({ status }) => status === 400)).toHaveLength(1)
      expect((await changesOf(database)).filter(({ change }) => change !== 'created')).toEqual([])
      await expectCopy()
    },
  )

  test('puts conversations aside that fail, names them, and goes on with the others', async (context) => {
    const { sandbox, database, slice, pass, person, expectCopy } = await create(context, { conversations: 8 })
    await pass()
    const ids = sandbox.state.conversations.map(({ id }) => id).sort()
    const bad = ids.slice(0, 6)
    for (const id of ids) await person.messages.create(id, { body_html: '<p>New</p>' })
    const stop = sandbox.faults.add({ path: new RegExp(`(${bad.join('|')})/messages$`), status: 500, times: Infinity })
    const tries = async (readAllEvery: number) => {
      const before = sandbox.requests.length
      expect(await slice({ readAllEvery })).toBe('done')
      return sandbox.requests.slice(before).filter(({ status }) => status === 500).length
    }
    expect(await tries(1)).toBe(6)
    for (const id of ids.slice(6)) {
      expect((await liveItems(database, 'message')).values()).toContainEqual(sandbox.state.messages(id).at(-1))
    }
    expect(await organizationOf(database)).toMatchObject({ passes: 2, problem: expect.stringContaining(bad[5]!) })
    const named = database.selectFrom('items').select('id').where('problem', 'is not', null).orderBy('id')
    expect((await named.execute()).map(({ id }) => id).sort()).toEqual(bad)
    expect((await changesOf(database)).filter(({ change }) => change === 'deleted')).toEqual([])
    const failures = database.selectFrom('failures').select(['remedy', 'count'])
    expect(await failures.execute()).toEqual([{ remedy: 'retry', count: 6 }])
    expect(await tries(1_000_000)).toBe(6)
    expect(await tries(1_000_000)).toBe(6)
    // From the third failure on, each is tried in one of so many sync passes.
    const later = [await tries(3), await tries(3), await tries(3)]
    expect(later.reduce((sum, count) => sum + count)).toBe(6)
    expect(Math.max(...later)).toBeLessThan(6)
    stop()
    await pass()
    expect(await organizationOf(database)).toMatchObject({ problem: null })
    expect(await named.execute()).toEqual([])
    await expectCopy()
  })

  test('does not load all conversations in each slice', async (context) => {
    const { sandbox, database, pass, expectCopy } = await create(context, {
      conversations: 500,
      messagesPerConversation: 0,
    })
    await pass()
    let rows = 0
    const counting = database.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        rows += result.rows.length
        return result
      },
    })
    // Each slice is over after a page.
    const slices = await pass({ database: counting, slice: -1, readAllEvery: 1_000_000 })
    expect(slices).toBeGreaterThan(4)
    // Each once for its page and once at the end of the list, and a few of each slice.
    expect(rows).toBeLessThan(2 * 500 + 10 * slices)
    expect(pagesRead(sandbox).filter((page) => page.startsWith('/api/oauth/v1/conversations?'))).toHaveLength(2 * 5)
    await expectCopy()
  })

  test('adds one note to a conversation whose messages are skipped, also if its response is lost', async (context) => {
    const { sandbox, database, workspace, pass } = await create(context)
    await pass()
    const [{ id }] = sandbox.state.conversations as [{ id: string }, ...unknown[]]
    const failing = database.updateTable('items').set({ problem: 'It fails.', failures: 3 })
    await failing.where('id', '=', id).execute()
    const parts = { database, storage: memoryStorage() }
    sandbox.faults.add({ method: 'POST', path: /notes$/, drop: 'after-effect' })
    await noteSkipped(workspace, parts, key)
    await noteSkipped(workspace, parts, key)
    expect(sandbox.state.notes(id)).toHaveLength(1)
  })

  test('skips nothing while the service fails as a whole', async (context) => {
    const { sandbox, database, slice } = await create(context)
    sandbox.faults.add({ path: /\/conversations$/, status: 500, times: Infinity, after: 1 })
    sandbox.faults.add({ path: /\/messages$/, status: 500, times: Infinity })
    for (let tries = 1; tries < 6; tries += 1) await expect(slice()).rejects.toMatchObject({ status: 500 })
    expect(await database.selectFrom('items').select('id').where('problem', 'is not', null).execute()).toEqual([])
  })

  test.for<[string, unknown]>([
    ['no id', {}],
    ['a number as id', { id: 7 }],
    ['an id that is too long', { id: 'x'.repeat(201) }],
    ['an id that is part of a path', { id: '..' }],
    ['an id with a NUL', { id: 'a\0b' }],
    ['an id with half of a surrogate pair', { id: '\ud800' }],
    ['null instead of an item', null],
  ])('skips %s, and says so until the next sync pass', async ([, item], context) => {
    const { sandbox, database, pass, expectCopy } = await create(context)
    const body = pageOf([item, ...sandbox.state.conversations])
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: JSON.stringify(body) })
    await pass()
    expect(await organizationOf(database)).toMatchObject({ problem: expect.stringContaining('Skipped an item') })
    await expectCopy()
    await pass()
    expect(await organizationOf(database)).toMatchObject({ problem: null })
  })

  test('stores text with a NUL and half of a surrogate pair unchanged', async (context) => {
    const { sandbox, database, pass } = await create(context, { conversations: 1 })
    const [item] = sandbox.state.conversations
    const odd = { ...item, summary: 'a\0b\ud800c' }
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: JSON.stringify(pageOf([odd])) })
    await pass()
    expect([...(await liveItems(database, 'conversation')).values()]).toEqual([odd])
  })

  test('ignores a new URL of an attachment', async (context) => {
    const { sandbox, database, pass } = await create(context, { conversations: 1 })
    const { id } = sandbox.state.conversations[0]!
    const [message] = sandbox.state.messages(id)
    const body = (url: string) => pageOf([{ ...message, attachments: [{ id: 'a', presigned_url: url }] }])
    for (const url of ['one', 'two']) {
      sandbox.faults.add({ path: /messages$/, status: 200, body: body(url) })
      await pass()
    }
    expect((await changesOf(database, message!.id)).map(({ change }) => change)).toEqual(['created'])
  })

  test('reads messages only of conversations that changed, and of each other one once in so many sync passes', async (context) => {
    const { sandbox, person, pass, expectCopy } = await create(context, { conversations: 20 })
    await pass({ readAllEvery: 4 })
    const [changed] = sandbox.state.conversations
    await person.messages.create(changed!.id, { body_html: '<p>New</p>' })
    const counts: string[][] = []
    for (let round = 1; round <= 4; round += 1) {
      const before = pagesRead(sandbox).length
      await pass({ readAllEvery: 4 })
      counts.push(pagesRead(sandbox).slice(before))
    }
    expect(counts[0]!.join()).toContain(changed!.id)
    expect(counts.map(({ length }) => length).every((length) => length < 20)).toBe(true)
    expect(new Set(counts.flat()).size).toBe(1 + 20)
    await expectCopy()
  })

  test.for<[number, object, number]>([
    [429, { retryAfter: 100 }, 100_000],
    [429, { retryAfter: 1e12 }, 3_600_000],
    [403, {}, 60_000],
  ])('after a %i with %o the organization is due again in %i ms', async ([status, more, wait], context) => {
    const { sandbox, database, slice } = await create(context)
    sandbox.faults.add({ path: /\/conversations$/, status, ...more })
    const before = Date.now()
    await expect(slice()).rejects.toMatchObject({ status })
    const { due_at, problem, queued_at } = await organizationOf(database)
    expect(Math.abs(due_at - before - wait)).toBeLessThan(10_000)
    expect({ problem, queued_at }).toEqual({ problem: expect.any(String), queued_at: null })
  })

  test.for<[string, Parameters<typeof mirror>[2]]>([
    ['revoked', connection(1, { revokedAt: 2 })],
    ['no token', undefined],
    ['unreadable', 'unreadable' as const],
  ])(
    'stops the sync of an organization that is %s, until there is a new login with any clock',
    async ([ended, found], context) => {
      const { database, slice, pass, expectCopy } = await create(context)
      const running = (await claim(database, key))!
      expect(await mirror(database, key, found)).toBe(true)
      expect(await mirror(database, key, found)).toBe(false)
      expect(await organizationOf(database)).toMatchObject({ ended, ended_at: expect.any(Number) })
      expect(await slice()).toBe('gone')
      await expect(save(database, running, nothing, noProgress)).rejects.toBeInstanceOf(LostLeaseError)
      const notices = await database.selectFrom('notices').select('login').execute()
      expect(notices).toEqual(ended === 'revoked' ? [{ login: 1 }] : [])
      // The machine of the new login has a clock that is far behind.
      expect(await mirror(database, key, connection(-600_000))).toBe(true)
      expect(await organizationOf(database)).toMatchObject({ ended: null, ended_at: null, login: -600_000 })
      await pass()
      await expectCopy()
    },
  )

  test('follows a login that replaces another, with any clock, and reports the revocation of each', async (context) => {
    const { database } = await create(context)
    for (const login of [1, -600_000, 7]) {
      await mirror(database, key, connection(login))
      expect(await organizationOf(database)).toMatchObject({ ended: null, login })
      await mirror(database, key, connection(login, { revokedAt: 1 }))
      expect(await organizationOf(database)).toMatchObject({ ended: 'revoked', login })
    }
    // A process that was slow writes an older state, and the next look at the store corrects it.
    await mirror(database, key, connection(1))
    await mirror(database, key, connection(7, { revokedAt: 1 }))
    expect(await organizationOf(database)).toMatchObject({ ended: 'revoked', login: 7 })
    await mirror(database, key, connection(-5))
    await mirror(database, key, connection(-9))
    expect(await organizationOf(database)).toMatchObject({ ended: null, login: -9 })
    expect(await database.selectFrom('notices').select('login').orderBy('login').execute()).toEqual([
      { login: -600_000 },
      { login: 1 },
      { login: 7 },
    ])
  })

  test('gives each organization its own place in the interval', async (context) => {
    const { database } = await create(context)
    const interval = 60_000
    const now = 1_700_000_000_000
    const dueAt = async (key: string, at: number) => {
      context.onTestFinished(() => void vi.restoreAllMocks())
      const fixed = database.selectNoFrom(({ cast, val }) => cast<number>(val(at), 'bigint').as('now'))
      vi.spyOn(clock, 'now').mockReturnValue(fixed as never)
      const asked = database.selectNoFrom(() => nextDue(database, key, interval).as('due'))
      return (await asked.executeTakeFirstOrThrow()).due
    }
    const places: number[] = []
    for (let index = 0; index < 600; index += 1) places.push((await dueAt(`app.a.${index}`, now)) - now)
    expect(Math.min(...places)).toBeGreaterThan(0)
    expect(Math.max(...places)).toBeLessThanOrEqual(interval)
    for (let part = 0; part < 6; part += 1) {
      const inPart = places.filter((place) => Math.floor((place - 1) / 10_000) === part)
      expect(inPart.length).toBeGreaterThan(50)
    }
    const due = await dueAt('app.a.1', now)
    expect(await dueAt('app.a.1', due)).toBe(due + interval)
  })

  test('stores no time of the machine that runs it, whose clock may be wrong', async (context) => {
    const { database, person, sandbox, slice, pass } = await create(context)
    const real = Date.now()
    context.onTestFinished(() => void vi.useRealTimers())
    vi.useFakeTimers({ toFake: ['Date'], now: real + 86_400_000 })
    await pass()
    await person.messages.create(sandbox.state.conversations[0]!.id, { body_html: '<p>New</p>' })
    await pass()
    const complete = await organizationOf(database)
    sandbox.faults.add({ path: /conversations$/, status: 429, retryAfter: 100 })
    await expect(slice()).rejects.toMatchObject({ status: 429 })
    const paced = await organizationOf(database)
    await save(database, (await claim(database, key))!, nothing, { ...noProgress, position: null, dueAt: undefined })
    await mirror(database, key, undefined)
    const ended = await organizationOf(database)
    const changes = await changesOf(database)
    const times = {
      added: complete.added_at,
      due: complete.due_at,
      completed: complete.completed_at,
      'due after a 429': paced.due_at,
      'due after it ended': ended.due_at,
      ended: ended.ended_at,
      'first change': changes[0]!.at,
      'last change': changes.at(-1)!.at,
    }
    const wrong = Object.entries(times).filter(([, time]) => Math.abs((time ?? 0) - real) > 600_000)
    expect(wrong).toEqual([])
  })
})
