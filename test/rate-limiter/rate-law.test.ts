import { describe, expect, test } from 'vitest'
import { RateLaw } from '../../src/rate-limiter/rate-law.ts'

const always = Number.NEGATIVE_INFINITY
const hour = 3_600_000

type End = ReturnType<RateLaw['send']>

/** An operation whose requests are answered when the test says so. */
class Played {
  readonly law = new RateLaw()
  now = hour

  /** In requests a second, rounded. 0 without a rate. */
  get rate(): number {
    return this.law.interval === 0 ? 0 : Math.round(1_000_000 / this.law.interval) / 1_000
  }

  /** How long the next call is held back, in milliseconds. */
  get wait(): number {
    return Math.max(0, Math.round(this.law.opensAt - this.now))
  }

  pass(time: number): this {
    this.now += time
    return this
  }

  /** Sends requests that no rate holds back. */
  send(count: number): End[] {
    return Array.from({ length: count }, () => this.law.send(this.now, undefined))
  }

  /** Answers requests, the first ones with a 429. */
  answer(sent: End[], refused: number, retryAfter?: number): this {
    for (const [index, end] of sent.entries()) end(this.now, index < refused ? { retryAfter } : undefined)
    return this
  }

  /** Sends one request after the other, and answers each in no time: `+` is served and `-` refused. */
  play(pattern: string, every: number, retryAfter?: number): this {
    for (const each of pattern) this.answer(this.send(1), each === '-' ? 1 : 0, retryAfter).pass(every)
    return this
  }

  /** Sends requests at the same time, and refuses them after 100 ms. */
  refuse(count: number, retryAfter?: number): this {
    const sent = this.send(count)
    return this.pass(100).answer(sent, count, retryAfter)
  }

  /** Sends held calls as soon as the rate allows them, and serves them. */
  serveHeld(count: number): this {
    for (let call = 0; call < count; call += 1) {
      this.pass(this.wait)
      this.answer([this.law.send(this.now, always)], 0)
    }
    return this
  }

  /** Returns the requests of held calls that can be sent now. */
  sendHeld(): End[] {
    const sent: End[] = []
    while (this.wait === 0 && sent.length < 100) sent.push(this.law.send(this.now, always))
    return sent
  }

  /** Serves held calls until a probe, and refuses so many of its requests. Returns how many held calls came before. */
  probe(refused: number): number {
    for (let calls = 1; ; calls += 1) {
      this.serveHeld(1)
      const sent = this.sendHeld()
      if (sent.length === 0) continue
      expect(sent).toHaveLength(4)
      this.pass(1).answer(sent, refused)
      return calls
    }
  }
}

/** 20 requests were served in two seconds since a 429. */
const busy = () => new Played().play(`-${'+'.repeat(20)}`, 100)
/** Eight requests were refused in a row. */
function outage(retryAfter?: number): Played {
  const played = new Played()
  for (let count = 1; count <= 8; count += 1) played.refuse(1, retryAfter)
  return played
}
/** A rate of 9.091 a second was found. */
const limited = () => busy().refuse(3)

describe('a rate', () => {
  test.each([
    ['one 429', busy().refuse(1), 0],
    ['two 429s in a row', busy().refuse(2), 9.091],
    ['a seventh of the last requests', busy().play('-++++++'.repeat(8), 100), 0],
    ['every second of the last requests', busy().play('-+-+-', 100), 9.524],
    ['two 429s after seven served requests', new Played().play('-+++++++', 1_000).refuse(2), 0],
    ['two 429s after ten minutes, in which nobody was busy,', new Played().play('-++++++++', hour).refuse(2), 0],
  ])('is known after %s', (_, { rate }, expected) => {
    expect(rate).toBe(expected)
  })

  test('is not lowered by requests that were sent before', () => {
    const played = busy()
    const early = played.send(8)
    expect(played.refuse(3).play('+'.repeat(20), 50).answer(early, 8).rate).toBe(9.091)
  })

  test.each([
    ['lower one after two 429s in a row', 200, 2, 4.878],
    ['higher one after six, which are no accidents any more', 50, 6, 18.182],
  ])('is replaced by a measured %s', (_, every, count, expected) => {
    const played = limited().play('+'.repeat(20), every)
    expect(played.refuse(count - 1).rate).toBe(9.091)
    expect(played.refuse(1).rate).toBe(expected)
  })

  test('lets calls go one after the other, and makes up for 20 ms of a late timer', () => {
    const played = limited().pass(1_000)
    const waits = [0, 15, 50].map((late) => {
      played.pass(played.wait + late)
      played.law.send(played.now, always)
      return played.wait
    })
    expect(waits).toEqual([90, 95, 90])
  })

  test('is not used up by calls that it does not hold back', () => {
    const played = limited().pass(1_000)
    for (let call = 0; call < 10; call += 1) played.law.send(played.now, undefined)
    expect(played.wait).toBe(0)
  })
})

describe('a probe', () => {
  test('does not come while nothing is held back', () => {
    const played = limited().pass(1_000)
    for (let call = 0; call < 300; call += 1) played.pass(1_000).answer([played.law.send(played.now, played.now)], 0)
    expect(played.pass(1_000).sendHeld()).toHaveLength(1)
  })

  test.each([
    [0, 18.182],
    [1, 9.091],
    [4, 9.091],
  ])('of four requests, of which %i are refused, leads to a rate of %d', (refused, rate) => {
    const played = limited()
    expect(played.probe(refused)).toBe(4)
    expect(played.rate).toBe(rate)
  })

  test.each([
    [2, 1],
    [3, 8],
  ])(
    'of which %i are refused, where a third is refused in any case, is followed by one after %i calls',
    (refused, calls) => {
      const played = limited().play('-++'.repeat(14), 20)
      played.probe(refused)
      expect(played.probe(4)).toBe(calls)
    },
  )

  test('of an earlier rate tells nothing', () => {
    const played = limited().serveHeld(4)
    const probe = played.sendHeld()
    const { rate } = played.refuse(6)
    expect([probe.length, played.answer(probe, 0).rate]).toEqual([4, rate])
  })

  test('of which a request is not served tells nothing, so the rate stays and the next one comes after 4 more calls', () => {
    const played = limited().serveHeld(4)
    const [first, ...others] = played.sendHeld()
    first?.(played.now, undefined, 'unserved')
    played.answer(others, 0)
    expect([played.rate, played.probe(0), played.rate]).toEqual([9.091, 4, 18.182])
  })

  test('that fails doubles the number of held calls before the next one, up to 256', () => {
    const played = limited()
    expect(Array.from({ length: 9 }, () => played.probe(4))).toEqual([4, 8, 16, 32, 64, 128, 256, 256, 256])
  })

  test('that succeeds after n held calls multiplies the rate by 1 + 4 / n, and the next one comes after n / 4', () => {
    const played = limited()
    for (const refused of [4, 4]) played.probe(refused)
    const { rate } = played
    expect([played.probe(0), played.rate]).toEqual([16, expect.closeTo(1.25 * rate, 2)])
    expect([played.probe(0), played.rate]).toEqual([4, expect.closeTo(1.25 ** 2 * rate, 2)])
  })

  test('comes after 4 held calls again when the measured rate has fallen by more than a fifth', () => {
    const played = limited()
    for (const refused of [4, 4, 4]) played.probe(refused)
    played.play('+'.repeat(10), 500).refuse(2)
    expect(played.probe(4)).toBe(4)
  })

  test('that succeeds two minutes after the last measurement is followed by ones that double the rate', () => {
    const played = limited()
    for (const refused of [4, 4, 4]) played.probe(refused)
    played.pass(120_000).probe(0)
    const { rate } = played
    expect([played.probe(0), played.rate]).toEqual([8, expect.closeTo(2 * rate, 2)])
    expect([played.probe(0), played.rate]).toEqual([1, expect.closeTo(4 * rate, 2)])
  })
})

test('requests that are not served change neither the rate nor the outage', () => {
  const limitedOnce = limited()
  for (const end of limitedOnce.send(50)) end(limitedOnce.now, undefined, 'unserved')
  expect(limitedOnce.refuse(4).rate).toBe(9.091)
  const played = outage(1_000).pass(1_000)
  const flights = Array.from({ length: 3 }, () => {
    const sent = played.sendHeld()
    for (const end of sent) end(played.now, undefined, 'unserved')
    return sent.length
  })
  expect(flights).toEqual([1, 1, 1])
})

describe('429s in a row', () => {
  test.each<[string, Played, number | undefined, number[]]>([
    ['stop nobody before there is a rate', new Played(), undefined, [0, 0, 0, 0, 0, 0, 0, 128, 256, 512]],
    ['hold back all calls for more and more intervals', limited(), undefined, [220, 440, 880, 1_760, 3_520, 7_040]],
    ['do so for Retry-After at most', limited(), 1_000, [220, 440, 880, 1_000, 1_000, 1_000, 1_000, 1_000]],
    ['do so for all of Retry-After from the eighth on', new Played(), hour, [0, 0, 0, 0, 0, 0, 0, hour, hour]],
  ])('%s', (_, played, retryAfter, expected) => {
    const waits = expected.map(() => {
      const { wait } = played.refuse(1, retryAfter)
      played.pass(wait)
      return wait
    })
    expect(waits).toEqual(expected)
  })

  test('count once if they were sent together, and start anew after a served request', () => {
    const played = new Played()
    expect(played.refuse(20, hour).wait).toBe(0)
    for (let count = 2; count <= 7; count += 1) played.refuse(1, hour)
    expect(played.play('+', 1).refuse(1, hour).wait).toBe(0)
  })

  test('are over when a request is served, and each one allows one more in flight', () => {
    const played = outage(1_000).pass(1_000)
    const flights = Array.from({ length: 4 }, () => {
      const sent = played.sendHeld()
      played.answer(sent, 0)
      return sent.length
    })
    expect(flights).toEqual([1, 2, 4, 8])
  })

  test('pause calls that cannot wait only if the service says for how long', () => {
    const pauses = [undefined, 1_000].map((retryAfter) => {
      const played = outage(retryAfter)
      return Math.max(0, played.law.pausedUntil - played.now)
    })
    expect(pauses).toEqual([0, 1_000])
  })
})

test.each<[string, Played, number, boolean]>([
  ['before its first 429', new Played().play('+++', 1), 0, true],
  ['ten minutes after a 429', busy().refuse(1), 600_000, false],
  ['later', busy().refuse(1), 600_001, true],
  ['ten minutes after a call was sent at the rate', limited().pass(hour).serveHeld(1), 600_000, false],
  ['during a pause', outage(hour), hour, false],
])('nothing of it is worth keeping %s: %#', (_, { law, now }, later, isOver) => {
  expect(law.isOver(now + later)).toBe(isOver)
})
