import { AdaptiveRateLimiter, RateLimitError, type SupportWorkspace } from 'support-workspace-sdk'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { rejection } from '../helpers/client.ts'
import { body_html, decoded, open, openWith, skipWaits } from './helpers.ts'

beforeEach(skipWaits)

class TooLate extends Error {}

/** A last look that lets the first attempt pass, and prevents the next one. */
const passingOnce = (error = new TooLate()) =>
  vi.fn(() => Promise.reject(error)).mockResolvedValueOnce(undefined as never)

/** A last look that prevents the write if the conversation has a message with a text. */
const unless = (conversation: string, text: string) => async (client: SupportWorkspace) => {
  for await (const message of client.messages.list(conversation)) {
    if (message.body_html === text) throw new TooLate()
  }
}

describe('the last look', () => {
  test('comes after the wait that a 429 causes, so that a reply is not sent too late', async () => {
    const { sandbox, conversation, reply, sent } = openWith({ status: 429, retryAfter: 3 })
    const late = reply('reply', { before: unless(conversation, 'Refunded') })
    setTimeout(() => sandbox.receiveMessage(conversation, 'Refunded'), 1_000)
    await expect(late).rejects.toBeInstanceOf(TooLate)
    expect(sent()).toEqual([])
  })

  test('comes after the wait for another process', async () => {
    const { sandbox, conversation, reply, start, sent } = openWith({ status: 403, latency: 3_000 })
    const before = unless(conversation, 'Refunded')
    const both = Promise.allSettled([reply('reply', { before }), start().reply('reply', { before })])
    setTimeout(() => sandbox.receiveMessage(conversation, 'Refunded'), 1_000)
    const [refused, late] = await both
    expect(refused).toMatchObject({ reason: { name: 'PermissionDeniedError' } })
    expect(late).toMatchObject({ reason: expect.any(TooLate) })
    expect(sent()).toEqual([])
  })

  test('is where the guide says: token, headers, permit, look, record, request', async () => {
    const order: string[] = []
    const note = <Value>(step: string, value?: Value): Value => {
      order.push(step)
      return value as Value
    }
    const { sandbox, storage, start } = open()
    const token = sandbox.issueToken({ actor: 'self' })
    const limiter = new AdaptiveRateLimiter()
    const { reply } = start(
      {
        accessToken: { getAccessToken: () => note('token', token) },
        headers: () => note('headers', {}),
        rateLimiter: {
          acquire: (key, signal, call) => {
            note(`permit for ${call.operation.split(' ')[0]}`)
            return limiter.acquire(key, signal, call)
          },
        },
        fetch: (url, init) => {
          note(`request ${init?.method}`)
          return sandbox.fetch(url, init as RequestInit)
        },
        middleware: (call, next) => next(call),
      },
      {
        storage: {
          ...storage,
          compareAndSet: (key, expected, value) => {
            note(expected === null ? 'record of sending' : 'record of the result')
            return storage.compareAndSet(key, expected, value)
          },
        },
      },
    )
    await reply('first')
    order.length = 0
    await reply('second', { before: () => note('look') }, 'Another text')
    expect(order).toEqual([
      ...['token', 'headers', 'permit for POST', 'look', 'record of sending', 'request POST', 'record of the result'],
    ])
  })

  test('is repeated if a second passes until the record is written, and the write is not sent after the fourth', async () => {
    const before = vi.fn()
    const { on, storage } = open()
    const slow = (count: number) => {
      let left = count
      return on({
        ...storage,
        async compareAndSet(key, expected, value) {
          if (expected === null && left-- > 0) await new Promise((resolve) => setTimeout(resolve, 1_500))
          return storage.compareAndSet(key, expected, value)
        },
      })
    }
    await slow(3).reply('reply', { before })
    expect(before).toHaveBeenCalledTimes(4)
    const error = await rejection(slow(4).reply('other', { before }))
    expect(error).toMatchObject({ outcome: 'not-sent', remedy: 'retry' })
    expect(error).toHaveProperty('message', expect.stringContaining('took more than a second each time'))
    expect(before).toHaveBeenCalledTimes(8)
    expect(await storage.get('writes:other')).toBeUndefined()
  })

  test('reads past caches, without the middleware and beside the permit of its write', async () => {
    const seen: string[] = []
    const { conversation, start } = open()
    const { reply } = start({
      rateLimiter: new AdaptiveRateLimiter({ maxConcurrency: 1 }),
      middleware: (call, next) => {
        seen.push(call.operation.id)
        return next(call)
      },
    })
    await reply('reply', { before: (client) => client.messages.list(conversation).toArray() })
    // Who sends is asked once, by the reader of the journal.
    expect(seen.sort()).toEqual(['me', 'messages.create'])
  })

  test('that is refused with a 429 gives back the permit, and the write waits', async () => {
    const { sandbox, conversation, start, sent } = open()
    const { reply } = start()
    sandbox.faults.add({ method: 'GET', path: /messages$/, status: 429, retryAfter: 5 })
    const before = vi.fn((client: SupportWorkspace) => client.messages.list(conversation).toArray())
    const begin = performance.now()
    await reply('reply', { before })
    expect(before).toHaveBeenCalledTimes(2)
    expect(performance.now() - begin).toBeGreaterThanOrEqual(5_000)
    expect(sent()).toHaveLength(1)
    sandbox.faults.add({ method: 'GET', path: /messages$/, status: 429, retryAfter: 5 })
    const impatient = start({ maxRetries: 0 })
    const error = await rejection(impatient.reply('other', { before }, 'Other'))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ outcome: 'not-sent', operation: 'messages.create', retryAfter: 5 })
    expect(await impatient.journal.get('other')).toBeUndefined()
  })

  test('has what is left of the time of the call, and a look that hangs ends with it', async () => {
    const { reply, journal, sent } = open()
    const error = await rejection(
      reply('reply', { before: () => new Promise(() => {}) }, body_html, { totalTimeout: 20_000 }),
    )
    expect(error).toMatchObject({ name: 'TimeoutError', outcome: 'not-sent' })
    expect(sent()).toEqual([])
    expect(await journal.get('reply')).toBeUndefined()
  })
})

describe('an error of the last look', () => {
  test('passes unchanged even if it is undefined, and is no 429', async () => {
    const { reply, journal, sent } = open()
    const before = vi.fn(() => Promise.reject())
    const [ended] = await Promise.allSettled([reply('reply', { before })])
    expect(ended).toEqual({ status: 'rejected', reason: undefined })
    expect(before).toHaveBeenCalledOnce()
    expect([sent(), await journal.get('reply')]).toEqual([[], undefined])
  })

  test('passes unchanged, and the key is free', async () => {
    const { reply, journal, sent } = openWith({ status: 429, retryAfter: 1 })
    const error = new TooLate()
    expect(await rejection(reply('reply', { before: passingOnce(error) }))).toBe(error)
    expect([sent(), await journal.get('reply')]).toEqual([[], undefined])
    await reply('reply', {})
    expect(sent()).toHaveLength(1)
  })

  test('leaves a DELETE unconfirmed that an earlier attempt might have applied', async () => {
    const { sandbox, workspace, conversation, journal } = open()
    const { id } = await workspace.messages.create(conversation, { body_html })
    sandbox.faults.add({ method: 'DELETE', status: 503 })
    const cause = new TooLate()
    const once = { before: passingOnce(cause) }
    const remove = journal.once('delete', (client) => client.messages.delete(conversation, id), once)
    expect(await rejection(remove)).toMatchObject({
      ...{ name: 'UnconfirmedWriteError', reason: 'unclear', cause: { message: cause.message } },
    })
    expect(await journal.get('delete')).toMatchObject({ state: 'unconfirmed' })
  })

  test('leaves a write unconfirmed that would be sent again', async () => {
    const { reply, journal, sent } = openWith({ status: 503 })
    const error = await rejection(reply('reply', { before: passingOnce(), resendIfAbsent: true }))
    expect(error).toMatchObject({ name: 'UnconfirmedWriteError', reason: 'absent' })
    expect([sent(), (await journal.get('reply'))?.state]).toEqual([[], 'unconfirmed'])
  })
})

describe('`answers`', () => {
  test('takes no text for the reply that is older than the question', async () => {
    const { sandbox, conversation, workspace, reply, journal, fail } = open()
    await workspace.messages.create(conversation, { body_html })
    await vi.advanceTimersByTimeAsync(2_000)
    const question = sandbox.receiveMessage(conversation, 'Where is my order?')
    await vi.advanceTimersByTimeAsync(2_000)
    fail({ status: 503 })
    const lost = await rejection(reply('reply', { answers: question }))
    expect(lost).toMatchObject({ name: 'UnconfirmedWriteError', reason: 'absent' })
    await journal.resolve('reply', 'absent')
    fail({ status: 503, effect: true })
    expect(await reply('reply', { answers: question })).toMatchObject({ id: expect.any(String) })
  })

  test.each([
    ['is gone', 'gone'],
    ['is of the same second', 'same'],
  ])('leaves the write unclear if the message %s', async (_, kind) => {
    const { sandbox, conversation, reply } = openWith({ status: 503, effect: true })
    const answers = kind === 'gone' ? 'msg_gone' : sandbox.receiveMessage(conversation, 'Where is my order?')
    expect(await rejection(reply('reply', { answers }))).toMatchObject({ reason: 'unclear' })
  })

  test('is only for messages', async () => {
    const { journal, conversation } = open()
    const noted = journal.once('note', (client) => client.notes.create(conversation, { body_html }), { answers: 'm' })
    expect(await rejection(noted)).toMatchObject({ name: 'InvalidArgumentError', argument: 'answers' })
  })
})

test('the identity belongs to the token of the attempt', async () => {
  const { sandbox, start, storage } = open()
  const [first, second] = [0, 1].map((index) => {
    const { id } = sandbox.state.members[index] as { id: string }
    return sandbox.issueToken({ actor: 'self', member: id })
  }) as [string, string]
  let token = first
  const { reply } = start({ accessToken: () => token }, {})
  await reply('first')
  token = second
  await reply('second', {}, 'Another text')
  const authorOf = async (key: string) => decoded(String(await storage.get(`writes:${key}`))).author
  expect(await authorOf('first')).not.toBe(await authorOf('second'))
})

test('`resolve` says what another worker has found', async () => {
  const { journal, reply, storage, on } = openWith({ status: 503 })
  await rejection(reply())
  const slow = on({
    ...storage,
    async compareAndSet(key, expected, value) {
      await journal.resolve('reply', 'applied')
      return storage.compareAndSet(key, expected, value)
    },
  })
  expect(await rejection(slow.journal.resolve('reply', 'absent'))).toMatchObject({
    ...{ name: 'WriteResolvedError', key: 'reply', state: 'applied', id: undefined },
  })
})

test('a key of the approvals in the same storage is refused', async () => {
  const { reply, storage, sent } = open()
  await storage.compareAndSet('approvals:open:reply', null, 'a proposal')
  expect(await rejection(reply())).toMatchObject({ name: 'InvalidArgumentError', argument: 'key' })
  expect(sent()).toEqual([])
})
