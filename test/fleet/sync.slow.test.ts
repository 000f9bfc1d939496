import { expect, type TestContext, test, vi } from 'vitest'
import { claim, LostLeaseError, mirror, release } from '../../examples/fleet-sync/organizations.ts'
import { apply, type SyncOptions, syncOrganization } from '../../examples/fleet-sync/sync-organization.ts'
import type { Change } from '../../src/changes/index.ts'
import { type Conversation, SupportWorkspace } from '../../src/index.ts'
import type { Connection, ConnectionStore } from '../../src/oauth/index.ts'
import type { SandboxOptions } from '../../src/sandbox/index.ts'
import { describeOnPostgres } from './helpers/databases.ts'
import { changesOf, expectReplica, liveItems, openFleet, pageOf, pagesRead } from './helpers/open-fleet.ts'

/** A store whose connection was made at a time, by the clock of the machine of the login. */
function storeWith(connectedAt: number, more: Partial<Connection> = {}): Pick<ConnectionStore, 'get'> {
  const party = { id: 'id', name: 'Acme' }
  const connection = { application: party, organization: party, actor: 'app', connectedAt, ...more }
  return { get: async (key) => ({ ...connection, key }) as Connection }
}

/** A change of a conversation. */
function changeTo(summary: string, key = summary): Change {
  const value = { id: 'one', summary } as Conversation
  return { resource: 'conversations', kind: 'updated', id: 'one', conversationId: 'one', key, value }
}

const outcome = { isDone: true, wait: 0, problem: null, skipped: 0, requests: 1, refused: 0 }

/** The first organization of a sandbox, connected, with a client of a person who changes things. */
async function createReplica(context: TestContext, databaseUrl: string, options?: SandboxOptions) {
  let ahead = 0
  const fleet = await openFleet(context, databaseUrl, { now: () => Date.now() + ahead, ...options })
  const { sandbox, database, store } = fleet
  const key = await fleet.connect()
  const accessToken = sandbox.issueToken({ actor: 'self' })
  return {
    ...{ ...fleet, key },
    person: new SupportWorkspace({ baseUrl: sandbox.url, accessToken, actor: 'self' }),
    /** Runs a pass, a minute after the one before. Reads all messages. */
    pass: (more: Partial<SyncOptions> = {}) => {
      ahead += 60_000
      return syncOrganization({ database, store, key, interval: 60_000, auditEvery: 1, ...more })
    },
    row: () => fleet.row(key),
    changes: (id?: string) => changesOf(database, key, id),
    expectCopy: () => expectReplica(database, sandbox, key),
  }
}

describeOnPostgres((createDatabase) => {
  const create = async (context: TestContext, options?: SandboxOptions) =>
    createReplica(context, await createDatabase(), options)

  test('copies every item, and is due again after the interval, by the clock of the database', async (context) => {
    const { sandbox, pass, row, changes, expectCopy } = await create(context)
    // The clock of this machine is a day ahead.
    vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true, now: Date.now() + 86_400_000 })
    context.onTestFinished(() => void vi.useRealTimers())
    expect(await pass({ interval: 3_600_000 })).toBe('done')
    vi.useRealTimers()
    await expectCopy()
    expect(pagesRead(sandbox)).toHaveLength(1 + 3)
    expect(new Set(await changes())).toEqual(new Set(['created conversations', 'created messages']))
    const { due_at, completed_at, ...first } = await row()
    expect(first).toMatchObject({ passes: 1, problem: null, skipped: 0, requests: 1 + 3 + 1, refused: 0 })
    expect(Math.abs(completed_at!.getTime() - Date.now())).toBeLessThan(60_000)
    expect(Math.abs(due_at.getTime() - Date.now() - 3_600_000)).toBeLessThan(60_000)
  })

  test('reports what was created, updated and deleted, each exactly once', async (context) => {
    const { sandbox, person, pass, changes, expectCopy } = await create(context)
    const [conversation] = sandbox.state.conversations.map(({ id }) => id) as [string]
    const send = () => person.messages.create(conversation, { body_html: '<p>Hello</p>' })
    const edited = await send()
    const removed = await send()
    await pass()
    const added = await send()
    await person.conversations.update(conversation, { status: 'closed', pinned: true })
    await person.messages.update(conversation, edited.id, { body_html: '<p>Hello again</p>' })
    await person.messages.delete(conversation, removed.id)
    await pass()
    await pass()
    await pass()
    expect(await changes(conversation)).toEqual(['created conversations', 'updated conversations'])
    expect(await changes(edited.id)).toEqual(['created messages', 'updated messages'])
    expect(await changes(removed.id)).toEqual(['created messages', 'deleted messages'])
    expect(await changes(added.id)).toEqual(['created messages'])
    await expectCopy()
  })

  test('deletes a conversation that is gone with its messages, and restores all of it', async (context) => {
    const { sandbox, pass, changes, expectCopy } = await create(context)
    await pass()
    const [gone, ...others] = sandbox.state.conversations
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: pageOf(others), times: 2 })
    const stop = sandbox.faults.add({ path: new RegExp(`${gone!.id}/messages$`), status: 404, times: Infinity })
    await pass()
    expect(await changes(gone!.id)).toEqual(['created conversations'])
    await pass()
    expect((await changes()).filter((change) => change.startsWith('deleted')).sort()).toEqual([
      'deleted conversations',
      ...sandbox.state.messages(gone!.id).map(() => 'deleted messages'),
    ])
    stop()
    await pass()
    await expectCopy()
  })

  test('applies a change that comes again once, and a change completely or not at all', async (context) => {
    const { database, key, changes } = await create(context)
    const claimed = (await claim(database, key))!
    await apply(database, claimed, changeTo('first'))
    await apply(database, claimed, changeTo('second'))
    // The job was killed before the feed knew that this change was applied.
    await apply(database, claimed, changeTo('first'))
    expect(await changes()).toEqual(['updated conversations', 'updated conversations'])
    expect(await liveItems(database, key)).toEqual(new Map([['one', { id: 'one', summary: 'second' }]]))
    await database.query(`ALTER TABLE items ADD CHECK (data->>'summary' <> 'bad')`)
    await expect(apply(database, claimed, changeTo('bad'))).rejects.toThrow('check constraint')
    expect(await changes()).toHaveLength(2)
  })

  test('only the newest of two jobs can write', async (context) => {
    const { database, key, row, changes } = await create(context)
    const older = (await claim(database, key))!
    const newer = (await claim(database, key))!
    await apply(database, newer, changeTo('new'))
    await expect(apply(database, older, changeTo('old'))).rejects.toBeInstanceOf(LostLeaseError)
    await release(database, older, outcome)
    expect(await row()).toMatchObject({ passes: 0, requests: 0 })
    expect(await liveItems(database, key)).toEqual(new Map([['one', { id: 'one', summary: 'new' }]]))
    expect(await changes()).toHaveLength(1)
    await release(database, newer, outcome)
    expect(await row()).toMatchObject({ passes: 1, requests: 1 })
  })

  test('a job that was stopped before it wrote does not replace what a newer job has written', async (context) => {
    const { sandbox, database, person, pass, changes, expectCopy } = await create(context, { conversations: 1 })
    const { id } = sandbox.state.conversations[0]!
    const stopped = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const slow = new Proxy(database, {
      get(target, name) {
        if (name !== 'query') return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)
        return async (sql: string, values: unknown[]) => {
          if (sql.includes('INSERT INTO changes')) {
            stopped.resolve()
            await goOn.promise
          }
          return target.query(sql, values)
        }
      },
    })
    const older = pass({ database: slow })
    await stopped.promise
    await pass()
    await person.conversations.update(id, { status: 'closed' })
    await pass()
    goOn.resolve()
    expect(await older).toBe('gone')
    expect(await changes(id)).toEqual(['created conversations', 'updated conversations'])
    await expectCopy()
  })

  test('two jobs at the same time lose and double nothing', async (context) => {
    const { sandbox, pass, changes, expectCopy } = await create(context, { conversations: 20 })
    const results = await Promise.all([pass(), pass()])
    expect(results).toContain('done')
    await pass()
    await expectCopy()
    const items = sandbox.state.conversations.flatMap(({ id }) => [id, ...sandbox.state.messages(id)])
    expect(await changes()).toHaveLength(items.length)
  })

  test('skips a conversation that cannot be read, names it until it can be read, and goes on', async (context) => {
    const { sandbox, person, pass, row, changes, expectCopy } = await create(context, { conversations: 8 })
    await pass()
    const [bad, worse, good] = sandbox.state.conversations.map(({ id }) => id) as [string, string, string]
    const path = new RegExp(`(${bad}|${worse})/messages$`)
    const added = await person.messages.create(good, { body_html: '<p>New</p>' })
    const stop = sandbox.faults.add({ path, status: 403, times: Infinity })
    expect(await pass()).toBe('done')
    expect(await changes(added.id)).toEqual(['created messages'])
    const problem = expect.stringMatching(`^Skipped the messages of conversation (${bad}|${worse}): `)
    expect(await row()).toMatchObject({ passes: 2, skipped: 2, problem })
    stop()
    await pass()
    expect(await row()).toMatchObject({ passes: 3, skipped: 0, problem: null })
    await expectCopy()
  })

  test.for<[number, object, string, number]>([
    [429, { retryAfter: 1e12 }, 'waits', 3_600_000],
    [403, {}, 'rejects', 60_000],
  ])('after a %i, %o, the job %s, and is due again in %i ms', async ([status, more, end, wait], context) => {
    const { sandbox, pass, row } = await create(context)
    sandbox.faults.add({ path: /\/conversations$/, status, ...more })
    if (end === 'waits') expect(await pass()).toBe('waits')
    else await expect(pass()).rejects.toMatchObject({ status })
    const { due_at, problem, passes, refused } = await row()
    expect(Math.abs(due_at.getTime() - Date.now() - wait)).toBeLessThan(10_000)
    expect({ problem, passes, refused }).toEqual({
      problem: expect.any(String),
      passes: 0,
      refused: status === 429 ? 1 : 0,
    })
  })

  test('a job that is told to end gives the organization back', async (context) => {
    const { sandbox, pass, row } = await create(context, { conversations: 20 })
    sandbox.faults.add({ path: /messages$/, latency: 50, times: Infinity })
    const stop = new AbortController()
    const running = pass({ signal: stop.signal })
    await vi.waitFor(() => expect(pagesRead(sandbox).length).toBeGreaterThan(3), { timeout: 30_000, interval: 10 })
    stop.abort(new Error('The worker is shutting down.'))
    await expect(running).rejects.toThrow('The worker is shutting down.')
    const { due_at, passes } = await row()
    expect(passes).toBe(0)
    expect(due_at.getTime()).toBeLessThanOrEqual(Date.now())
  })

  test.for([
    ['revoked', storeWith(1, { revokedAt: 2 })],
    ['no token', { get: async () => undefined }],
  ] as const)(
    'stops the jobs of an organization that is %s, until a login with any clock',
    async ([ended, store], context) => {
      const { database, key, pass, row } = await create(context)
      const running = (await claim(database, key))!
      expect(await mirror(database, store, key)).toBe(true)
      expect(await mirror(database, store, key)).toBe(false)
      expect(await row()).toMatchObject({ ended, ended_at: expect.any(Date) })
      expect(await pass()).toBe('gone')
      await expect(apply(database, running, changeTo('late'))).rejects.toBeInstanceOf(LostLeaseError)
      const notices = await database.query('SELECT login FROM notices')
      expect(notices.rows).toEqual(ended === 'revoked' ? [{ login: 1 }] : [])
      // The machine of the new login has a clock that is far behind.
      expect(await mirror(database, storeWith(-600_000), key)).toBe(true)
      expect(await row()).toMatchObject({ ended: null, ended_at: null, login: -600_000 })
      expect(await pass()).toBe('done')
    },
  )

  test('follows a login that replaces another, and reports the revocation of each once', async (context) => {
    const { database, key, row } = await create(context)
    for (const login of [1, -600_000, 7]) {
      await mirror(database, storeWith(login), key)
      expect(await row()).toMatchObject({ ended: null, login })
      await mirror(database, storeWith(login, { revokedAt: 1 }), key)
      expect(await row()).toMatchObject({ ended: 'revoked', login })
    }
    // A process that was slow writes an older state, and the next reading of the store corrects it.
    await mirror(database, storeWith(1), key)
    await mirror(database, storeWith(7, { revokedAt: 1 }), key)
    expect(await row()).toMatchObject({ ended: 'revoked', login: 7 })
    const { rows } = await database.query('SELECT login FROM notices ORDER BY login')
    expect(rows).toEqual([{ login: -600_000 }, { login: 1 }, { login: 7 }])
  })

  test('stores text with a NUL and half of a surrogate pair unchanged', async (context) => {
    const { sandbox, database, key, pass, row } = await create(context, {
      conversations: 1,
      messagesPerConversation: 0,
    })
    const odd = { ...sandbox.state.conversations[0]!, summary: 'a\0b\ud800c' }
    sandbox.faults.add({ path: /\/conversations$/, status: 200, body: JSON.stringify(pageOf([odd])) })
    await pass()
    expect([...(await liveItems(database, key)).values()]).toEqual([odd])
    await mirror(database, storeWith(5, { organization: { id: 'id', name: 'a\0b\ud800c' } }), key)
    expect((await row()).name).toBe('a\uFFFDb\uFFFDc')
  })
})
