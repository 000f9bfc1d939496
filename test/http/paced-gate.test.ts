import { describe, expect, test } from 'vitest'
import { PacedGate } from '../../src/adaptive/paced-gate.ts'

/** Sends calls through a gate. Rates are per second, and times are in milliseconds. */
function makeGate(rate?: number) {
  let now = Math.ceil(performance.now())
  const gate = new PacedGate()
  if (rate !== undefined) gate.setRate(rate / 1_000, now)
  const shared = {
    gate,
    get rate() {
      return gate.interval === 0 ? undefined : 1_000 / gate.interval
    },
    /** Sends calls at an interval. Unless told otherwise, each was held back for the whole interval and is served. */
    send: (count: number, interval: number, { heldFor = interval, others = 0, isServed = true } = {}) => {
      for (let sent = 0; sent < count; sent += 1) {
        now += interval
        const call = {
          operation: 'GET /',
          canWait: true,
          startedAt: 0,
          arrivedAt: now - heldFor,
          timeLeft: Number.POSITIVE_INFINITY,
          onWait() {},
          gate,
          announcements: 0,
          expectedAt: 0,
          wake() {},
        }
        const end = gate.send(call, now, others)
        if (isServed) end()
      }
    },
    /** Gets a 429 that pauses calls for a time. */
    refuse: (duration = 0) => gate.refuse(now, now + duration),
    /** Sends as many calls as it takes until the rate changes. Returns their number and the new rate. */
    sendUntilRise: (interval: number, options = {}) => {
      const before = gate.interval
      let count = 0
      for (; gate.interval === before && count < 10_000; count += 1) shared.send(1, interval, options)
      return [count, shared.rate]
    },
  }
  return shared
}

const close = (rate: number) => expect.closeTo(rate, 6)

/** A gate after a 429 at 20 a second, which has sent at 10 a second before. */
function makeRefused() {
  const paced = makeGate(10)
  paced.sendUntilRise(100)
  paced.send(1, 50)
  paced.refuse()
  return paced
}

describe('the first rate', () => {
  test.each([
    { what: '95 % of what was served', served: 10, interval: 100, rate: 9.5 },
    { what: 'unknown after fewer than ten calls', served: 9, interval: 100, rate: undefined },
    { what: 'one a minute at least', served: 10, interval: 100_000, rate: 1 / 60 },
  ])('after two 429s is $what', ({ served, interval, rate }) => {
    const paced = makeGate()
    paced.refuse()
    paced.send(served, interval)
    paced.refuse()
    expect(paced.rate).toEqual(rate === undefined ? undefined : close(rate))
  })

  test('is not measured while calls are held back for less than 60 % of the last minute', () => {
    const paced = makeGate()
    paced.refuse()
    paced.send(100, 100, { heldFor: 59 })
    paced.refuse()
    expect(paced.rate).toBeUndefined()
    // An hour without a backlog is soon forgotten.
    paced.send(1_000, 3_600, { heldFor: 0 })
    paced.refuse()
    paced.send(700, 100)
    paced.refuse()
    expect(paced.rate).toEqual(close(9.5))
  })
})

test('a gate without a 429 is forgotten at once, because an operation can have an id in its path', () => {
  const paced = makeGate()
  paced.send(100, 100)
  expect(paced.gate.isOver(performance.now() + 10_000)).toBe(true)
})

describe('a 429', () => {
  test.each<[string, number, (paced: ReturnType<typeof makeGate>) => void]>([
    ['lowers the rate by 5 %', 9.5, (paced) => paced.send(1, 100)],
    ['lowers it to 95 % of the last one that lasted', 9.5, (paced) => paced.sendUntilRise(100)],
    [
      'lowers it after a rise, although the calls before it did not wait',
      9.5,
      (paced) => {
        paced.sendUntilRise(100)
        paced.send(1_000, 100, { heldFor: 0 })
      },
    ],
    ['does not lower it without a served call', 10, () => {}],
    ['does not lower it if the calls before it did not wait', 10, (paced) => paced.send(100, 100, { heldFor: 0 })],
  ])('%s', (_, rate, send) => {
    const paced = makeGate(10)
    send(paced)
    paced.send(1, 1, { heldFor: 0, isServed: send.length > 0 })
    paced.refuse()
    expect(paced.rate).toEqual(close(rate))
  })

  test('counts once for calls that were sent together', () => {
    const paced = makeGate(10)
    paced.send(1, 100)
    for (const duration of [1_000, 500, 2_000]) paced.refuse(duration)
    expect(paced.rate).toEqual(close(9.5))
    paced.send(1, 2_000)
    paced.refuse()
    expect(paced.rate).toEqual(close(9.025))
  })
})

describe('a rate that was not refused', () => {
  test.each([
    { interval: 10, calls: 100 },
    { interval: 1_000, calls: 20 },
  ])('is doubled after 20 held calls and a second, here $calls calls', ({ interval, calls }) => {
    expect(makeGate(10).sendUntilRise(interval)).toEqual([calls, close(20)])
  })

  test('is kept while no call waits', () => {
    const paced = makeGate(10)
    paced.send(1_000, 100, { heldFor: 0 })
    expect(paced.rate).toEqual(close(10))
  })
})

describe('a rate that was refused', () => {
  test('rises half of the way to the refused one, on a logarithmic scale, until it is close', () => {
    const paced = makeRefused()
    expect(paced.rate).toEqual(close(9.5))
    const rises = [1, 2, 3].map(() => paced.sendUntilRise(50))
    const steps = [Math.sqrt(9.5 * 20), Math.sqrt(Math.sqrt(9.5 * 20) * 20)]
    expect(rises.slice(0, 2)).toEqual(steps.map((rate) => [20, close(rate)]))
  })

  test('then rises by 5 % after 100 calls and ten seconds, and is doubled after three rises above it', () => {
    const paced = makeRefused()
    let calls = 0
    const rises: [number, number][] = []
    for (let before = paced.rate ?? 0; rises.length < 8; calls += 1) {
      paced.send(1, 100)
      if (paced.rate === before) continue
      rises.push([calls + 1, Math.round(((paced.rate ?? 0) / before) * 100)])
      before = paced.rate ?? 0
      calls = -1
    }
    expect(rises.map(([, percent]) => percent)).toEqual([145, 120, 110, 105, 105, 105, 105, 200])
    expect(rises.map(([count]) => count)).toEqual([20, 20, 20, 100, 100, 100, 100, 20])
  })

  test('rises sooner while there are more calls than usual', () => {
    const paced = makeRefused()
    for (let rises = 0; rises < 3; rises += 1) paced.sendUntilRise(100)
    expect(paced.sendUntilRise(100, { others: 100 })[0]).toBe(5)
    // They are soon the usual number.
    paced.send(500, 1, { others: 100 })
    paced.refuse()
    for (let rises = 0; rises < 3; rises += 1) paced.sendUntilRise(100, { others: 100 })
    expect(paced.sendUntilRise(100, { others: 100 })[0]).toBe(100)
    expect(paced.sendUntilRise(100, { others: 200 })[0]).toBe(5)
  })

  test('does not rise sooner for a backlog that was there before the rate', () => {
    const paced = makeGate()
    paced.refuse()
    paced.send(10, 100, { others: 100 })
    paced.refuse()
    expect(paced.sendUntilRise(100, { others: 100 })[0]).toBe(20)
  })
})
