import { inspect } from 'node:util'
import type { ClientOptions, Middleware, SupportWorkspace } from 'support-workspace-sdk'
import { type UnconfirmedWriteError, WriteJournal } from 'support-workspace-sdk/journal'
import type { FaultRule, SandboxOptions } from 'support-workspace-sdk/sandbox'
import { type KeyValueStorage, memoryStorage, sqliteStorage } from 'support-workspace-sdk/storage'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { rejection } from '../helpers/client.ts'
import { listedWithFailingCallbacks } from '../helpers/listed-with-failing-callbacks.ts'
import {
  absent,
  body_html,
  clientOf,
  decoded,
  encoded,
  fetchOf,
  fetchWithMe,
  open,
  openWith,
  skipWaits,
  unconfirmed,
} from './helpers.ts'

beforeEach(skipWaits)

describe('a write', () => {
  test('is sent once, and later runs know its id', async () => {
    const { reply, sent, journal } = open()
    const first = await reply()
    expect(first).toEqual({ id: sent()[0], data: expect.objectContaining({ body_html }) })
    expect(await reply()).toEqual({ id: first.id })
    expect(sent()).toHaveLength(1)
    expect(await journal.get('reply')).toMatchObject({ key: 'reply', state: 'applied', id: first.id })
  })

  const dayBehind = { now: () => Date.now() - 86_400_000 }

  test.each<[string, Partial<FaultRule>, { sent: number; state?: string; error?: object }, SandboxOptions?]>([
    ['whose response is lost is found', { drop: 'after-effect' }, { sent: 1, state: 'applied' }],
    ['whose response is cut off is found', { drop: 'mid-body' }, { sent: 1, state: 'applied' }],
    ['after a 502 with an effect is found', { status: 502, effect: true }, { sent: 1, state: 'applied' }],
    ['is found by the clock of the service', { drop: 'after-effect' }, { sent: 1, state: 'applied' }, dayBehind],
    ['whose effect is late is found', { status: 504, lateEffect: 25_000 }, { sent: 1, state: 'applied' }],
    ['that was not sent is retried', { drop: 'refused' }, { sent: 1, state: 'applied' }],
    ['that is limited waits', { status: 429, retryAfter: 3 }, { sent: 1, state: 'applied' }],
    ['that is refused frees its key', { status: 422 }, { sent: 0, error: { name: 'UnprocessableError' } }],
    ['that is never sent frees its key', { drop: 'refused', times: 3 }, { sent: 0, error: { outcome: 'not-sent' } }],
    [
      'without an effect stays unconfirmed',
      { status: 503 },
      { sent: 0, state: 'unconfirmed', error: { remedy: 'verify' } },
    ],
    [
      'whose effect comes too late stays unconfirmed',
      { drop: 'before-effect', lateEffect: 45_000 },
      { sent: 0, state: 'unconfirmed', error: absent },
    ],
    [
      'stays unconfirmed if the list has more than twenty pages',
      { drop: 'after-effect' },
      { sent: 1, state: 'unconfirmed', error: unconfirmed('unclear') },
      { maxLimit: 1, messagesPerConversation: 22 },
    ],
  ])('%s', async (_, fault, expected, options) => {
    const { reply, sent, journal } = openWith(fault, options)
    const [result] = await Promise.allSettled([reply()])
    expect(result).toMatchObject(
      expected.error ? { reason: expected.error } : { status: 'fulfilled', value: { id: sent()[0] } },
    )
    expect(sent()).toHaveLength(expected.sent)
    expect((await journal.get('reply'))?.state).toBe(expected.state)
  })

  test('is recognized although the service changes its HTML', async () => {
    const { sandbox, reply, start } = openWith({ drop: 'after-effect' })
    const changed = '<div dir=\\"auto\\">On it\\n &#38;&nbsp;thanks.</div>'
    const fetch = fetchOf(sandbox, async (response) => {
      return new Response((await response.text()).replaceAll(body_html, changed), response)
    })
    const other = start({ fetch })
    expect(await other.reply()).toEqual({ id: expect.any(String) })
    expect((await reply()).data).toBeUndefined()
  })

  test('that the service shows too early or from somebody else is not taken for it', async () => {
    const { sandbox, conversation, reply, workspace, start, fail } = open()
    await workspace.messages.create(conversation, { body_html })
    await vi.advanceTimersByTimeAsync(301_000)
    const accessToken = sandbox.issueToken({ actor: 'self', role: 'agent' })
    await start({ accessToken }).workspace.messages.create(conversation, { body_html })
    fail({ status: 503 })
    expect(await rejection(reply())).toMatchObject(absent)
  })

  test('is checked by its author, also with the token of somebody else', async () => {
    const { sandbox, start, reply, sent } = openWith({ status: 504, lateEffect: 45_000 })
    await rejection(reply())
    await vi.advanceTimersByTimeAsync(20_000)
    const accessToken = sandbox.issueToken({ actor: 'self', role: 'agent' })
    expect(await start({ accessToken }).reply()).toEqual({ id: sent()[0] })
  })

  test('goes by the clock of the service, also where a new process checks only once', async () => {
    const { start, reply, sent, workspace, conversation, journal } = openWith({ status: 503 }, dayBehind)
    await rejection(start({}, { confirmTimeout: 1 }).reply())
    await workspace.messages.create(conversation, { body_html })
    expect((await journal.get('reply'))?.state).toBe('unconfirmed')
    expect(await reply()).toEqual({ id: sent()[0] })
  })

  const hour = 3_600_000

  test.each([
    ['forward before it', hour, 0],
    ['back before it', -hour, 0],
    ['forward after it', 0, hour],
    ['back after it', 0, -hour],
  ])('is confirmed as ever if the wall clock of its machine is set an hour %s', async (_, before, after) => {
    const start = Date.now() - performance.now()
    const { reply, fail, workspace, conversation, sent } = open({ now: () => start + performance.now() })
    const set = (shift: number) => void vi.setSystemTime(Date.now() + shift)
    await workspace.messages.create(conversation, { body_html })
    await vi.advanceTimersByTimeAsync(hour / 2)
    await reply('earlier', {}, '<p>The service tells its time.</p>')
    set(before)
    fail({ drop: 'before-effect', onDrop: () => set(after) })
    expect(await rejection(reply())).toMatchObject(absent)
    fail({ drop: 'after-effect', onDrop: () => set(after) })
    expect(await reply('lost', {}, '<p>Lost.</p>')).toEqual({ id: sent().at(-1) })
  })

  test.each<[string, Record<string, string>]>([
    ['with an age', { age: '7200' }],
    ['after a newer one', {}],
  ])('does not go by the clock of a cached response %s', async (_, headers) => {
    const { sandbox, start, workspace, conversation, fail } = open()
    await workspace.messages.create(conversation, { body_html })
    await vi.advanceTimersByTimeAsync(3_600_000)
    const old = new Date(Date.now() - 7_200_000).toUTCString()
    const fetch = fetchOf(sandbox, (response, url) => {
      // Without an age, only a newer response tells that it is old.
      if (headers.age !== undefined || url.includes('/conversations')) {
        for (const [name, value] of Object.entries({ date: old, ...headers })) response.headers.set(name, value)
      }
      return response
    })
    const { reply } = start({ fetch })
    await reply('before', {}, '<p>Before.</p>')
    fail({ status: 503 })
    expect(await rejection(reply())).toMatchObject(absent)
  })

  test('is checked again with a new token if the check is rejected', async () => {
    const { reply, start, sent, fail } = openWith({ drop: 'after-effect' })
    fail({ status: 401, method: 'GET' })
    expect(await rejection(reply())).toMatchObject({ name: 'AuthenticationError' })
    expect(await start().reply()).toEqual({ id: sent()[0] })
  })
})

describe('the key', () => {
  type Another = (client: SupportWorkspace<'self'>, id: string, otherId: string) => PromiseLike<unknown>
  const anotherBody: Another = (client, id) => client.messages.create(id, { body_html: '<p>Another.</p>' })
  const anotherPath: Another = (client, _, id) => client.messages.create(id, { body_html })
  const anotherOperation: Another = (client, id) => client.notes.create(id, { body_html })

  test.each<[string, Another, number, string]>([
    ['body once it was applied', anotherBody, 201, 'was applied, with another body or query. Keep the body'],
    [
      'path once it was applied',
      anotherPath,
      201,
      'before (messages.create at another path), which was applied. Ask `journal.get`',
    ],
    ['operation once it was applied', anotherOperation, 201, 'before (messages.create), which was applied. Use'],
    ['operation while it is unconfirmed', anotherOperation, 503, '(messages.create), which may have been applied. Use'],
    ['body while it is unconfirmed', anotherBody, 503, 'may have been applied: it was sent with another body or query'],
  ])('cannot be used with another %s', async (what, another, status, message) => {
    const { sandbox, journal, reply, conversation } = open({ conversations: 2 })
    if (status !== 201) sandbox.faults.add({ method: 'POST', status })
    await Promise.allSettled([reply()])
    const writes = [...sandbox.state.writes]
    const otherId = sandbox.state.conversations.find(({ id }) => id !== conversation)?.id ?? ''
    const write = journal.once('reply', (client) => another(client, conversation, otherId), { resendIfAbsent: true })
    const error = what === 'body while it is unconfirmed' ? unconfirmed('changed') : { name: 'InvalidArgumentError' }
    expect(await rejection(write)).toMatchObject({ ...error, message: expect.stringContaining(message) })
    expect(sandbox.state.writes).toEqual(writes)
  })

  test('waits with another body for a process that is sending, whose effect it does not take for its own', async () => {
    const { start, journal, reply, sent } = openWith({ drop: 'after-effect', latency: 3_000 })
    const first = start().reply()
    await vi.waitUntil(async () => (await journal.list()).length === 1)
    await expect(reply('reply', {}, '<p>Another.</p>')).rejects.toThrow('was applied, with another body')
    expect(await first).toEqual({ id: sent()[0] })
    expect(sent()).toHaveLength(1)
  })

  test.each<[string, number, string | undefined]>([
    ['organization', 1, undefined],
    ['service', 0, 'https://other.example'],
  ])('of another %s is refused, and nothing is sent', async (_, organization, address) => {
    const { workspace, storage } = open({ organizations: 2 })
    const { sandbox } = open({ organizations: 2 })
    const baseUrl = address ?? sandbox.url
    const { id = '' } = sandbox.state.organizations[organization] ?? {}
    const another = clientOf(sandbox, {
      baseUrl,
      accessToken: sandbox.issueToken({ actor: 'self', organization: id }),
      fetch: (url, init) => sandbox.fetch(url.replace(baseUrl, sandbox.url), init as RequestInit),
    })
    const once = (workspace: SupportWorkspace<'self'>) =>
      new WriteJournal({ workspace, storage }).once('contact:new@example.com', (client) =>
        client.contacts.create({ email: 'new@example.com' }),
      )
    await once(workspace)
    const message = expect.stringContaining(
      'The write "contact:new@example.com" is used by another organization or service. Put the organization into the key, for example its id, or use a storage for each service.',
    )
    expect(await rejection(once(another))).toMatchObject({ name: 'InvalidArgumentError', message })
    expect(sandbox.state.writes).toEqual([])
  })

  test('of a colleague of the same organization is the same', async () => {
    const { sandbox, reply, start, sent } = open()
    const { id } = await reply()
    expect(await start({ accessToken: sandbox.issueToken({ actor: 'self', role: 'agent' }) }).reply()).toEqual({ id })
    expect(sent()).toHaveLength(1)
  })

  test.each([undefined, null])('is refused if the organization is %j', async (organization) => {
    const { sandbox, start, sent } = open()
    const fetch = fetchWithMe(sandbox, { organization })
    const replied = start({ fetch, validation: 'off' }).reply()
    await expect(replied).rejects.toThrow('The service does not tell the organization of the token.')
    expect(sent()).toEqual([])
  })

  test.each([null, 5, {}, [], true])('belongs to nobody if the id of the user is %j', async (id) => {
    const { sandbox, start, sent } = open()
    const { journal, reply } = start({ fetch: fetchWithMe(sandbox, { user: { id } }), validation: 'off' })
    expect(await reply()).toMatchObject({ id: sent()[0] })
    expect(await journal.list()).toHaveLength(1)
    expect(await start().reply()).toEqual({ id: sent()[0] })
  })

  test('is free if the service does not say whose it is, which is asked once when it does', async () => {
    const { sandbox, reply, sent } = open()
    sandbox.failNext({ status: 401 })
    expect(await rejection(reply())).toMatchObject({ name: 'AuthenticationError' })
    await reply()
    await reply('another')
    expect(sent()).toHaveLength(2)
    expect(sandbox.requests.filter(({ path }) => path.endsWith('/me')).map(({ status }) => status)).toEqual([401, 200])
  })

  test.each(['', ' a', 'a\nb', 'half of \ud83c', 5])('%j is refused', async (key) => {
    const { reply } = open()
    expect(await rejection(reply(key as string))).toMatchObject({ name: 'InvalidArgumentError' })
  })
})

describe('the body', () => {
  const contact = { email: 'new@example.com', name: 'New' }

  test('is the same if its keys are in another order', async () => {
    const { journal } = open()
    const { id } = await journal.once('contact', (client) => client.contacts.create({ ...contact }))
    const reordered = { name: contact.name, email: contact.email }
    expect(await journal.once('contact', (client) => client.contacts.create(reordered))).toEqual({ id })
  })

  test.each<[string, unknown, unknown]>([
    ['a Map', new Map([['name', 'New']]), new Map([['name', 'Newer']])],
    ['a bigint', 2n ** 53n, 2n ** 53n + 1n],
  ])('is what is sent for %s, which a schema of the caller takes', async (_, first, second) => {
    const { sandbox, journal } = open()
    const body = z.union([
      z.map(z.string(), z.string()).transform((map) => Object.fromEntries(map)),
      z.bigint().transform((number) => ({ name: String(number) })),
    ])
    const create = { id: 'tasks.add', method: 'POST', path: '/api/oauth/v1/tasks', body } as const
    const once = (value: unknown) => journal.once('task', (client) => client.call(create, { body: value as never }))
    const { id } = await once(first)
    expect(await once(structuredClone(first))).toEqual({ id })
    await expect(once(second)).rejects.toThrow('was applied, with another body')
    expect(sandbox.state.writes).toHaveLength(1)
  })
})

describe('the function', () => {
  test('may read, and make no second write', async () => {
    const { journal, conversation, sent } = open()
    const twice = journal.once('reply', async (client) => {
      const { data } = await client.messages.list(conversation)
      await client.messages.create(conversation, { body_html: `<p>${data.length}</p>` })
      await client.messages.create(conversation, { body_html })
    })
    const error = await rejection(twice)
    expect(error).toMatchObject({ message: expect.stringContaining('sent a second write'), remedy: 'fix' })
    expect(error).not.toHaveProperty('outcome')
    expect(sent()).toHaveLength(1)
  })

  test('says that a write was not awaited, whose next error would end the process', async () => {
    const { journal, sent, create } = open()
    const left = journal.once('reply', async (client) => void create(client))
    const error = await rejection(left)
    expect(error).toMatchObject({ message: expect.stringContaining('did not await its write. Await it') })
    expect(sent()).toHaveLength(1)
    expect(await journal.get('reply')).toMatchObject({ state: 'applied' })
  })

  test('sends nothing through a second journal', async () => {
    const { journal, storage, sent, create } = open()
    const nested = journal.once('reply', (workspace) => new WriteJournal({ workspace, storage }).once('inner', create))
    const message = expect.stringContaining('comes from `once` of another journal.')
    expect(await rejection(nested)).toMatchObject({ name: 'InvalidArgumentError', message })
    expect(sent()).toEqual([])
    expect(await journal.list()).toEqual([])
  })

  test('gets the error of its call, also if the body of a refusal stalls', async () => {
    const { sandbox, start, create } = open()
    const stalled = () => new Response(new ReadableStream(), { status: 422 })
    const { journal } = start({
      timeout: 1_000,
      fetch: fetchOf(sandbox, (response, _, { method }) => (method === 'POST' ? stalled() : response)),
    })
    const refused = await rejection(journal.once('reply', create))
    expect(refused).toMatchObject({ name: 'UnprocessableError', status: 422, outcome: 'refused' })
    expect(await journal.list()).toEqual([])
  })

  test.each<[string, Middleware]>([
    ['after a success', async (call, next) => (await next(call)) && next(call)],
    ['after a failure', (call, next) => next(call).catch(() => next(call))],
    ['while it is under way', async (call, next) => (await Promise.all([next(call), next(call)]))[0]],
  ])('sends one write if a middleware of its client repeats it %s', async (_, middleware) => {
    for (const [drop, expected] of [
      [undefined, { status: 'fulfilled' }],
      ['before-effect', { reason: absent }],
    ] as const) {
      const { sandbox, start, sent, fail } = open()
      const { reply, journal } = start({ middleware })
      if (drop !== undefined) fail({ drop })
      const [ended] = await Promise.allSettled([reply()])
      expect(ended).toMatchObject(expected)
      expect(sandbox.requests.filter(({ method }) => method === 'POST')).toHaveLength(1)
      expect(await journal.get('reply')).toMatchObject({ state: drop === undefined ? 'applied' : 'unconfirmed' })
      expect(sent()).toHaveLength(drop === undefined ? 1 : 0)
    }
  })

  test.each<[string, (reason: unknown) => Partial<ClientOptions<'self'>>]>([
    ['of the call', () => ({})],
    [
      'of a middleware',
      (reason) => ({
        middleware: (call, next) => {
          if (call.operation.method === 'GET') return next(call)
          const own = new AbortController()
          setTimeout(() => own.abort(reason), 200)
          return next({ ...call, signal: own.signal })
        },
      }),
    ],
  ])('keeps the record if the signal %s aborts with the error of another call', async (place, optionsFor) => {
    const { sandbox, start, sent, reply } = open()
    const other = await rejection(start().workspace.conversations.update('none', { pinned: true }))
    expect(other).toMatchObject({ outcome: 'refused' })
    const process = start(optionsFor(other))
    const controller = new AbortController()
    const signal = place === 'of the call' ? controller.signal : undefined
    sandbox.faults.add({ method: 'POST', latency: 400 })
    const first = rejection(process.reply('reply', {}, body_html, { signal }))
    await vi.advanceTimersByTimeAsync(200)
    controller.abort(other)
    expect(await first).toBe(other)
    expect(await process.journal.get('reply')).toMatchObject({ state: 'sending' })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await reply()).toEqual({ id: sent()[0] })
    expect(sent()).toHaveLength(1)
  })

  test('must write through the client that it gets', async () => {
    const { journal, workspace, create } = open()
    const outside = journal.once('reply', () => create(workspace))
    const error = await rejection(outside)
    expect(error).toMatchObject({ message: expect.stringContaining('sent no write'), remedy: 'fix' })
    expect(error).not.toHaveProperty('outcome')
  })

  test('cannot write after it has ended', async () => {
    const { journal, create, sandbox, storage } = open()
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    let late: PromiseLike<unknown> | undefined
    const early = journal.once('reply', async (client) => {
      late = isOver.then(() => create(client))
    })
    await expect(early).rejects.toThrow('sent no write')
    end()
    expect(await Promise.allSettled([late])).toMatchObject([
      { reason: { name: 'InvalidArgumentError', message: expect.stringContaining('after its function had ended') } },
    ])
    expect(sandbox.state.writes).toEqual([])
    expect(await storage.get('writes:reply')).toBeUndefined()
  })

  test('may return what it likes', async () => {
    const { journal, create, sent } = open()
    const result = await journal.once('reply', async (client) => {
      await create(client)
      return 'begun'
    })
    expect(result).toEqual({ id: sent()[0], data: 'begun' })
  })

  test('cannot hide that its write failed', async () => {
    const { journal, create } = openWith({ status: 422 })
    const hiding = journal.once('reply', (client) => create(client).catch(() => 'hidden'))
    expect(await rejection(hiding)).toMatchObject({ name: 'UnprocessableError' })
  })

  test('fails with its own error, also after the write', async () => {
    const { journal, create } = open()
    const failure = new Error('later')
    const late = journal.once('reply', async (client) => {
      await create(client)
      throw failure
    })
    expect(await rejection(late)).toBe(failure)
    expect((await journal.get('reply'))?.state).toBe('applied')
  })

  test('may give its client headers and middleware', async () => {
    const { sandbox, journal, create, sent } = openWith({ status: 429, retryAfter: 1 })
    const options: Partial<ClientOptions<'self'>> = {
      headers: { 'x-job': '7' },
      middleware: (call, next) => next(call),
    }
    const { id } = await journal.once('reply', (client) => create(client.withOptions(options)))
    expect([sandbox.requests.at(-1)?.headers['x-job'], sent()]).toEqual(['7', [id]])
  })

  test('that is aborted before a second attempt leaves does not forget the first one', async () => {
    const { sandbox, storage, workspace, conversation, start } = open()
    const { id } = await workspace.messages.create(conversation, { body_html })
    const controller = new AbortController()
    const { signal } = controller
    const compareAndSet = vi.fn(storage.compareAndSet).mockImplementationOnce(storage.compareAndSet)
    compareAndSet.mockImplementationOnce(async (...change) => {
      controller.abort('stop')
      return storage.compareAndSet(...change)
    })
    sandbox.faults.add({ method: 'DELETE', status: 503, effect: true })
    const remove = ({ journal }: ReturnType<typeof start>) =>
      journal.once('delete', (client) => client.messages.delete(conversation, id, { signal }))
    expect(await rejection(remove(start({}, { storage: { ...storage, compareAndSet } })))).toBe('stop')
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await start().journal.get('delete'))?.state).toBe('sending')
  })

  test('rejects with the reason of an aborted call, and the next run checks the write', async () => {
    const { journal, reply, start, sandbox, sent } = open()
    const controller = new AbortController()
    const { signal } = controller
    const fetch = fetchOf(sandbox, (response, _, { method }) => {
      if (method === 'GET') return response
      controller.abort('stop')
      return new Promise(() => {})
    })
    expect(await rejection(start({ fetch }).reply('reply', {}, body_html, { signal }))).toBe('stop')
    expect((await journal.get('reply'))?.state).toBe('sending')
    expect(await reply()).toEqual({ id: sent()[0] })
  })
})

describe('an unconfirmed write', () => {
  test('names key and conversation, and shows its text to nobody but the program', async () => {
    const { reply, conversation } = openWith({ status: 503 })
    const error = (await rejection(reply())) as UnconfirmedWriteError
    expect(error.message).toBe(
      `messages.create of the key "reply" in the conversation ${conversation} may have been applied: the service shows nothing like it that is as new as the write. Check it, then call \`resolve\` with its key and "applied", or with "absent" if the process that sent it has ended.`,
    )
    expect(error.text).toBe(JSON.stringify({ body_html }))
    expect(JSON.stringify(error)).not.toContain('On it')
  })

  test('has a cause without the token that `find` of the caller has thrown', async () => {
    const { reply } = openWith({ status: 503 })
    const token = 'swot_secret123'
    const thrown = Object.assign(new Error(`GET failed with Bearer ${token}`), { config: { token } })
    const { cause } = (await rejection(reply('reply', { find: () => Promise.reject(thrown) }))) as Error
    expect(cause).toMatchObject({ message: 'GET failed with Bearer [redacted]' })
    expect(inspect(cause)).not.toContain(token)
  })

  test('keeps the error of the client that a check has failed with', async () => {
    const { reply, fail } = openWith({ status: 503 })
    fail({ status: 403, method: 'GET', times: 100 })
    expect(await rejection(reply())).toMatchObject({ cause: { name: 'PermissionDeniedError', status: 403 } })
  })

  test('is never sent again, unless the caller wants it', async () => {
    const { reply, sent } = openWith({ status: 503 })
    await rejection(reply())
    expect(await rejection(reply())).toMatchObject({ name: 'UnconfirmedWriteError' })
    expect(await reply('reply', { resendIfAbsent: true })).toMatchObject({ id: sent()[0] })
    expect(sent()).toHaveLength(1)
  })

  test('is not sent again by the call that has sent it if somebody resolves it as absent meanwhile', async () => {
    const { start, sent } = openWith({ drop: 'after-effect' })
    const { journal, reply } = start({}, { onCheck: ({ key }) => void journal.resolve(key, 'absent') })
    expect(await rejection(reply())).toMatchObject(unconfirmed('removed'))
    expect(sent()).toHaveLength(1)
  })

  test('is sent again at most once in a run', async () => {
    const { reply, sent } = openWith({ status: 503, times: 2 })
    expect(await rejection(reply('reply', { resendIfAbsent: true }))).toMatchObject(absent)
    expect(sent()).toEqual([])
  })

  const noEffects = [undefined, null, false, 5, 'abc', {}, [undefined], [false], [5], new Array(1)]

  test.each(noEffects)('is neither taken for applied nor sent again if `find` returns %j', async (found) => {
    const { reply, sent } = openWith({ drop: 'before-effect' })
    const find = async () => found as never
    const replied = reply('reply', { find, resendIfAbsent: true })
    expect(await rejection(replied)).toMatchObject({
      ...unconfirmed(found === undefined ? 'unclear' : 'invalid-find'),
      remedy: 'verify',
    })
    expect(sent()).toEqual([])
  })

  test.each<[string, Partial<ClientOptions<'self'>>, string]>([
    ['two minutes', {}, 'It did not respond within 120 seconds.'],
    ['`totalTimeout`', { totalTimeout: 5_000 }, 'It did not respond within 5 seconds.'],
  ])('waits for a `find` that never settles no longer than %s', async (_, options, message) => {
    const { start } = openWith({ drop: 'after-effect' })
    const replied = start(options).reply('reply', { find: () => new Promise(() => {}) })
    expect(await rejection(replied)).toMatchObject({ ...unconfirmed('unreadable'), cause: { message } })
  })

  const wrongFilters = ['unconfirmed', { states: 'unconfirmed' }, { state: 'open' }, 5, null]

  test.each(wrongFilters)('is not listed by %j', async (filter) => {
    const { journal } = open()
    expect(await rejection(journal.list(filter as object))).toMatchObject({ name: 'InvalidArgumentError' })
  })

  test('is listed, resolved and forgotten', async () => {
    const { journal, reply, sent, fail } = openWith({ status: 503, times: 2 })
    await rejection(reply('one'))
    await rejection(reply('two', {}, '<p>Two</p>'))
    await reply('three', {}, '<p>Three</p>')
    const keysOf = async (state?: 'unconfirmed' | 'applied') => (await journal.list({ state })).map(({ key }) => key)
    expect(await keysOf('unconfirmed')).toEqual(['one', 'two'])
    expect(await keysOf()).toEqual(['one', 'two', 'three'])
    await journal.resolve('one', 'applied')
    await journal.resolve('two', 'absent')
    expect(await reply('one')).toEqual({})
    await reply('two', {}, '<p>Two</p>')
    expect(sent()).toHaveLength(2)
    await expect(journal.resolve('one', 'absent')).rejects.toThrow('is applied already')
    await expect(journal.resolve('none', 'absent')).rejects.toThrow('has no record of the write "none"')
    expect(await rejection(journal.forget(3_599_999))).toMatchObject({ name: 'InvalidArgumentError' })
    expect(await journal.forget(3_600_000)).toBe(0)
    fail({ status: 503 })
    await rejection(reply('four', {}, '<p>Four</p>'))
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(await journal.forget(3_600_000)).toBe(3)
    expect(await keysOf()).toEqual(['four'])
  })
})

test('`forget` removes the oldest record first, so that what was written because of it stays known', async () => {
  const { reply, on, storage } = open()
  await reply('note', {}, '<p>First</p>')
  await vi.advanceTimersByTimeAsync(1_000)
  await reply('a later one', {}, '<p>Second</p>')
  await vi.advanceTimersByTimeAsync(3_600_000)
  const removed: string[] = []
  const { journal } = on({
    ...storage,
    // In another order than that of their times.
    async *list(prefix) {
      for (const page of (await Array.fromAsync(storage.list(prefix))).reverse()) yield [...page].reverse()
    },
    compareAndSet: async (key, expected, next) => {
      removed.push(key)
      return storage.compareAndSet(key, expected, next)
    },
  })
  expect(await journal.forget(3_600_000)).toBe(2)
  expect(removed.map((key) => key.includes('later'))).toEqual([false, true])
})

test.each<[string, Partial<FaultRule>, (world: ReturnType<typeof open>) => Promise<unknown>]>([
  ['is sent again', { drop: 'before-effect' }, ({ reply }) => reply('reply', { resendIfAbsent: true })],
  ['is found', { drop: 'before-effect', lateEffect: 120_000 }, ({ reply }) => reply()],
  ['is resolved', { drop: 'before-effect', lateEffect: 120_000 }, ({ journal }) => journal.resolve('reply', 'applied')],
])('`forget` counts from when a lost write %s', async (_, fault, apply) => {
  const world = openWith(fault)
  await rejection(world.reply())
  const days = 30 * 86_400_000
  await vi.advanceTimersByTimeAsync(days + 60_000)
  await apply(world)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await world.journal.forget(days)).toBe(0)
  await world.reply()
  expect(world.sent()).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(days)
  expect(await world.journal.forget(days)).toBe(1)
})

describe('two keys with the same text in one place', () => {
  test('do not take the effect of each other, also after `forget`', async () => {
    const { journal, reply, sent } = openWith({ status: 503 })
    expect(await rejection(reply('one'))).toMatchObject(absent)
    await reply('two')
    expect(await rejection(reply('one'))).toMatchObject(absent)
    await reply('three', {}, '<p>Three</p>')
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(await journal.forget(3_600_000)).toBe(1)
    expect(await rejection(reply('one'))).toMatchObject(absent)
    await journal.resolve('one', 'applied')
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(await journal.forget(3_600_000)).toBe(2)
    expect(sent()).toHaveLength(2)
  })

  test('are unconfirmed while the other may have left the only effect', async () => {
    const { reply, sent, fail } = openWith({ status: 503 })
    await rejection(reply('one'))
    fail({ status: 502, effect: true })
    expect(await rejection(reply('two'))).toMatchObject(unconfirmed('several'))
    expect(sent()).toHaveLength(1)
  })
})

describe('two processes', () => {
  test('send it if the other one was refused', async () => {
    const { reply, start, sent } = openWith({ status: 403, latency: 3_000 })
    const [refused, other] = await Promise.allSettled([reply(), start().reply()])
    expect(refused).toMatchObject({ reason: { name: 'PermissionDeniedError' } })
    expect(other).toMatchObject({ value: { id: sent()[0] } })
  })

  test('watch a write without taking it from the one that sends it again', async () => {
    const { sandbox, workspace, conversation, start } = open()
    const { id } = await workspace.messages.create(conversation, { body_html })
    const remove = ({ journal }: ReturnType<typeof start>) =>
      journal.once('delete', (client) => client.messages.delete(conversation, id))
    sandbox.faults.add({ method: 'DELETE', status: 503, retryAfter: 5 })
    const first = start()
    const removed = remove(first)
    await vi.waitUntil(async () => (await first.journal.list()).length === 1)
    expect(await Promise.all([removed, remove(start())])).toEqual([{}, {}])
    expect(sandbox.requests.filter(({ method }) => method === 'DELETE').map(({ status }) => status)).toEqual([503, 204])
  })
})

describe('the storage', () => {
  test.each(['before', 'after'])('that fails %s it records `sending` keeps the request back', async (when) => {
    const { on, sent } = open()
    const storage = memoryStorage()
    const compareAndSet = vi.fn(storage.compareAndSet).mockImplementationOnce((...args) => {
      if (when === 'after') storage.compareAndSet(...args)
      throw new Error('disk full')
    })
    const { reply } = on({ ...storage, compareAndSet })
    const [result] = await Promise.allSettled([reply()])
    if (when === 'before') expect(result).toMatchObject({ reason: { name: 'WriteJournalError', remedy: 'retry' } })
    // Its text is there, so it has won.
    expect(sent()).toHaveLength(when === 'before' ? 0 : 1)
  })

  /** A storage in memory whose second compare-and-set fails. */
  function failingStorage(): KeyValueStorage {
    const storage = memoryStorage()
    const { compareAndSet } = storage
    const failing = vi.fn(compareAndSet).mockImplementationOnce(compareAndSet)
    failing.mockImplementationOnce(() => {
      throw new Error('disk full')
    })
    return { ...storage, compareAndSet: failing }
  }

  test('that fails when the response is there is told, and the next run finds the write', async () => {
    const { on, sent } = open()
    const { reply } = on(failingStorage())
    await expect(reply()).rejects.toThrow(
      'The storage of the write "reply" failed: disk full. Check that the storage is reachable, then try again.',
    )
    expect(await reply()).toEqual({ id: sent()[0] })
    expect(sent()).toHaveLength(1)
  })

  test('that fails when a refused write is taken back is asked again', async () => {
    const { on, sent } = openWith({ status: 422 })
    const { reply, journal } = on(failingStorage())
    expect(await rejection(reply())).toMatchObject({ name: 'UnprocessableError' })
    expect(await journal.get('reply')).toBeUndefined()
    expect(await reply('reply', {}, 'Corrected')).toMatchObject({ id: sent()[0] })
  })

  const closed = sqliteStorage(':memory:')
  closed.close()

  test.each<[string, Partial<KeyValueStorage>, string]>([
    ['cannot be opened', sqliteStorage('/nowhere/replies.db'), 'cannot use /nowhere/replies.db'],
    ['is closed', closed, 'The storage is closed. Close it after its last use.'],
    ['returns a number', { get: () => 5 as never }, '"reply" failed: It returned a value of type number. Check the'],
    ['returns 1 for true', { compareAndSet: () => 1 as never }, 'It returned a value of type number. Check the stor'],
    ['never writes', { compareAndSet: () => false }, '`compareAndSet` has refused 100 changes in a row. Check'],
  ])('that %s is no reason to try again, and nothing is sent', async (_, storage, message) => {
    const { on, sent } = open()
    const error = await rejection(on(storage).reply())
    expect(error).toMatchObject({ name: 'WriteJournalError', remedy: 'fix', message: expect.stringContaining(message) })
    expect(sent()).toEqual([])
  })

  test('that is closed while a write is sent is no reason to call it not sent', async () => {
    const { start, sandbox, sent } = open()
    const storage = sqliteStorage(':memory:')
    const fetch = fetchOf(sandbox, (response, _, { method }) => {
      if (method === 'POST') storage.close()
      return response
    })
    const error = await rejection(start({ fetch }, { storage }).reply())
    expect(error).toMatchObject({ name: 'WriteJournalError', remedy: 'fix' })
    expect(error).not.toHaveProperty('outcome', 'not-sent')
    expect(sent()).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['an array', [['writes:reply', 'text']]],
    ['a page that is no array', pagesOf('text')],
    ['an entry that is no array', pagesOf([5])],
    ['a key that is no text', pagesOf([[5, 'text']])],
    ['a text that is none', pagesOf([['writes:reply', 5]])],
  ])('that lists %s is no reason to try again', async (_, listed) => {
    const { journal } = open().on({ list: () => listed as never })
    expect(await rejection(journal.list())).toMatchObject({ name: 'WriteJournalError', remedy: 'fix' })
  })

  const hang = () => new Promise<never>(() => {})
  const hangingList = () => ({ [Symbol.asyncIterator]: () => ({ next: hang }) })

  test.each<[string, (process: Pick<ReturnType<typeof open>, 'journal' | 'reply'>) => Promise<unknown>]>([
    ['`journal.list`', ({ journal }) => journal.list()],
    ['a look', ({ reply }) => reply()],
  ])('that never ends a listing ends %s after 30 seconds', async (_, run) => {
    const { on } = openWith({ drop: 'after-effect' })
    const before = Date.now()
    const message = expect.stringContaining('It did not respond within 30 seconds')
    expect(await rejection(run(on({ list: hangingList })))).toMatchObject({ name: 'WriteJournalError', message })
    expect(Date.now() - before).toBeLessThan(60_000)
  })

  test.each<[string, Partial<KeyValueStorage>]>([
    ['a listing', { list: hangingList }],
    ['a read', { get: hang }],
  ])('that never ends %s does not hold up a call that is aborted', async (_, methods) => {
    const { on } = openWith({ drop: 'after-effect' })
    const controller = new AbortController()
    const { signal } = controller
    setTimeout(() => controller.abort('stop'), 5_000)
    const before = Date.now()
    expect(await rejection(on(methods).reply('reply', {}, body_html, { signal }))).toBe('stop')
    expect(Date.now() - before).toBeLessThan(20_000)
  })

  test.each<[string, unknown]>([
    ['state', 'done'],
    ['place', undefined],
    ['input', 1],
    ['sentAt', '1'],
    ['timeout', undefined],
    ['timeout', '5'],
    ['watched', null],
    ['id', 5],
    ['author', 5],
  ])('with an entry whose %s is %j is told, and nothing is sent', async (name, value) => {
    const { storage, journal, reply, sent } = openWith({ status: 503 })
    await rejection(reply())
    const text = String(await storage.get('writes:reply'))
    const changed = encoded('writes:reply', { ...decoded(text), [name]: value })
    await storage.compareAndSet('writes:reply', text, changed)
    const message = expect.stringContaining(`The entry "writes:reply" is damaged in its field "${name}". Find out what`)
    const damaged = { name: 'WriteJournalError', remedy: 'fix', message }
    for (const read of [reply, () => journal.get('reply'), () => journal.list()]) {
      expect(await rejection(read())).toMatchObject(damaged)
    }
    expect(sent()).toEqual([])
  })

  test('with a damaged entry of another write leaves one unconfirmed that was lost', async () => {
    const { storage, reply, sent } = openWith({ drop: 'after-effect' })
    await storage.compareAndSet('writes:other', null, 'damaged')
    expect(await rejection(reply())).toMatchObject({
      reason: 'unreadable',
      message: expect.stringContaining('the record of "other" cannot be read, and may be about what the service shows'),
      cause: { name: 'WriteJournalError', key: 'other', message: expect.stringContaining('Find out what has changed') },
    })
    await storage.compareAndSet('writes:other', 'damaged', null)
    expect(await reply()).toEqual({ id: sent()[0] })
  })

  test('with a damaged entry lists the others, and says which cannot be read', async () => {
    const { storage, journal, reply } = open()
    await reply()
    await storage.compareAndSet('writes:other', null, 'damaged')
    expect(await rejection(journal.list())).toMatchObject({ name: 'WriteJournalError', key: 'other', remedy: 'fix' })
    const told = await listedWithFailingCallbacks((options) => journal.list(options))
    for (const each of told)
      expect(each).toMatchObject([[{ key: 'reply' }], { name: 'WriteJournalError', key: 'other' }])
  })

  const tokens = ['plain:eyJ0b2tlbiI6MX0', 'swot_secret123', 'a'.repeat(80)]

  test.each(tokens)('whose error quotes %j does not tell it', async (secret) => {
    const fail = () => {
      throw new Error(`SET connections:1 ${secret} failed`, { cause: new Error(secret) })
    }
    const { reply, journal } = open().on({ get: fail, list: fail })
    for (const call of [reply, () => journal.list()]) {
      const error = await rejection(call())
      expect(error).toMatchObject({ name: 'WriteJournalError' })
      expect(inspect(error)).not.toContain(secret)
    }
  })

  test.each<unknown>(['swot_secret123', 'a'.repeat(201), 'a\nb', 5])(
    'never has %j as an id of a response or a look',
    async (id) => {
      const { sandbox, start, fail } = open()
      const fetch = fetchOf(sandbox, (response, _, { method }) =>
        method === 'POST' ? Response.json({ data: { id } }, response) : response,
      )
      const { journal, reply } = start({ fetch, validation: 'off' })
      expect((await reply()).id).toBeUndefined()
      fail({ drop: 'after-effect' })
      expect(await reply('lost', { find: async () => [{ id: id as string }] })).toEqual({})
      const applied = ['applied', undefined]
      expect((await journal.list()).map((entry) => [entry.state, entry.id])).toEqual([applied, applied])
    },
  )

  test('holds a digest of the input, never its text', async () => {
    const { reply, storage } = open()
    await reply()
    const [[key, text] = ['', ''], ...more] = (await Array.fromAsync(storage.list(''))).flat()
    expect([key, JSON.stringify(decoded(text)), more]).toEqual([
      'writes:reply',
      expect.not.stringContaining('On it'),
      [],
    ])
  })

  test('is required', () => {
    const { workspace } = open()
    const create = (options: object) => () =>
      new WriteJournal(options as { workspace: typeof workspace; storage: never })
    expect(create({ workspace })).toThrow('`storage` lacks `get`, `compareAndSet`, `list`.')
    expect(create({ storage: memoryStorage() })).toThrow('`workspace` lacks `withOptions`. Pass a `SupportWorkspace`.')
    expect(create({ workspace, storage: memoryStorage(), confirmTimout: 5 })).toThrow(
      '`confirmTimout` is not an option',
    )
  })
})

async function* pagesOf(page: unknown) {
  yield page
}
