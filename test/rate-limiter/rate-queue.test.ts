import { AsyncLocalStorage } from 'node:async_hooks'
import { AdaptiveRateLimiter, type RateLimitedCall, type RefusedRequest } from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import { rejection } from '../helpers/client.ts'
import { fakeClock } from '../helpers/clock.ts'
import { countingSignal } from '../helpers/counting-signal.ts'

fakeClock()

const get = 'GET /things'
const post = 'POST /things'

function callOf(call: Partial<RateLimitedCall> = {}): RateLimitedCall {
  const startedAt = performance.now()
  return { operation: get, canWait: true, startedAt, timeLeft: 1e9, onWait() {}, background: false, ...call }
}

type End = (refused?: RefusedRequest, failure?: 'unserved') => void

/** Sends calls through a limiter without a client. The calls end when the test ends them. */
function makeQueue(options: ConstructorParameters<typeof AdaptiveRateLimiter>[0] = {}) {
  const limiter = new AdaptiveRateLimiter(options)
  const sent: { name: string; at: number; end: End }[] = []
  const send = async (call: Partial<RateLimitedCall> = {}, name = '', signal = new AbortController().signal) => {
    const end = (await limiter.acquire('org', signal, callOf(call))) as End
    sent.push({ name, at: performance.now(), end })
    return end
  }
  return {
    limiter,
    sent,
    send,
    /** Lets the service refuse eight calls in a row, which is an outage. */
    async refuse(retryAfter: number | undefined, operation = get) {
      for (let count = 0; count < 8; count += 1) (await send({ operation }))({ retryAfter })
      sent.length = 0
    },
    get names() {
      return sent.map(({ name }) => name).join('')
    },
    get sentAt() {
      return sent.map(({ at }) => at)
    },
  }
}

test('a call that nothing holds back needs no promise, no listener and no timer', () => {
  const counting = countingSignal()
  const limiter = new AdaptiveRateLimiter()
  expect(limiter.acquire('org', counting.signal, callOf())).toBeTypeOf('function')
  expect([counting.added, vi.getTimerCount()]).toEqual([0, 0])
})

describe('an outage', () => {
  const longerThanTimers = 30 * 86_400_000

  test.each<[string, number | undefined, number, canWait: boolean]>([
    ['as long as the service asks', 3_600_000, 3_600_000, true],
    ['a short time if the service does not say', undefined, 128, true],
    ['30 days, which is longer than a timer can be', longerThanTimers, longerThanTimers, true],
    ['30 days for a call that cannot wait', longerThanTimers, longerThanTimers, false],
  ])('lasts %s', async (_, retryAfter, expected, canWait) => {
    const queue = makeQueue()
    await queue.refuse(retryAfter)
    void queue.send({ canWait })
    await vi.advanceTimersByTimeAsync(expected - 1)
    expect(queue.sent).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(queue.sent).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('lets calls begin one at a time, and one more for each that is served', async () => {
    const queue = makeQueue()
    await queue.refuse(1_000)
    for (let count = 0; count < 8; count += 1) void queue.send()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(queue.sent).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
    queue.sent[0]?.end()
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.sent).toHaveLength(3)
    for (const { end } of queue.sent.slice(1)) end()
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.sent).toHaveLength(7)
  })

  test('that goes on as 503s begins one at a time as well', async () => {
    const queue = makeQueue()
    await queue.refuse(1_000)
    for (let count = 0; count < 8; count += 1) void queue.send()
    await vi.advanceTimersByTimeAsync(1_000)
    for (let count = 1; count <= 4; count += 1) {
      expect(queue.sent).toHaveLength(count)
      queue.sent.at(-1)?.end(undefined, 'unserved')
      await vi.advanceTimersByTimeAsync(0)
    }
    queue.sent.at(-1)?.end()
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.sent).toHaveLength(7)
  })

  test('of one operation holds back no other, and no other key', async () => {
    const queue = makeQueue()
    await queue.send({ operation: post })
    await queue.refuse(1_000)
    void queue.send()
    void queue.send({ operation: post }, 'p')
    void queue.limiter.acquire('another', new AbortController().signal, callOf())
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.names).toBe('p')
  })

  test('counts the refusals of one flight once', async () => {
    const queue = makeQueue()
    const flight = await Promise.all(Array.from({ length: 20 }, () => queue.send()))
    for (const end of flight) end({ retryAfter: 60_000 })
    queue.sent.length = 0
    void queue.send()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(queue.sent).toHaveLength(1)
  })
})

describe('a call that is held back', () => {
  test('is sent before those that were made later, even if they arrived earlier', async () => {
    const queue = makeQueue()
    queue.limiter.setRate('org', 10)
    void queue.send({}, '-')
    const startedAt = { a: 0, d: 2, b: 1, e: 3, c: 1.5, f: 4 }
    for (const [name, time] of Object.entries(startedAt)) {
      void queue.send({ startedAt: time, operation: 'adc'.includes(name) ? get : post }, name)
    }
    await vi.advanceTimersByTimeAsync(1_000)
    expect(queue.names).toBe('-abcdef')
  })

  test('is not overtaken by one that arrives while the timer is late', async () => {
    const queue = makeQueue()
    queue.limiter.setRate('org', 10)
    for (const name of ['a', 'b']) void queue.send({}, name)
    await vi.advanceTimersByTimeAsync(0)
    const now = vi.spyOn(performance, 'now').mockReturnValue(150)
    void queue.send({ operation: post }, 'c')
    now.mockRestore()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(queue.names).toBe('abc')
  })

  test('goes before all others if it cannot wait, and no ceiling holds it back', async () => {
    const queue = makeQueue()
    queue.limiter.setRate('org', 1)
    for (const name of 'abc') void queue.send({}, name)
    void queue.send({ canWait: false }, 'x')
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.names).toBe('ax')
  })

  test('rejects with the reason when its signal aborts, and leaves nothing behind', async () => {
    const queue = makeQueue()
    queue.limiter.setRate('org', 1)
    void queue.send({}, 'a')
    const controller = new AbortController()
    const aborted = rejection(queue.send({}, 'b', controller.signal))
    void queue.send({}, 'c')
    await vi.advanceTimersByTimeAsync(500)
    controller.abort('enough')
    expect(await aborted).toBe('enough')
    await vi.advanceTimersByTimeAsync(500)
    expect(queue.names).toBe('ac')
    const last = rejection(queue.send({}, 'd', controller.signal))
    expect(await last).toBe('enough')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('gives its permit back if it is aborted when it is granted', async () => {
    const queue = makeQueue({ maxConcurrency: 1 })
    const end = await queue.send({}, 'a')
    const controller = new AbortController()
    const aborted = rejection(queue.send({}, 'b', controller.signal))
    void queue.send({}, 'c')
    await vi.advanceTimersByTimeAsync(0)
    end()
    controller.abort('enough')
    expect(await aborted).toBe('enough')
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.names).toBe('ac')
  })

  test('hears of its wait in its own async context, and once more when a long pause begins', async () => {
    const context = new AsyncLocalStorage<string>()
    const queue = makeQueue()
    queue.limiter.setRate('org', 1)
    const flight = [await queue.send({ canWait: false }), await queue.send()]
    const waits: unknown[] = []
    const onWait = (...wait: unknown[]) => void waits.push([context.getStore(), ...wait])
    for (const name of ['a', 'b', 'c']) void context.run(name, () => queue.send({ onWait }, name))
    for (let count = 0; count < 6; count += 1) flight.push(await queue.send({ canWait: false }))
    expect(waits).toEqual([
      ['a', 980, 0],
      ['b', 1_980, 0],
      ['c', 2_980, 0],
    ])
    for (const [index, end] of flight.entries()) end({ retryAfter: index < 7 ? 1_000 : 9_999 })
    await vi.advanceTimersByTimeAsync(0)
    expect(waits).toHaveLength(3)
    for (const retryAfter of [10_000, 10_000, 3_600_000]) {
      // One is sent as soon as the pause is over, and refused again.
      await vi.advanceTimersByTimeAsync(10_000)
      queue.sent.at(-1)?.end({ retryAfter })
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(waits.slice(3)).toEqual([
      ['b', 10_000, 10_000],
      ['c', 11_000, 10_000],
    ])
  })

  test.each<[string, (queue: ReturnType<typeof makeQueue>) => unknown, object]>([
    ['maxConcurrency alone holds it back', ({ send }) => send(), {}],
    [
      'the first call after an outage is in flight',
      async ({ refuse, send }) => {
        await refuse(undefined)
        void send()
        await vi.advanceTimersByTimeAsync(1_000)
      },
      {},
    ],
    ['it is sent at once', () => {}, {}],
  ])('hears nothing if %s', async (_, hold, options) => {
    const queue = makeQueue({ maxConcurrency: 1 })
    await hold(queue)
    const onWait = vi.fn()
    void queue.send({ onWait, ...options })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(onWait).not.toHaveBeenCalled()
  })
})

describe('a background call', () => {
  const patch = 'PATCH /things/1'
  const poll = { background: true }

  test('gives way to a write that is held back, and to no read', async () => {
    const queue = makeQueue()
    queue.limiter.setRate('org', 1)
    for (const name of ['-', 'r']) void queue.send({}, name)
    void queue.send(poll, 'p')
    void queue.send({ operation: patch }, 'w')
    await vi.advanceTimersByTimeAsync(5_000)
    expect(queue.names).toBe('-rwp')
  })

  test('gives way to a refused write until its call is over, and then goes at once', async () => {
    const queue = makeQueue()
    const listeners: (() => void)[] = []
    const write = { operation: post, whenOver: (listener: () => void) => void listeners.push(listener) }
    for (let attempt = 1; attempt <= 2; attempt += 1) (await queue.send(write))({ retryAfter: 1_000 })
    for (const send of [poll, {}, { operation: post, ...poll }]) void queue.send(send, send === poll ? 'p' : 'r')
    await vi.advanceTimersByTimeAsync(20_000)
    expect(queue.names).toBe('r')
    for (const listener of listeners) listener()
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.names).toBe('rpr')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('gives way for at most 30 seconds at a time', async () => {
    const queue = makeQueue()
    const onWait = vi.fn()
    const write = { operation: post, whenOver() {} }
    ;(await queue.send(write))({ retryAfter: 60_000 })
    void queue.send({ ...poll, onWait }, 'p')
    await vi.advanceTimersByTimeAsync(10_000)
    void queue.send(poll, 'q')
    await vi.advanceTimersByTimeAsync(19_999)
    expect(queue.names).toBe('')
    await vi.advanceTimersByTimeAsync(1)
    expect(queue.names).toBe('p')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(queue.names).toBe('pq')
    expect(onWait.mock.calls).toEqual([[30_000, 0]])
  })

  test.each<[string, Partial<RateLimitedCall>, Partial<RateLimitedCall>]>([
    ['a write that is in flight', { operation: post }, poll],
    ['a background write', { operation: post, ...poll }, poll],
    ['any call, if it cannot wait', { operation: post }, { ...poll, canWait: false }],
  ])('does not give way to %s', async (_, write, call) => {
    const queue = makeQueue()
    if (call.canWait === false) (await queue.send({ ...write, whenOver() {} }))({ retryAfter: 60_000 })
    else await queue.send({ ...write, whenOver() {} })
    void queue.send(call, 'p')
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.names).toBe('p')
  })

  test('goes when the write that it gives way to is aborted', async () => {
    const queue = makeQueue()
    await queue.refuse(60_000, post)
    const controller = new AbortController()
    const aborted = rejection(queue.send({ operation: post }, 'w', controller.signal))
    void queue.send(poll, 'p')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(queue.names).toBe('')
    controller.abort('enough')
    await aborted
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.names).toBe('p')
  })
})

test.each<[string, (index: number) => object]>([
  ['of the same millisecond, whatever their operations,', (index) => ({ operation: index % 2 === 0 ? post : get })],
  ['whose start a custom limiter leaves out', () => ({ startedAt: undefined })],
  [
    'of which some cannot wait for a rate, if only a request in flight holds them,',
    (index) => ({ canWait: index === 1 }),
  ],
])('calls %s are sent in their order', async (_, callOf) => {
  const queue = makeQueue({ maxConcurrency: 1 })
  const end = await queue.send()
  for (const [index, name] of [...'abcd'].entries()) void queue.send(callOf(index), name)
  end()
  for (let count = 1; count <= 4; count += 1) {
    await vi.advanceTimersByTimeAsync(0)
    queue.sent.at(-1)?.end()
  }
  expect(queue.names).toBe('abcd')
})

test('a short pause that begins while a call is held back is told to a call that cannot wait', async () => {
  const queue = makeQueue({ maxConcurrency: 1 })
  for (let count = 1; count <= 7; count += 1) (await queue.send())({ retryAfter: 5_000 })
  const end = await queue.send()
  const onWait = vi.fn()
  void queue.send({ canWait: false, onWait })
  expect(onWait).not.toHaveBeenCalled()
  end({ retryAfter: 5_000 })
  await vi.advanceTimersByTimeAsync(0)
  expect(onWait.mock.calls).toEqual([[5_000, 5_000]])
})

describe('setRate', () => {
  test('of the same rate again changes nothing, and a new one counts from the last call', async () => {
    const queue = makeQueue()
    for (let count = 0; count < 50; count += 1) {
      queue.limiter.setRate('org', count < 25 ? 5 : 10)
      void queue.send()
      await vi.advanceTimersByTimeAsync(20)
    }
    expect(queue.sentAt.length).toBeLessThan(10)
  })

  test('is a ceiling of all operations together until it is set again', async () => {
    const queue = makeQueue()
    queue.limiter.setRate('org', 2)
    for (let count = 0; count < 4; count += 1) void queue.send({ operation: count % 2 === 0 ? get : post })
    await vi.advanceTimersByTimeAsync(1_100)
    // The second one makes up for 20 ms, as after a late timer.
    expect(queue.sentAt).toEqual([0, 480, 980])
    queue.limiter.setRate('org', undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.sent).toHaveLength(4)
  })

  test.each([0, -1, Number.NaN, '5', Number.MIN_VALUE])('rejects %j', (rate) => {
    expect(() => new AdaptiveRateLimiter().setRate('org', rate as never)).toThrow('`rate` must be a positive number')
  })
})

describe('the rate of an operation', () => {
  /** Sends calls one after the other, and answers each at once: `+` is served, `-` refused and `?` fails. */
  async function play({ send }: ReturnType<typeof makeQueue>, pattern: string, every = 100) {
    for (const each of pattern) {
      await vi.advanceTimersByTimeAsync(every)
      const end = await send({ canWait: false })
      if (each === '-') end({ retryAfter: undefined })
      else end(undefined, each === '?' ? 'unserved' : undefined)
    }
  }
  const busy = `-${'+'.repeat(20)}`
  const limited = `${busy}--`

  test.each<[string, string, number | undefined, number?]>([
    ['after one 429', `${busy}-`, undefined],
    ['after two in a row', limited, 9.524],
    ['if a seventh of the last calls is refused', `${busy}${'-++++++'.repeat(8)}`, undefined],
    ['if every second one is', `${busy}-+-+-`, 10],
    ['if nobody was busy', '-++++++++--', undefined, 3_600_000],
    ['after calls that are not served', `${limited}${'?'.repeat(50)}`, 9.524],
    ['after a slower time and two more', `${limited}${'+'.repeat(20)}--`, 4.5, 200],
  ])('%s is known or not: %s', async (_, pattern, expected, every) => {
    const queue = makeQueue()
    await play(queue, pattern, every)
    expect(queue.limiter.getRate('org', get)).toEqual(expected && expect.closeTo(expected, 0))
  })

  test('is told for ten minutes, beside the ceiling of the key, and not of others', async () => {
    const queue = makeQueue()
    const { limiter } = queue
    const rates = () => [undefined, get, post].map((operation) => limiter.getRate('org', operation))
    expect(rates()).toEqual([undefined, undefined, undefined])
    await play(queue, limited)
    limiter.setRate('org', 100)
    expect(rates()).toEqual([100, expect.closeTo(9.524, 3), undefined])
    await play(queue, '+', 600_300)
    expect(rates()).toEqual([100, undefined, undefined])
  })

  test('is not lowered by calls that were sent before it was known', async () => {
    const queue = makeQueue()
    await play(queue, busy)
    const early = await Promise.all(Array.from({ length: 8 }, () => queue.send({ canWait: false })))
    await play(queue, '--')
    await play(queue, '+'.repeat(20), 50)
    const rate = queue.limiter.getRate('org', get)
    for (const end of early) end({ retryAfter: undefined })
    expect(queue.limiter.getRate('org', get)).toBe(rate)
  })

  test.each([
    [0, 2, 1],
    [4, 1, 8],
  ])(
    'is probed by four calls at once. With %i refused, it is %i times as high, and the next comes after %i',
    async (refused, factor, next) => {
      const queue = makeQueue()
      await play(queue, limited)
      const before = queue.limiter.getRate('org', get) ?? 0
      await vi.advanceTimersByTimeAsync(1_000)
      queue.sent.length = 0
      for (let call = 0; call < 40; call += 1) void queue.send()
      /** Serves the calls that wait until four are sent at once. Returns how many came before, and the four. */
      const untilProbe = async () => {
        for (let calls = 0; ; calls += 1) {
          while (queue.sent.length === 0) await vi.advanceTimersByTimeAsync(1)
          const sent = queue.sent.splice(0)
          if (sent.length > 3) return { calls: calls + sent.length - 4, probe: sent.slice(-4) }
          for (const { end } of sent) end()
        }
      }
      const first = await untilProbe()
      for (const [index, { end }] of first.probe.entries()) end(index < refused ? { retryAfter: undefined } : undefined)
      // One that has not waited, and four that have.
      expect([first.calls, queue.limiter.getRate('org', get)]).toEqual([5, expect.closeTo(factor * before, 1)])
      expect((await untilProbe()).calls).toBe(next)
    },
  )
})

test('maxConcurrency is the most of a key that is in flight', async () => {
  const queue = makeQueue({ maxConcurrency: 2 })
  for (const name of 'abcd') void queue.send({ canWait: name !== 'c' }, name)
  await vi.advanceTimersByTimeAsync(0)
  expect(queue.names).toBe('ab')
  queue.sent[0]?.end()
  queue.sent[0]?.end()
  await vi.advanceTimersByTimeAsync(0)
  expect(queue.names).toBe('abc')
})

test.each([0, 1.5, '8', Number.NaN])('maxConcurrency %j is rejected', (maxConcurrency) => {
  expect(() => new AdaptiveRateLimiter({ maxConcurrency: maxConcurrency as never })).toThrow('`maxConcurrency`')
})

test.each<[string, number, (index: number) => [key: string, operation: string]]>([
  ['keys', 4_000, (index) => [`org-${index}`, get]],
  ['operations, whose paths may contain ids,', 2_000, (index) => ['org', `GET /things/${index}`]],
])('%s that hold back nothing are forgotten', (_, least, nameOf) => {
  const limiter = new AdaptiveRateLimiter()
  const deleted = vi.spyOn(Map.prototype, 'delete')
  for (let index = 0; index < 3_000; index += 1) {
    const [key, operation] = nameOf(index)
    const end = limiter.acquire(key, new AbortController().signal, callOf({ operation })) as End
    end()
  }
  const count = deleted.mock.calls.length
  deleted.mockRestore()
  expect(count).toBeGreaterThan(least)
})

describe('a key that is not used for a while keeps', () => {
  /** Makes calls of another key, after which the limiter forgets what is not needed. */
  const useAnother = (limiter: AdaptiveRateLimiter) => {
    for (let index = 0; index < 2_000; index += 1) {
      void limiter.acquire('another', new AbortController().signal, callOf())
    }
  }

  test('its ceiling', () => {
    const { limiter } = makeQueue()
    limiter.setRate('org', 5)
    useAnother(limiter)
    expect(limiter.getRate('org')).toBe(5)
  })

  test('its pause', async () => {
    const queue = makeQueue()
    await queue.refuse(1_000)
    useAnother(queue.limiter)
    void queue.send()
    await vi.advanceTimersByTimeAsync(999)
    expect(queue.sent).toHaveLength(0)
  })

  test('its request in flight, and the call that is held back', async () => {
    const queue = makeQueue({ maxConcurrency: 1 })
    for (const name of ['a', 'b']) void queue.send({ operation: name === 'a' ? get : post }, name)
    await vi.advanceTimersByTimeAsync(0)
    useAnother(queue.limiter)
    await vi.advanceTimersByTimeAsync(1)
    void queue.send({}, 'c')
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.names).toBe('a')
    queue.sent[0]?.end()
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.names).toBe('ab')
  })
})
