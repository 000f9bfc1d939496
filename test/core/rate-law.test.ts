import { describe, expect, test } from 'vitest'
import { RateLaw } from '../../src/core/rate-law.ts'

/** A law whose calls are answered at once: one after the other, at a pace in milliseconds. */
function makeLaw() {
  const law = new RateLaw()
  let now = 0
  const answer = (isServed: boolean, retryAfter?: number, isHeld = false) => {
    const sent = law.send(now, isHeld)
    if (isServed) law.serve(sent, now)
    else law.refuse(sent, now, retryAfter)
  }
  return {
    law,
    get now() {
      return now
    },
    pass(time: number) {
      now += time
    },
    answer,
    /** Sends calls 100 ms apart: `+` is served and `-` refused. */
    play(pattern: string, { isHeld = false, every = 100 } = {}) {
      for (const each of pattern) {
        answer(each === '+', undefined, isHeld)
        now += every
      }
    },
    get rate() {
      return law.interval === 0 ? undefined : 1_000 / law.interval
    },
  }
}

describe('before there is a rate', () => {
  test('a refusal stops nobody', () => {
    const { law, play, now } = makeLaw()
    play('+-+-')
    expect(law.opensAt(now)).toBeLessThanOrEqual(now)
  })

  test('a few refusals make no rate', () => {
    const played = makeLaw()
    played.play(`-${'+'.repeat(20)}-${'+'.repeat(20)}-`)
    expect(played.rate).toBeUndefined()
  })

  test.each([
    ['shorter than a second', '-++++++++', 100],
    ['of fewer than eight served calls', '-+++++++', 300],
  ])('a measurement %s counts for nothing', (_, pattern, every) => {
    const played = makeLaw()
    played.play(pattern, { every })
    played.play('----', { every: 0 })
    expect(played.rate).toBeUndefined()
  })
})

describe('a rate', () => {
  test('is 98 % of what was served between two refusals, once four in a row were refused', () => {
    const played = makeLaw()
    played.play(`-${'+'.repeat(19)}`)
    played.play('---', { every: 0 })
    expect(played.rate).toBeUndefined()
    played.play('-', { every: 0 })
    expect(played.rate).toBeCloseTo(0.98 * 9.5)
  })

  test('or once a fifth of the last calls was refused', () => {
    const played = makeLaw()
    played.play('-++++++++++++')
    played.play('-+'.repeat(8))
    expect(played.rate).toBeGreaterThan(0)
  })

  test('sends the calls one after the other at its interval', () => {
    const { law, answer, play } = makeLaw()
    play(`-${'+'.repeat(19)}----`)
    const opened = law.opensAt(10_000)
    expect(opened).toBeLessThanOrEqual(10_000)
    const { interval } = law
    law.serve(law.send(10_000, true), 10_000)
    expect(law.opensAt(10_000)).toBeCloseTo(10_000 + interval)
    answer(true)
  })
})

/** Returns a law at 9.31 a second, at a time at which calls can be sent again. */
function atRate() {
  const played = makeLaw()
  played.play(`-${'+'.repeat(19)}----`)
  played.pass(10_000)
  return played
}

/** Sends held calls, which are served, until a try begins. Returns its four calls. */
function startTry(played: ReturnType<typeof makeLaw>, held: number) {
  const { law } = played
  for (let count = 0; count < held; count += 1) {
    expect(law.opensAt(played.now)).toBeLessThanOrEqual(played.now)
    law.serve(law.send(played.now, true), played.now)
    if (count < held - 1) played.pass(law.interval)
  }
  return Array.from({ length: 4 }, () => {
    expect(law.opensAt(played.now)).toBe(played.now)
    return law.send(played.now, true)
  })
}

describe('a try', () => {
  test('sends four calls at once after four that were held back, and doubles the rate if they are served', () => {
    const played = atRate()
    const before = played.rate ?? 0
    for (const sent of startTry(played, 4)) played.law.serve(sent, played.now)
    expect(played.rate).toBeCloseTo(2 * before)
  })

  test('allows one refusal, which may be an accident', () => {
    const played = atRate()
    const before = played.rate ?? 0
    const [first, ...others] = startTry(played, 4)
    for (const sent of others) played.law.serve(sent, played.now)
    played.law.refuse(first as never, played.now, undefined)
    expect(played.rate).toBeCloseTo(2 * before)
  })

  test('falls back if more are refused, and the next one comes after twice as many calls', () => {
    const played = atRate()
    const before = played.rate
    const [first, second, ...others] = startTry(played, 4)
    for (const sent of others) played.law.serve(sent, played.now)
    for (const sent of [first, second]) played.law.refuse(sent as never, played.now, undefined)
    expect(played.rate).toBeLessThanOrEqual(before ?? 0)
    played.pass(10_000)
    const again = startTry(played, 8)
    expect(again).toHaveLength(4)
  })

  test('is not begun by calls that nothing held back', () => {
    const played = atRate()
    played.play('+'.repeat(40), { every: 1_000 })
    expect(played.rate).toBeLessThan(10)
  })
})

describe('an outage', () => {
  test('begins at the eighth refusal in a row, and lasts as long as the service asks', () => {
    const played = makeLaw()
    for (let count = 0; count < 7; count += 1) played.answer(false, 30_000)
    expect(played.law.opensAt(played.now)).toBe(played.now)
    played.answer(false, 30_000)
    expect([played.law.opensAt(0), played.law.askedUntil]).toEqual([30_000, 30_000])
  })

  test('without Retry-After pauses for 100 ms, and twice as long each time, up to a minute', () => {
    const played = makeLaw()
    for (let count = 0; count < 7; count += 1) played.answer(false)
    const pauses = Array.from({ length: 12 }, () => {
      played.answer(false)
      const pause = played.law.opensAt(played.now) - played.now
      played.pass(pause)
      return pause
    })
    expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000, 60_000])
    expect(played.law.askedUntil).toBeLessThan(0)
  })

  test('ends with the first call that is served', () => {
    const played = makeLaw()
    for (let count = 0; count < 8; count += 1) played.answer(false, 1_000)
    played.pass(1_000)
    played.answer(true)
    for (let count = 0; count < 7; count += 1) played.answer(false, 30_000)
    expect(played.law.opensAt(played.now)).toBeLessThan(played.now + 30_000)
  })
})

test.each([
  ['nothing was learned', () => makeLaw(), true],
  ['a rate was used a moment ago', atRate, false],
])('a law is over when %s', (_, make, isOver) => {
  const { law, now } = make()
  expect(law.isOver(now, 60_000)).toBe(isOver)
  expect(law.isOver(now + 60_001, 60_000)).toBe(true)
})
