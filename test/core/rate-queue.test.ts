import { AsyncLocalStorage } from 'node:async_hooks'
import { AdaptiveRateLimiter, type RateLimitedCall, type RateLimiter, RetryAfterLimiter } from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import { rejection } from '../helpers/client.ts'
import { fakeClock } from '../helpers/clock.ts'
import { countingSignal } from '../helpers/counting-signal.ts'
import { settled } from '../helpers/settled.ts'

fakeClock()

const get = 'GET /things'
const post = 'POST /things'
const day = 86_400_000
const noWait = { canWait: false }

function callOf(call: Partial<RateLimitedCall> = {}): RateLimitedCall {
  const startedAt = performance.now()
  return { operation: get, canWait: true, startedAt, timeLeft: Number.POSITIVE_INFINITY, onWait() {}, ...call }
}

/** Sends calls through a limiter without a client. The calls end when the test ends them. */
function makeQueue<Limiter extends RateLimiter = RetryAfterLimiter>(limiter = new RetryAfterLimiter() as RateLimiter) {
  const sent: { name: string; at: number; end: () => void }[] = []
  const send = async (call: Partial<RateLimitedCall> = {}, name = '', signal = new AbortController().signal) => {
    const end = (await limiter.acquire('org', signal, callOf(call))) ?? (() => {})
    sent.push({ name, at: performance.now(), end })
    return end
  }
  return {
    limiter: limiter as Limiter,
    sent,
    send,
    /** Sends several calls. Resolves once those that nothing holds back are sent. */
    async sendMany(count: number, endsAfter?: number) {
      for (let index = 0; index < count; index += 1) {
        void send().then((end) => endsAfter !== undefined && setTimeout(end, endsAfter))
      }
      await vi.advanceTimersByTimeAsync(0)
    },
    get sentAt() {
      return sent.map(({ at }) => Math.round(at))
    },
    get names() {
      return sent.map(({ name }) => name).join('')
    },
  }
}

function pacedQueue(perSecond: number, options = {}) {
  const limiter = new AdaptiveRateLimiter(options)
  limiter.setRate('org', perSecond)
  return makeQueue<AdaptiveRateLimiter>(limiter)
}

const unlimited = new RetryAfterLimiter({ maxConcurrency: Number.POSITIVE_INFINITY })

test.each([unlimited, new AdaptiveRateLimiter()])('a key without a 429 needs no promise or listener', (limiter) => {
  limiter.penalize('another', 1_000)
  const counting = countingSignal()
  expect(limiter.acquire('org', counting.signal, callOf())).toBeTypeOf('function')
  expect([counting.added, vi.getTimerCount()]).toEqual([0, 0])
})

describe('a pause', () => {
  test.each<[string, { [operation: string]: number }[], number[]]>([
    ['of one operation holds back its calls only', [{ [get]: 1 }], [1, 0, 0]],
    ['of the key holds back every operation', [{ key: 1 }], [1, 1, 1]],
    ['of two operations holds back the key while both are paused', [{ [post]: 3 }, { [get]: 1 }], [1, 3, 1]],
    ['of a second operation after the first holds back nothing else', [{ [post]: 0 }, { [get]: 1 }], [1, 0, 0]],
    ['is as long as the longest of several 429s', [{ [get]: 1 }, { [get]: 3 }, { [get]: 2 }], [3, 0, 0]],
  ])('%s', async (_, penalties, expected) => {
    const queue = makeQueue()
    for (const [operation, seconds] of penalties.flatMap(Object.entries<number>)) {
      queue.limiter.penalize('org', seconds * 1_000, operation === 'key' ? undefined : operation)
    }
    const operations = [get, post, 'GET /others']
    for (const operation of operations) void queue.send({ operation }, operation).then((end) => end())
    await vi.advanceTimersByTimeAsync(5_000)
    const sentAt = Object.fromEntries(queue.sent.map(({ name, at }) => [name, at / 1_000]))
    expect(operations.map((operation) => sentAt[operation])).toEqual(expected)
  })

  test.each([10_000, 30 * day])('of %i ms holds under a clock that only fakes timers', async (wait) => {
    vi.useRealTimers()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const queue = makeQueue()
    queue.limiter.penalize('org', wait, get)
    void queue.send()
    await vi.advanceTimersByTimeAsync(wait / 2)
    // A call that arrives later does not start the wait again.
    void queue.send()
    expect(queue.sent).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(wait / 2)
    expect(queue.sent).toHaveLength(2)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('lets calls go gradually: two at a time, and twice as many after each round trip', async () => {
    const queue = makeQueue()
    queue.limiter.penalize('org', 1_000, get)
    await queue.sendMany(30, 100)
    await vi.advanceTimersByTimeAsync(2_000)
    const counts = [1_000, 1_100, 1_200, 1_300].map((time) => queue.sentAt.filter((at) => at === time).length)
    expect(counts).toEqual([2, 4, 8, 16])
  })

  test('is forgotten once no call waits', async () => {
    const queue = makeQueue()
    queue.limiter.penalize('org', 1_000, get)
    void queue.send()
    await vi.advanceTimersByTimeAsync(1_000)
    await queue.sendMany(10)
    expect(queue.sent).toHaveLength(11)
  })

  test('of the key lets them go gradually even if it was over when the last one arrived', async () => {
    const queue = makeQueue()
    queue.limiter.penalize('org', 1_000)
    await queue.sendMany(5)
    await vi.advanceTimersByTimeAsync(1_000)
    void queue.send()
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.sent).toHaveLength(2)
  })

  test('starts with two calls again after the next 429', async () => {
    const queue = makeQueue()
    queue.limiter.penalize('org', 1_000, get)
    await queue.sendMany(20)
    await vi.advanceTimersByTimeAsync(1_000)
    queue.limiter.penalize('org', 1_000, get)
    await vi.advanceTimersByTimeAsync(1_500)
    for (const { end } of queue.sent.slice(0, 2)) end()
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.sentAt).toEqual([1_000, 1_000, 2_000, 2_000])
  })
})

describe('a call that is held back', () => {
  test.each([
    ['with pauses', (queue: ReturnType<typeof makeQueue>) => queue.limiter.penalize('org', 1_000), makeQueue],
    ['at a rate', () => {}, () => pacedQueue(10)],
  ])('is sent before those that were made later, even if they arrived earlier, %s', async (_, hold, make) => {
    const queue = make()
    hold(queue as never)
    const startedAt = { a: 0, d: 2, b: 1, e: 3, c: 1, f: 3 }
    for (const [name, time] of Object.entries(startedAt)) {
      const operation = 'adc'.includes(name) ? get : post
      void queue.send({ startedAt: time, operation }, name).then((end) => end())
    }
    await vi.advanceTimersByTimeAsync(2_000)
    expect(queue.names).toMatch(/^a(bc|cb)def$/)
  })

  test('is not overtaken by one that arrives while the timer is late', async () => {
    const queue = pacedQueue(10)
    for (const name of ['a', 'b']) void queue.send({}, name)
    await vi.advanceTimersByTimeAsync(0)
    const now = vi.spyOn(performance, 'now').mockReturnValue(150)
    void queue.send({}, 'c')
    now.mockRestore()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(queue.names).toBe('abc')
  })

  test('without retries is sent at once between pauses, whatever the slots and the rate', async () => {
    const queue = pacedQueue(0.1)
    for (let count = 0; count < 3; count += 1) void queue.send({}, 'w')
    for (let count = 0; count < 3; count += 1) void queue.send(noWait, 'n')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(queue.names).toBe('wnnnw')
  })

  test.each<[string, (queue: ReturnType<typeof pacedQueue>, abort: () => void) => void]>([
    ['is sent', () => {}],
    ['is aborted', (_, abort) => abort()],
    ['has no time for a longer wait', ({ limiter }) => limiter.penalize('org', 60_000, get)],
  ])('leaves no timer and no listener when it %s', async (_, end) => {
    const queue = makeQueue<AdaptiveRateLimiter>(new AdaptiveRateLimiter())
    queue.limiter.penalize('org', 1_000, get)
    const counting = countingSignal()
    const onWait = (wait: number) => {
      if (wait > 1_000) throw new Error('too long')
    }
    const call = queue.send({ onWait }, '', counting.signal).catch(() => {})
    await vi.advanceTimersByTimeAsync(0)
    expect([counting.listeners, vi.getTimerCount()]).toEqual([1, 1])
    end(queue, () => counting.abort('enough'))
    await vi.advanceTimersByTimeAsync(1_000)
    await settled(call)
    expect([counting.listeners, vi.getTimerCount()]).toEqual([0, 0])
  })

  test.each([
    ['before', AbortSignal.abort('reason'), () => {}],
    ['in onWait', new AbortController(), (controller: AbortController) => controller.abort('reason')],
  ] as const)('rejects with the reason of a signal that aborts %s', async (_, source, onWait) => {
    const queue = makeQueue()
    queue.limiter.penalize('org', 1_000, get)
    const signal = source instanceof AbortController ? source.signal : source
    const call = queue.send({ onWait: () => onWait(source as AbortController) }, '', signal)
    expect(await settled(rejection(call))).toBe('reason')
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a key with a rate', () => {
  test('sends its calls at even intervals', async () => {
    const queue = pacedQueue(2)
    await queue.sendMany(4)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(queue.sentAt).toEqual([0, 500, 1_000, 1_500])
  })

  test('is forgotten when it was not needed for ten minutes', async () => {
    const queue = pacedQueue(2)
    const end = await settled(queue.send())
    end()
    await vi.advanceTimersByTimeAsync(600_001)
    await queue.sendMany(3)
    expect(queue.sent).toHaveLength(4)
    expect(queue.limiter.getRate('org')).toBeUndefined()
  })

  test('is kept after ten minutes if it is still held back', async () => {
    const queue = makeQueue<AdaptiveRateLimiter>(new AdaptiveRateLimiter())
    queue.limiter.penalize('org', 1_200_000)
    await vi.advanceTimersByTimeAsync(900_000)
    for (let count = 0; count < 200; count += 1) queue.limiter.penalize(`org-${count}`, 1)
    void queue.send()
    await vi.advanceTimersByTimeAsync(300_000)
    expect(queue.sentAt).toEqual([1_200_000])
  })

  test('learns it for each operation', async () => {
    const queue = makeQueue<AdaptiveRateLimiter>(new AdaptiveRateLimiter({ maxConcurrency: 2 }))
    await queue.sendMany(40, 100)
    await vi.advanceTimersByTimeAsync(1_000)
    queue.limiter.penalize('org', 1_000, get)
    const rates = [get, post, undefined].map((operation) => queue.limiter.getRate('org', operation))
    expect(rates).toEqual([expect.closeTo(17.1), undefined, undefined])
    const onWait = vi.fn()
    void queue.send({ onWait })
    expect(onWait).toHaveBeenCalledWith(2_053, 1_000)
  })

  test('can be read and removed', async () => {
    const queue = pacedQueue(2)
    expect(queue.limiter.getRate('org')).toBe(2)
    expect(queue.limiter.getRate('another')).toBeUndefined()
    await queue.sendMany(3)
    queue.limiter.setRate('org', undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(queue.sent).toHaveLength(3)
    expect(queue.limiter.getRate('org')).toBeUndefined()
  })
})

describe('onWait', () => {
  /** Returns the waits that calls are told, each with its pause: `wait/pause`. */
  function tell({ send }: Pick<ReturnType<typeof makeQueue>, 'send'>, ...calls: Partial<RateLimitedCall>[]) {
    return calls.map((call) => {
      const waits: string[] = []
      void send({ ...call, onWait: (wait, pause) => void waits.push(`${wait}/${pause}`) })
      return waits
    })
  }

  test('tells the wait for those before it, and the part that the service asked for', async () => {
    const queue = pacedQueue(10)
    const first = [0, 1, 1, 3].map((startedAt) => ({ startedAt }))
    const waits = tell(queue, ...first, { startedAt: 2, operation: post })
    expect(waits).toEqual([[], ['100/0'], ['200/0'], ['300/0'], ['300/0']])
    queue.limiter.penalize('org', 2_000)
    await vi.advanceTimersByTimeAsync(0)
    expect(waits.map((told) => told[1])).toEqual([undefined, '2000/2000', '2100/2000', '2300/2000', '2200/2000'])
  })

  test('is called twice at most, the second time for a wait that is at least 100 ms longer', async () => {
    const queue = makeQueue()
    await vi.advanceTimersByTimeAsync(1_000)
    queue.limiter.penalize('org', 1_000, get)
    const [waits] = tell(queue, {})
    queue.limiter.penalize('org', 3_000, post)
    for (const duration of [1_000, 500, 1_099, 1_100, 3_000]) {
      queue.limiter.penalize('org', duration, get)
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(waits).toEqual(['1000/1000', '1100/1100'])
  })

  test('is called once more for a wait that takes all the time that the call has left', async () => {
    const queue = makeQueue()
    queue.limiter.penalize('org', 1_000, get)
    const [waits] = tell(queue, { timeLeft: 5_000 })
    for (const duration of [2_000, 4_000, 5_000]) {
      queue.limiter.penalize('org', duration, get)
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(waits).toEqual(['1000/1000', '2000/2000', '5000/5000'])
  })

  test('is not called for a wait that only maxConcurrency causes, or for a call without retries at a rate', async () => {
    expect(tell(makeQueue(new RetryAfterLimiter({ maxConcurrency: 1 })), {}, {})).toEqual([[], []])
    expect(tell(pacedQueue(1), {}, noWait)).toEqual([[], []])
  })

  test('runs in the async context of its own call', async () => {
    const storage = new AsyncLocalStorage<string>()
    const queue = makeQueue()
    queue.limiter.penalize('org', 1_000, get)
    const contexts: unknown[] = []
    const onWait = () => void contexts.push(storage.getStore())
    storage.run('caller', () => void queue.send({ onWait }))
    storage.run('other', () => queue.limiter.penalize('org', 5_000, get))
    await vi.advanceTimersByTimeAsync(0)
    expect(contexts).toEqual(['caller', 'caller'])
  })
})

class Deaf extends RetryAfterLimiter {
  override penalize(): void {}
}

class Slow extends RetryAfterLimiter {
  override async acquire(...parameters: Parameters<RetryAfterLimiter['acquire']>) {
    await null
    return super.acquire(...parameters)
  }
}

test.each([
  ['does not pass a 429 on lets calls go', new Deaf(), 0],
  ['waits before it acquires holds calls back', new Slow(), 1_000],
])('a subclass that %s', async (_, limiter, sentAt) => {
  const queue = makeQueue(limiter)
  queue.limiter.penalize('org', 1_000, get)
  void queue.send()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(queue.sentAt).toEqual([sentAt])
})

describe('a turn', () => {
  test('is taken by as many calls as maxConcurrency allows, without a timer', async () => {
    const queue = makeQueue(new RetryAfterLimiter({ maxConcurrency: 3 }))
    await queue.sendMany(5)
    expect([queue.sent.length, vi.getTimerCount()]).toEqual([3, 0])
  })

  test('that is ended twice frees one place', async () => {
    const queue = makeQueue(new RetryAfterLimiter({ maxConcurrency: 1 }))
    const end = await settled(queue.send())
    end()
    end()
    await queue.sendMany(3)
    expect(queue.sent).toHaveLength(2)
  })
})

test.each<[string, (queue: ReturnType<typeof makeQueue>) => void]>([
  ['one of its calls is in flight', ({ send }) => void send()],
  ['one of its operations is held back', ({ limiter }) => limiter.penalize('org', day, get)],
])('a key is not removed as others are added while %s', async (_, hold) => {
  const queue = makeQueue(new RetryAfterLimiter({ maxConcurrency: 1 }))
  hold(queue)
  for (let count = 0; count < 200; count += 1) queue.limiter.penalize(`org-${count}`, 1)
  void queue.send({}, 'late')
  await vi.advanceTimersByTimeAsync(0)
  expect(queue.names).toBe('')
})

const limiters = [new RetryAfterLimiter({ maxConcurrency: 5 }), new AdaptiveRateLimiter()]
test.each(limiters)('keys that hold back nothing are removed as others are added', async (limiter) => {
  const removed = vi.spyOn(Map.prototype, 'delete')
  for (let count = 0; count < 1_000; count += 1) {
    limiter.penalize(`org-${count}`, 1)
    await vi.advanceTimersByTimeAsync(limiter instanceof AdaptiveRateLimiter ? 600_010 : 2)
  }
  const keys = new Set(removed.mock.calls.map(([key]) => String(key)).filter((key) => key.startsWith('org-')))
  removed.mockRestore()
  expect(keys.size).toBeGreaterThanOrEqual(900)
})

test.each<[string, () => unknown]>([
  ['maxConcurrency', () => new RetryAfterLimiter({ maxConcurrency: 0 })],
  ['maxConcurrency', () => new RetryAfterLimiter({ maxConcurrency: 1.5 })],
  ['maxConcurrency', () => new AdaptiveRateLimiter({ maxConcurrency: '8' as never })],
  ['maxConcurency', () => new RetryAfterLimiter({ maxConcurency: 8 } as never)],
  ['maxConcurency', () => new AdaptiveRateLimiter({ maxConcurency: 8 } as never)],
  ['duration', () => new RetryAfterLimiter().penalize('org', -1)],
  ['duration', () => new AdaptiveRateLimiter().penalize('org', Number.NaN)],
  ['duration', () => new AdaptiveRateLimiter().penalize('org', '1000' as never)],
  ['duration', () => new AdaptiveRateLimiter().penalize('org', 1n as never)],
  ['rate', () => new AdaptiveRateLimiter().setRate('org', '2' as never)],
  ['rate', () => new AdaptiveRateLimiter().setRate('org', 0)],
  ['rate', () => new AdaptiveRateLimiter().setRate('org', Number.NaN)],
])('an invalid argument of a limiter is named: %s', (argument, use) => {
  expect(use).toThrow(expect.objectContaining({ name: 'InvalidArgumentError', argument }))
})
