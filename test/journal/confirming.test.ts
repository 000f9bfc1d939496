import type { ClientOptions, WebFetch } from 'support-workspace-sdk'
import type { FindEffect, OnceOptions, WriteCheck } from 'support-workspace-sdk/journal'
import type { FaultRule } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { rejection } from '../helpers/client.ts'
import { absent, body_html, fetchWithMe, open, skipWaits, unconfirmed } from './helpers.ts'

beforeEach(skipWaits)

describe('a DELETE that is sent again and finds nothing', () => {
  /** A process that deletes a message, after a first run whose request was lost. */
  async function openLost() {
    const { sandbox, workspace, conversation, start } = open()
    const { id } = await workspace.messages.create(conversation, { body_html })
    const remove = (options?: OnceOptions, client: Partial<ClientOptions<'self'>> = { maxRetries: 0 }) => {
      const { journal } = start(client)
      const once = journal.once('delete', (client) => client.messages.delete(conversation, id), options)
      return Object.assign(once, { journal })
    }
    const fail = (fault: Partial<FaultRule>) => sandbox.faults.add({ method: 'DELETE', ...fault })
    fail({ status: 503, times: 2 })
    await rejection(remove())
    return { sandbox, conversation, id, remove, fail }
  }
  const gone = { status: 404, effect: true }

  test('is applied if a list shows that it is gone', async () => {
    const { remove, fail } = await openLost()
    fail(gone)
    expect(await remove()).toEqual({})
  })

  test('is unconfirmed if no list tells', async () => {
    const { remove, fail } = await openLost()
    fail(gone)
    const find = vi.fn<FindEffect>(async () => undefined).mockImplementationOnce(async () => [])
    expect(await rejection(remove({ find }))).toMatchObject({
      ...unconfirmed('unclear'),
      remedy: 'verify',
      cause: { name: 'NotFoundError' },
    })
  })

  test('is checked although another attempt was refused in between', async () => {
    const { remove, fail } = await openLost()
    fail({ status: 429 })
    const limited = remove()
    expect(await rejection(limited)).toMatchObject({ name: 'RateLimitError' })
    expect((await limited.journal.get('delete'))?.state).toBe('unconfirmed')
    fail(gone)
    expect(await remove()).toEqual({})
  })
})

describe('the scopes that confirm a write', () => {
  const scopes: ('messages:write' | 'messages:read')[] = ['messages:write']
  const required = ['messages:read']

  test('are checked before it is sent, and again after another login', async () => {
    const { sandbox, start, sent, conversation } = open()
    let accessToken = sandbox.issueToken({ actor: 'self', scopes })
    const { journal, reply } = start({ accessToken: () => accessToken })
    const refused = {
      name: 'InsufficientScopeError',
      outcome: 'not-sent',
      remedy: 'reconnect',
      required,
      missing: required,
    }
    expect(await rejection(reply())).toMatchObject({
      ...refused,
      message: expect.stringContaining('was not sent, because it could not be confirmed without messages:read. Log in'),
    })
    expect(await rejection(reply())).toMatchObject(refused)
    expect(sent()).toEqual([])
    accessToken = sandbox.issueToken({ actor: 'self', scopes: [...scopes, 'messages:read'] })
    expect(await reply()).toMatchObject({ id: sent()[0] })
    accessToken = sandbox.issueToken({ actor: 'self' })
    await journal.once('note', (client) => client.notes.create(conversation, { body_html }))
  })

  test('are not needed with `find` of the caller', async () => {
    const { sandbox, start, sent } = open()
    const { reply } = start({ accessToken: sandbox.issueToken({ actor: 'self', scopes }) })
    expect(await reply('reply', { find: async () => [] })).toMatchObject({ id: sent()[0] })
  })

  test.each([null, []])('may be unknown: %j', async (unknown) => {
    const { sandbox, start, sent } = open()
    const fetch = fetchWithMe(sandbox, { scopes: unknown })
    const { reply } = start({ fetch, accessToken: sandbox.issueToken({ actor: 'self', scopes }) })
    expect(await reply()).toMatchObject({ id: sent()[0] })
  })
})

describe('`stopAfter`', () => {
  test('keeps writes back after so many that are unconfirmed in a row, until one is confirmed', async () => {
    const { sandbox, start, sent, fail } = open()
    const { reply } = start({}, { stopAfter: 2 })
    const lose = async (key: string) => {
      fail({ status: 503 })
      expect(await rejection(reply(key, {}, key))).toMatchObject(absent)
    }
    await lose('one')
    await reply('two')
    await lose('three')
    fail({ status: 504, lateEffect: 45_000 })
    expect(await rejection(reply('four', {}, 'four'))).toMatchObject(absent)
    const requests = sandbox.requests.length
    expect(await rejection(reply('five'))).toMatchObject({
      ...{ name: 'RequestError', outcome: 'not-sent', remedy: 'retry', operation: 'messages.create', attempts: [] },
      message:
        'messages.create was not sent, because 2 writes in a row are unconfirmed. The service is probably down. Run the job again later.',
    })
    expect(sandbox.requests).toHaveLength(requests)
    expect(await reply('two')).toEqual({ id: sent()[0] })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(await reply('four', {}, 'four')).toEqual({ id: sent().at(-1) })
    expect(await reply('five')).toMatchObject({ id: sent().at(-1) })
  })

  test('ends when a person resolves a write', async () => {
    const { start, fail } = open()
    const { reply, journal } = start({}, { stopAfter: 1 })
    fail({ status: 503 })
    await rejection(reply('one', {}, 'one'))
    expect(await rejection(reply('two'))).toMatchObject({ outcome: 'not-sent' })
    await journal.resolve('one', 'applied')
    expect(await reply('two')).toMatchObject({ id: expect.any(String) })
  })

  test('does not count a write that an earlier process has sent', async () => {
    const { reply, start, fail } = open()
    fail({ status: 503, times: 2 })
    await rejection(reply('one', {}, 'one'))
    await rejection(reply('two', {}, 'two'))
    const next = start({}, { stopAfter: 1 })
    expect(await rejection(next.reply('one', {}, 'one'))).toMatchObject(absent)
    expect(await rejection(next.reply('two', {}, 'two'))).toMatchObject(absent)
    expect(await next.reply('three')).toMatchObject({ id: expect.any(String) })
  })
})

describe('a process that is killed', () => {
  /** Starts a process that ends after a time, by default when its request leaves, which never arrives. */
  function kill({ sandbox, start }: ReturnType<typeof open>, after?: number): Promise<unknown> {
    const controller = new AbortController()
    const { signal } = controller
    const stop = () => controller.abort('killed')
    if (after !== undefined) setTimeout(stop, after)
    const fetch: WebFetch = (url, init) => {
      if (init.method === 'GET') return sandbox.fetch(url, init as RequestInit)
      if (after === undefined) stop()
      return new Promise(() => {})
    }
    return rejection(start({ timeout: 10_000, fetch }).reply('reply', {}, body_html, { signal }))
  }
  const timeOf = async (run: () => Promise<unknown>) => {
    const start = performance.now()
    await run()
    return performance.now() - start
  }

  test('is given up after its timeout and confirmTimeout, also by several at once', async () => {
    const world = open()
    await kill(world)
    const replies = () => Promise.all([1, 2].map(async () => rejection(world.start().reply())))
    const time = await timeOf(async () => expect(await replies()).toMatchObject([absent, absent]))
    expect(time).toBeGreaterThanOrEqual(40_000)
    expect(time).toBeLessThan(60_000)
    expect(world.sandbox.state.writes).toEqual([])
  })

  test.each([0, 3_600_000, -3_600_000])('each ten seconds ends, whose clock is set by %i ms', async (shift) => {
    const world = open()
    let runs = 0
    const time = await timeOf(async () => {
      for (let end: unknown = 'killed'; end === 'killed' && runs < 20; runs += 1) {
        end = await kill(world, 10_000)
        vi.setSystemTime(Date.now() + shift)
        if (end !== 'killed') expect(end).toMatchObject(absent)
      }
    })
    // The request for 10 seconds, then 30 of them in runs whose last check is after 6.5.
    expect(runs).toBe(7)
    expect(time).toBeGreaterThanOrEqual(60_000)
  })
})

test('a wait is told at each check, and logged once without the key', async () => {
  const { start, fail, journal, storage } = open()
  const onCheck = vi.fn<(check: WriteCheck) => void>().mockImplementationOnce(() => {
    throw new Error('ignored')
  })
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  fail({ status: 503 })
  const begin = Date.now()
  await rejection(start({}, { onCheck, logger }).reply())
  const since = (await journal.get('reply'))?.sentAt
  expect(onCheck.mock.calls.length).toBeGreaterThan(6)
  expect(onCheck.mock.calls[0]).toEqual([
    { key: 'reply', operation: 'messages.create', since, until: expect.any(Number) },
  ])
  for (const [{ until }] of onCheck.mock.calls) expect(Math.abs(until - begin - 30_000)).toBeLessThan(1_000)
  expect(logger.warn.mock.calls).toEqual([
    ['support-workspace-sdk: messages.create may have been applied, and is being confirmed for at most 30 s'],
  ])
  await rejection(start({}, { onCheck, logger, storage }).reply())
  expect(logger.warn).toHaveBeenCalledOnce()
})
