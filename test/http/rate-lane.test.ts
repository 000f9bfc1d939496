import { AdaptiveRateLimiter, type RateLimitedCall } from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { rejection } from '../helpers/client.ts'
import { countingSignal } from '../helpers/counting-signal.ts'
import { settled } from '../helpers/settled.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

/** Sends calls through a limiter without a client. The calls end when the test ends them. */
function makeLane(options?: ConstructorParameters<typeof AdaptiveRateLimiter>[0]) {
  const limiter = new AdaptiveRateLimiter(options)
  const sent: { at: number; end: () => void }[] = []
  const send = async (call: Partial<RateLimitedCall> = {}, signal = new AbortController().signal) => {
    const defaults = { canWait: true, startedAt: performance.now(), timeLeft: Number.POSITIVE_INFINITY, onWait() {} }
    const end = await limiter.acquire('org', signal, { ...defaults, ...call })
    sent.push({ at: performance.now(), end })
    return end
  }
  return {
    limiter,
    sent,
    send,
    /** Makes calls that are over as soon as they are sent. */
    sendAll: (count: number) => {
      for (let index = 0; index < count; index += 1) void send().then((end) => end())
    },
    get sentAt() {
      return sent.map(({ at }) => Math.round(at))
    },
    get rate() {
      return limiter.getRate('org')
    },
  }
}

describe('after the first 429', () => {
  test('one call is in flight at a time, and one more after each 10 calls', async () => {
    const { limiter, send } = makeLane()
    limiter.penalize('org', 1_000)
    let inFlight = 0
    const inFlights: number[] = []
    for (let count = 0; count < 40; count += 1) {
      void send().then(async (end) => {
        inFlight += 1
        inFlights.push(inFlight)
        await new Promise((resolve) => setTimeout(resolve, 10))
        inFlight -= 1
        end()
      })
    }
    // 10 ms for each of the first ten calls, and for each pair, three and four of those that follow.
    await vi.advanceTimersByTimeAsync(1_000 + 100 + 50 + 40 + 30)
    expect(inFlights).toHaveLength(40)
    expect([0, 10, 20, 30].map((from) => Math.max(...inFlights.slice(from, from + 10)))).toEqual([1, 2, 3, 4])
  })

  test('one more call is in flight after each second', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    for (let count = 0; count < 4; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(lane.sentAt).toEqual([1_000, 2_000, 3_000, 4_000])
  })

  test('a call with maxRetries 0 does not wait for those in flight', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 0)
    for (let count = 0; count < 2; count += 1) void lane.send()
    void lane.send({ canWait: false })
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(2)
  })

  test('all calls are sent at once again after no call was held back', async () => {
    const { limiter, sent, send } = makeLane()
    limiter.penalize('org', 1_000)
    const first = send()
    await vi.advanceTimersByTimeAsync(1_000)
    void send()
    await settled(first.then((end) => end()))
    expect(sent).toHaveLength(2)
    void send()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toHaveLength(2)
    sent[1]?.end()
    await vi.advanceTimersByTimeAsync(0)
    sent[2]?.end()
    for (let count = 0; count < 5; count += 1) void send()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toHaveLength(8)
  })

  test('the calls in flight stay limited as long as there are any', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 0)
    lane.sendAll(10)
    for (let count = 0; count < 2; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(12)
    lane.sent.at(-1)?.end()
    for (let count = 0; count < 3; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(13)
  })

  test.each<[string, (limiter: AdaptiveRateLimiter) => void]>([
    ['the next 429 shows the rate', (limiter) => limiter.penalize('org', 100)],
    ['the rate is set', (limiter) => limiter.setRate('org', 10)],
    ['the limit is removed', (limiter) => limiter.setRate('org', undefined)],
  ])('calls no longer wait for those in flight once %s', async (_, findRate) => {
    const lane = makeLane()
    lane.limiter.penalize('org', 100)
    lane.sendAll(9)
    for (let count = 0; count < 3; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(500)
    // The eleventh call, the second one in flight, is refused.
    expect(lane.sent).toHaveLength(11)
    lane.sent.at(-1)?.end()
    findRate(lane.limiter)
    void lane.send()
    await vi.advanceTimersByTimeAsync(499)
    expect(lane.sent).toHaveLength(13)
  })
})

describe('429s', () => {
  test('of calls that were sent together count once', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    lane.sendAll(1)
    await vi.advanceTimersByTimeAsync(0)
    for (const duration of [1_000, 500, 2_000]) lane.limiter.penalize('org', duration)
    expect(lane.rate).toBeCloseTo(9.5, 9)
    await vi.advanceTimersByTimeAsync(2_000)
    lane.sendAll(1)
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.penalize('org', 0)
    expect(lane.rate).toBeCloseTo(9.025, 9)
  })

  test('take back the calls in flight, which are refused as well', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    void lane.send()
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.penalize('org', 0)
    expect(lane.rate).toBeCloseTo(10, 9)
  })

  test('without a served call in between hold calls back for 500 ms or more from the third on', async () => {
    const lane = makeLane()
    for (let count = 0; count < 3; count += 1) {
      lane.limiter.penalize('org', 0)
      await vi.advanceTimersByTimeAsync(0)
    }
    lane.sendAll(1)
    await vi.advanceTimersByTimeAsync(500)
    lane.limiter.penalize('org', 3_000)
    lane.sendAll(1)
    await vi.advanceTimersByTimeAsync(3_000)
    expect(lane.sentAt).toEqual([500, 3_500])
  })

  test('delay the calls of a known rate until the wait is over, and not by more', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 1)
    void lane.send()
    lane.sendAll(3)
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.penalize('org', 100)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(lane.sentAt).toEqual([0, 100, 1_100, 2_100])
  })
})

describe('the rate', () => {
  test('lets two calls catch up after a pause, and no more', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    await vi.advanceTimersByTimeAsync(5_000)
    lane.sendAll(4)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(lane.sentAt).toEqual([5_000, 5_000, 5_100, 5_200])
  })

  test.each([
    { what: 'a higher one, from then on', perMinute: 600, sentAt: [0, 10_100, 10_200] },
    { what: 'a lower one, after the next call', perMinute: 0.5, sentAt: [0, 30_000, 90_000] },
    { what: 'none, at once', perMinute: undefined, sentAt: [0, 10_000, 10_000] },
  ])('can be changed while calls wait: to $what', async ({ perMinute, sentAt }) => {
    const lane = makeLane()
    lane.limiter.setRate('org', 2 / 60)
    lane.sendAll(3)
    await vi.advanceTimersByTimeAsync(10_000)
    lane.limiter.setRate('org', perMinute === undefined ? undefined : perMinute / 60)
    await vi.advanceTimersByTimeAsync(120_000)
    expect(lane.sentAt).toEqual(sentAt)
  })

  test('is not used up by calls with maxRetries 0', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    for (let count = 0; count < 5; count += 1) void lane.send({ canWait: false })
    lane.sendAll(2)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(lane.sentAt).toEqual([0, 0, 0, 0, 0, 0, 100])
  })

  test('adapts to the calls that are held back', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    lane.sendAll(151)
    await vi.advanceTimersByTimeAsync(14_999)
    expect(lane.rate).toBeCloseTo(10, 9)
    await vi.advanceTimersByTimeAsync(1)
    expect(lane.rate).toBeCloseTo(10.5, 9)
  })

  test('rises after fewer calls with one that waited for more than half of its time', async () => {
    const lane = makeLane()
    await vi.advanceTimersByTimeAsync(60_000)
    lane.limiter.setRate('org', 10)
    const sendPressed = async (calls: number, timeLeft: number) => {
      for (let count = 0; count < calls; count += 1) void lane.send({ timeLeft }).then((end) => end())
      await vi.advanceTimersByTimeAsync(10_000)
    }
    // The last one waits for 2.9 s, and then for 1.8 s.
    await sendPressed(30, 5_800)
    expect(lane.rate).toBeCloseTo(10, 9)
    await sendPressed(20, 3_599)
    expect(lane.rate).toBeCloseTo(10.5, 9)
    lane.sendAll(100)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(lane.rate).toBeCloseTo(10.5, 9)
  })

  test('rises after the usual number of calls if it is set while calls wait for a place', async () => {
    const lane = makeLane({ maxConcurrency: 1 })
    lane.sendAll(40)
    lane.limiter.setRate('org', 10)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(lane.sent).toHaveLength(40)
    expect(lane.rate).toBeCloseTo(10, 9)
  })

  test.each<[string, (lane: ReturnType<typeof makeLane>) => void]>([
    ['it was set', ({ limiter }) => limiter.setRate('org', 5)],
    ['a 429', ({ limiter }) => limiter.penalize('org', 0)],
    ['the wait after a 429', ({ limiter }) => limiter.penalize('org', 300_000)],
  ])('is kept for ten minutes after %s', async (what, use) => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    await vi.advanceTimersByTimeAsync(300_000)
    use(lane)
    await vi.advanceTimersByTimeAsync(what.startsWith('the wait') ? 900_000 : 600_000)
    expect(lane.limiter.isFree('org')).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(lane.limiter.isFree('org')).toBe(true)
    expect(lane.rate).toBeUndefined()
  })

  test('is kept for ten minutes after a call was held back, but not after one that was not', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 1)
    lane.sendAll(11)
    await vi.advanceTimersByTimeAsync(300_000)
    lane.sendAll(1)
    await vi.advanceTimersByTimeAsync(310_000)
    expect(lane.sent).toHaveLength(12)
    expect(lane.limiter.isFree('org')).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(lane.limiter.isFree('org')).toBe(true)
  })

  test('is kept as long as a call is in flight or held back', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 5)
    const end = await settled(lane.send())
    await vi.advanceTimersByTimeAsync(600_001)
    expect(lane.limiter.isFree('org')).toBe(false)
    end()
    expect(lane.limiter.isFree('org')).toBe(true)
    lane.limiter.penalize('org', 1_200_000)
    const controller = new AbortController()
    const held = rejection(lane.send({}, controller.signal))
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.setRate('org', undefined)
    expect(lane.limiter.isFree('org')).toBe(false)
    controller.abort('enough')
    expect(await settled(held)).toBe('enough')
  })

  test('that was removed lets no call through before the wait after a 429 is over', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 60_000)
    lane.limiter.setRate('org', undefined)
    expect(lane.limiter.isFree('org')).toBe(false)
    lane.sendAll(3)
    // The timer is late.
    const now = vi.spyOn(performance, 'now').mockReturnValue(60_000)
    expect(lane.limiter.isFree('org')).toBe(false)
    now.mockRestore()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(lane.sentAt).toEqual([60_000, 60_000, 60_000])
    expect(lane.limiter.isFree('org')).toBe(true)
  })
})

describe('a call that is held back', () => {
  test('is not overtaken by one that arrives while the timer is late', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    const order: number[] = []
    for (const number of [1, 2]) void lane.send().then(() => order.push(number))
    await vi.advanceTimersByTimeAsync(0)
    const now = vi.spyOn(performance, 'now').mockReturnValue(150)
    void lane.send().then(() => order.push(3))
    await vi.advanceTimersByTimeAsync(0)
    now.mockRestore()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(order).toEqual([1, 2, 3])
  })

  test('is sent before those that were made later, even if they arrived earlier', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    const order: string[] = []
    const calls: [name: string, startedAt: number][] = [
      ['a', 0],
      ['d', 2],
      ['b', 1],
      ['e', 3],
      ['c', 1],
    ]
    for (const [name, startedAt] of calls) void lane.send({ startedAt }).then(() => order.push(name))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(order.join('')).toBe('abcde')
  })

  test('is told the wait of the calls before it', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    const waits: [number, number][] = []
    for (const startedAt of [0, 1, 3, 2]) void lane.send({ startedAt, onWait: (wait) => waits.push([startedAt, wait]) })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(waits).toEqual([
      [1, 100],
      [3, 200],
      [2, 200],
    ])
  })

  test('is told about a wait that is at least 100 ms longer, and not about a shorter one', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    const waits: number[] = []
    void lane.send({ onWait: (wait) => void waits.push(wait) })
    await vi.advanceTimersByTimeAsync(0)
    for (const duration of [1_000, 500, 1_100, 1_199, 1_298, 3_000]) lane.limiter.penalize('org', duration)
    expect(waits).toEqual([1_000, 1_100, 3_000])
  })

  test('is told about the longer wait of the calls before it that accept theirs', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    void lane.send()
    const waits: number[] = []
    const refused = [1, 2].map(() => {
      const onWait = (wait: number) => {
        if (wait > 1_000) throw new Error('too long')
      }
      return rejection(lane.send({ onWait }))
    })
    for (let count = 0; count < 2; count += 1) void lane.send({ onWait: (wait) => void waits.push(wait) })
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.penalize('org', 2_000)
    await settled(Promise.all(refused))
    expect(waits).toEqual([300, 400, 2_000, 2_100])
  })

  test('with maxRetries 0 is told the wait after a 429, and no other', async () => {
    const lane = makeLane({ maxConcurrency: 1 })
    const waits: number[] = []
    const call = { canWait: false, onWait: (wait: number) => void waits.push(wait) }
    lane.limiter.setRate('org', 10)
    const end = await settled(lane.send())
    void lane.send(call)
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(1)
    end()
    await vi.advanceTimersByTimeAsync(100)
    expect(lane.sent).toHaveLength(2)
    lane.limiter.penalize('org', 1_000)
    void lane.send(call)
    await vi.advanceTimersByTimeAsync(0)
    expect(waits).toEqual([1_000])
  })

  test('for longer than a timer supports is sent in time', async () => {
    const lane = makeLane()
    const days = 86_400_000
    lane.limiter.penalize('org', 30 * days)
    lane.sendAll(1)
    await vi.advanceTimersByTimeAsync(30 * days - 1)
    expect(lane.sent).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(lane.sent).toHaveLength(1)
  })

  test.each([10_000, 30 * 86_400_000])(
    'for %i ms is sent in time under a fake clock that only has timers',
    async (wait) => {
      vi.useRealTimers()
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const lane = makeLane()
      lane.limiter.penalize('org', wait)
      lane.sendAll(1)
      await vi.advanceTimersByTimeAsync(wait / 2)
      expect(lane.sent).toHaveLength(0)
      await vi.advanceTimersByTimeAsync(wait / 2)
      expect(lane.sent).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(0)
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  test.each<[string, (lane: ReturnType<typeof makeLane>, abort: () => void) => void]>([
    ['is sent', ({ limiter }) => limiter.setRate('org', 1_000)],
    ['is aborted', (_, abort) => abort()],
    ['has no time for a longer wait', ({ limiter }) => limiter.penalize('org', 60_000)],
  ])('leaves no timer and no listener when it %s', async (_, end) => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    const counting = countingSignal()
    const onWait = (wait: number) => {
      if (wait > 1_000) throw new Error('too long')
    }
    const call = lane.send({ onWait }, counting.signal).catch(() => {})
    await vi.advanceTimersByTimeAsync(0)
    expect([counting.listeners, vi.getTimerCount()]).toEqual([1, 1])
    end(lane, () => counting.abort('enough'))
    if (lane.rate !== undefined) await vi.advanceTimersByTimeAsync(1_000)
    await settled(call)
    expect([counting.listeners, vi.getTimerCount()]).toEqual([0, 0])
  })

  test('rejects when it is aborted before or in onWait', async () => {
    const lane = makeLane()
    lane.limiter.setRate('org', 10)
    expect(await settled(rejection(lane.send({}, AbortSignal.abort('before'))))).toBe('before')
    lane.limiter.penalize('org', 1_000)
    const controller = new AbortController()
    const onWait = () => controller.abort('in onWait')
    expect(await settled(rejection(lane.send({ onWait }, controller.signal)))).toBe('in onWait')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is not affected when another one is aborted while both are told about a longer wait', async () => {
    const lane = makeLane()
    lane.limiter.penalize('org', 1_000)
    const controller = new AbortController()
    const isLong = (wait: number) => wait > 1_000
    void lane.send({ onWait: (wait) => isLong(wait) && controller.abort('enough') })
    const onWait = (wait: number) => {
      if (isLong(wait)) throw new Error('too long')
    }
    const aborted = rejection(lane.send({ onWait }, controller.signal))
    void lane.send()
    await vi.advanceTimersByTimeAsync(0)
    lane.limiter.penalize('org', 2_000)
    expect(await settled(aborted)).toBe('enough')
    await vi.advanceTimersByTimeAsync(2_000)
    lane.sent[0]?.end()
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(2)
  })
})

describe('a turn', () => {
  test('is taken by as many calls as maxConcurrency allows, and needs no timer', async () => {
    const lane = makeLane({ maxConcurrency: 3 })
    for (let count = 0; count < 5; count += 1) void lane.send()
    await vi.advanceTimersByTimeAsync(0)
    expect(lane.sent).toHaveLength(3)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that is ended twice frees one place', async () => {
    const { sent, send } = makeLane({ maxConcurrency: 1 })
    const end = await settled(send())
    end()
    end()
    for (let count = 0; count < 3; count += 1) void send()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toHaveLength(2)
  })
})
