import { describe, expect, test } from 'vitest'
import { RateEstimate } from '../../src/http/rate-estimate.ts'

/** Counts calls with an estimate. Rates are per second, and times are in milliseconds. */
function makeEstimate(rate?: number) {
  let now = 5_000
  const estimate = new RateEstimate()
  if (rate !== undefined) estimate.setRate(rate / 1_000, now)
  const shared = {
    estimate,
    get rate() {
      return estimate.rate === undefined ? undefined : estimate.rate * 1_000
    },
    setRate: (perSecond: number | undefined) =>
      estimate.setRate(perSecond === undefined ? undefined : perSecond / 1_000, now),
    /** Sends calls at an interval. Unless told otherwise, each was held back for the whole interval. */
    send: (count: number, interval: number, { heldFor = interval, isPressed = false } = {}) => {
      for (let sent = 0; sent < count; sent += 1) {
        now += interval
        estimate.countCall(now, now - heldFor, isPressed)
      }
    },
    /** Returns the pause that a 429 calls for. */
    refuse: (inFlight = 0) => estimate.countRefusal(now, inFlight),
    /** Sends as many held calls as it takes until the rate changes, and returns their number and the new rate. */
    sendUntilRise: (interval = 1, options = {}) => {
      const before = estimate.rate
      let count = 0
      for (; estimate.rate === before; count += 1) shared.send(1, interval, options)
      return [count, shared.rate] as const
    },
  }
  return shared
}

/** An estimate after the first 429, without a rate. */
function makeLimited() {
  const limited = makeEstimate()
  limited.refuse()
  return limited
}

const close = (rate: number) => expect.closeTo(rate, 9)

describe('the first 429', () => {
  test('starts the count and sets no rate', () => {
    const { estimate, send, refuse } = makeEstimate()
    expect(estimate).toMatchObject({ rate: undefined, isLimited: false, sent: 0 })
    send(100, 10)
    expect(estimate).toMatchObject({ rate: undefined, isLimited: false, sent: 100 })
    expect(refuse()).toBe(0)
    expect(estimate).toMatchObject({ rate: undefined, isLimited: true, sent: 0 })
  })
})

describe('a 429 after fewer than ten served calls', () => {
  test('is no measurement, but the calls and their time count for the next', () => {
    const limited = makeLimited()
    limited.send(9, 100)
    limited.refuse()
    expect(limited.rate).toBeUndefined()
    expect(limited.estimate.sent).toBe(9)
    limited.send(1, 100)
    limited.refuse()
    expect(limited.rate).toBeCloseTo(9.5, 9)
    expect(limited.estimate.sent).toBe(0)
  })

  test('takes back the calls in flight, which are refused as well', () => {
    const limited = makeLimited()
    limited.send(7, 100)
    limited.refuse(2)
    expect(limited.estimate.sent).toBe(5)
    limited.refuse(9)
    expect(limited.estimate.sent).toBe(0)
  })

  test('lowers the rate by 5 % if a call was served since the last one', () => {
    const limited = makeEstimate(10)
    limited.send(3, 100)
    limited.refuse(1)
    expect(limited.rate).toBeCloseTo(9.5, 9)
    limited.send(1, 100)
    limited.refuse()
    expect(limited.rate).toBeCloseTo(9.025, 9)
  })

  test('does not lower the rate if no call was served since the last one', () => {
    const limited = makeEstimate(10)
    limited.send(1, 100)
    limited.refuse(1)
    expect(limited.rate).toBeCloseTo(10, 9)
    limited.send(3, 100)
    limited.refuse()
    limited.send(1, 100)
    limited.refuse(1)
    expect(limited.rate).toBeCloseTo(9.5, 9)
  })

  test('makes the next rise one of 5 %', () => {
    const limited = makeEstimate(1)
    for (let rises = 0; rises < 4; rises += 1) limited.sendUntilRise()
    limited.send(1, 1)
    limited.setRate(10)
    limited.send(1, 100)
    limited.refuse()
    expect(limited.rate).toBeCloseTo(9.5, 9)
    expect(limited.sendUntilRise()).toEqual([149, close(9.975)])
  })
})

describe('a 429 in a row without a served call', () => {
  test('calls for a pause from the third one on: 500 ms, and twice as long each time, up to 8 s', () => {
    const { send, refuse } = makeEstimate()
    const pauses = Array.from({ length: 8 }, () => {
      send(1, 0)
      return refuse(1)
    })
    expect(pauses).toEqual([0, 0, 500, 1_000, 2_000, 4_000, 8_000, 8_000])
  })

  test.each([2, 60])('is the first in the row after %i calls of which one is refused', (calls) => {
    const { send, refuse } = makeEstimate(10)
    const pauses = Array.from({ length: 3 }, () => refuse())
    send(calls, 100)
    for (let count = 0; count < 3; count += 1) {
      pauses.push(refuse(1))
      send(1, 100)
    }
    expect(pauses).toEqual([0, 0, 500, 0, 0, 500])
  })

  test('is recognized after calls that were served before the last 429', () => {
    const limited = makeEstimate(10)
    limited.send(5, 100)
    const pauses = [limited.refuse()]
    for (let count = 0; count < 3; count += 1) {
      limited.send(1, 100)
      pauses.push(limited.refuse(1))
    }
    expect(pauses).toEqual([0, 0, 500, 1_000])
    expect(limited.rate).toBeCloseTo(9.5, 9)
  })
})

describe('a measured rate', () => {
  test('is 95 % of the calls served in the time since the last 429, the waits included', () => {
    const limited = makeLimited()
    limited.send(1, 30_000)
    limited.send(20, 100)
    limited.refuse(1)
    expect(limited.rate).toBeCloseTo((0.95 * 20) / 32, 9)
  })

  test.each([
    [60_000, 0.95],
    [1_000, 0.95],
    [500, 1.9],
  ])('counts a pause of the caller of %i ms for at most a second: it is %f', (pause, rate) => {
    const limited = makeLimited()
    limited.send(10, pause, { heldFor: 0 })
    limited.refuse()
    expect(limited.rate).toBeCloseTo(rate, 9)
  })

  test('counts the wait after a pause of the caller in full', () => {
    const limited = makeLimited()
    limited.send(10, 5_000, { heldFor: 2_000 })
    limited.refuse()
    expect(limited.rate).toBeCloseTo(0.95 / 3, 9)
  })

  test('counts the time of several calls that wait at once a single time', () => {
    const limited = makeLimited()
    for (let count = 1; count <= 10; count += 1) limited.send(1, 1_000, { heldFor: count * 1_000 })
    limited.refuse()
    expect(limited.rate).toBeCloseTo(0.95, 9)
  })

  test('is finite after calls that were all served at once', () => {
    const limited = makeLimited()
    limited.send(10, 0)
    limited.refuse()
    expect(limited.rate).toBeCloseTo(9_500, 6)
  })

  test.each([
    { served: 12, rate: 11.4 },
    { served: 10, rate: 9.5 },
    { served: 9, rate: 9.5 },
    { served: 8, rate: 9.12 },
    { served: 2, rate: 2.28 },
  ])('follows 10 a second with $rate if $served a second were served', ({ served, rate }) => {
    const limited = makeEstimate(10)
    limited.send(40, 1_000 / served)
    limited.refuse()
    expect(limited.rate).toBeCloseTo(rate, 9)
  })

  test('is at least one a minute', () => {
    const measured = makeLimited()
    measured.send(10, 120_000)
    measured.refuse()
    expect(measured.rate).toBeCloseTo(1 / 60, 9)
    const lowered = makeEstimate(1 / 3_600)
    expect(lowered.rate).toBeCloseTo(1 / 60, 9)
    lowered.send(1, 120_000)
    lowered.refuse()
    expect(lowered.rate).toBeCloseTo(1 / 60, 9)
  })
})

describe('a 429 among calls that were hardly held back', () => {
  test.each([
    { calls: 49, heldFor: 0, rate: 9.5 },
    { calls: 50, heldFor: 0, rate: undefined },
    { calls: 50, heldFor: 29, rate: undefined },
    { calls: 50, heldFor: 30, rate: 9.5 },
  ])(
    'after $calls calls that were held back for $heldFor % of the time: the rate is $rate',
    ({ calls, heldFor, rate }) => {
      const limited = makeLimited()
      limited.send(calls, 100, { heldFor })
      limited.refuse()
      if (rate === undefined) expect(limited.rate).toBeUndefined()
      else expect(limited.rate).toBeCloseTo(rate, 9)
      expect(limited.estimate).toMatchObject({ isLimited: true, sent: 0 })
    },
  )
})

describe('429s that contradict a drop, because they come before the rate has risen', () => {
  /** Sends calls and gets a 429 after so many of them, the given number of times. */
  const refuseEach = (limited: ReturnType<typeof makeEstimate>, calls: number, times: number) => {
    for (let count = 0; count < times; count += 1) {
      limited.send(calls, 100)
      limited.refuse()
    }
  }

  test('are ignored for a minute after the fifth one, if each came within 30 calls', () => {
    const limited = makeEstimate(10)
    refuseEach(limited, 29, 4)
    expect(limited.rate).toBeCloseTo(9.5, 9)
    refuseEach(limited, 29, 1)
    expect(limited.rate).toBeUndefined()
    refuseEach(limited, 100, 5)
    limited.send(99, 100)
    limited.refuse()
    expect(limited.rate).toBeUndefined()
    expect(limited.estimate).toMatchObject({ isLimited: true, sent: 0 })
    refuseEach(limited, 1, 1)
    refuseEach(limited, 9, 1)
    expect(limited.rate).toBeCloseTo(9.5, 9)
  })

  test.each([0, 2, 4])('raise the rate by a quarter after the fifth one, if number %i came after 30 calls', (place) => {
    const limited = makeEstimate(10)
    for (let count = 0; count < 4; count += 1) refuseEach(limited, count === place ? 30 : 29, 1)
    expect(limited.rate).toBeCloseTo(9.5, 9)
    refuseEach(limited, place === 4 ? 30 : 29, 1)
    expect(limited.rate).toBeCloseTo(12.5, 9)
    expect(limited.estimate.sent).toBe(0)
  })

  test('raise it from the rate before the first one', () => {
    const limited = makeEstimate(10)
    for (let count = 0; count < 4; count += 1) {
      limited.send(40, 105)
      limited.refuse()
    }
    expect(limited.rate).toBeLessThan(9.1)
    refuseEach(limited, 40, 1)
    expect(limited.rate).toBeCloseTo(12.5, 9)
  })

  test('raise it from 120 % of what was measured, if that is less', () => {
    const limited = makeEstimate(10)
    limited.send(40, 200)
    limited.refuse()
    refuseEach(limited, 40, 4)
    expect(limited.rate).toBeCloseTo(1.25 * 6, 9)
  })

  test('make the next rise one of 5 %', () => {
    const limited = makeEstimate(8)
    refuseEach(limited, 40, 5)
    expect(limited.sendUntilRise()).toEqual([150, close(10.5)])
  })

  test('are counted again after that', () => {
    const limited = makeEstimate(10)
    refuseEach(limited, 10, 5)
    limited.send(1, 60_000)
    limited.refuse()
    limited.setRate(10)
    refuseEach(limited, 10, 4)
    expect(limited.rate).toBeCloseTo(9.5, 9)
    refuseEach(limited, 30, 1)
    expect(limited.rate).toBeCloseTo(12.5, 9)
    refuseEach(limited, 10, 4)
    expect(limited.rate).toBeDefined()
    refuseEach(limited, 10, 1)
    expect(limited.rate).toBeUndefined()
  })

  test('count one less for each that comes after a rise', () => {
    const limited = makeEstimate(10)
    refuseEach(limited, 40, 4)
    for (let count = 0; count < 2; count += 1) {
      limited.sendUntilRise(100)
      refuseEach(limited, 40, 1)
    }
    refuseEach(limited, 40, 2)
    expect(limited.rate).toBeLessThan(10)
    refuseEach(limited, 40, 1)
    expect(limited.rate).toBeCloseTo(12.5, 9)
  })

  test('are not counted for a rate that was not known before', () => {
    const limited = makeLimited()
    refuseEach(limited, 40, 1)
    // Few calls are no measurement, but make the next 429 contradict a drop.
    limited.send(5, 100)
    limited.refuse()
    refuseEach(limited, 40, 4)
    expect(limited.rate).toBeLessThan(10)
    refuseEach(limited, 40, 1)
    expect(limited.rate).toBeCloseTo(1.25 * 0.95 * 9.5, 9)
  })

  test('are counted from zero after many that come after a rise, and after the rate was set', () => {
    const limited = makeEstimate(10)
    for (let count = 0; count < 3; count += 1) {
      limited.sendUntilRise(100)
      refuseEach(limited, 40, 1)
    }
    refuseEach(limited, 10, 4)
    expect(limited.rate).toBeDefined()
    limited.setRate(10)
    refuseEach(limited, 10, 4)
    expect(limited.rate).toBeDefined()
    refuseEach(limited, 10, 1)
    expect(limited.rate).toBeUndefined()
  })
})

describe('a rate', () => {
  test('rises by 5 %, 5 %, 10 %, 20 % and so on up to 100 %', () => {
    const limited = makeEstimate(1)
    const factors = Array.from({ length: 8 }, () => {
      const before = limited.rate ?? 0
      const [calls, rate = 0] = limited.sendUntilRise()
      expect(calls).toBe(150)
      return rate / before
    })
    expect(factors).toEqual([1.05, 1.05, 1.1, 1.2, 1.4, 1.8, 2, 2].map(close))
  })

  test('first rises by 10 % if it is the first one that was measured', () => {
    const limited = makeLimited()
    limited.send(10, 1_000)
    limited.refuse()
    expect(limited.rate).toBeCloseTo(0.95, 9)
    expect(limited.sendUntilRise()).toEqual([150, close(1.045)])
    expect(limited.sendUntilRise()).toEqual([150, close(1.254)])
  })

  test.each([
    ['after 150 held calls', 15, 150],
    ['after as many as are sent in 10 s if that is more', 20, 200],
  ])('rises %s', (_, rate, calls) => {
    const limited = makeEstimate(rate)
    limited.send(1_000, 1, { heldFor: 0 })
    expect(limited.sendUntilRise()).toEqual([calls, close(rate * 1.05)])
  })

  test.each([
    ['15 minutes', 90_000, 10],
    ['a little more than 15 minutes', 89_999, 11],
    ['ten held calls that take longer', 200_000, 10],
  ])('rises after %s at the latest', (_, interval, calls) => {
    expect(makeEstimate(1).sendUntilRise(interval)).toEqual([calls, close(1.05)])
  })

  test('measures the 15 minutes from the last rise', () => {
    const limited = makeEstimate(1)
    limited.sendUntilRise(60_000)
    expect(limited.sendUntilRise(60_000)).toEqual([15, close(1.1025)])
  })

  test.each([
    ['25 held calls', 1, 1, 25],
    ['150 s', 1, 15_000, 10],
    ['as many as are sent in 1.7 s', 30, 1, 50],
  ])('rises after %s while calls wait for more than half of their time', (_, rate, interval, calls) => {
    const limited = makeEstimate(rate)
    expect(limited.sendUntilRise(interval, { isPressed: true })).toEqual([calls, close(rate * 1.05)])
  })

  test('rises by up to 100 % to 5 % less than at the last 429, and then as much as after other calm periods', () => {
    const limited = makeEstimate(10)
    limited.send(10, 500)
    limited.refuse()
    expect(limited.rate).toBeCloseTo(2.28, 9)
    const rises = Array.from({ length: 4 }, () => limited.sendUntilRise()[1])
    expect(rises).toEqual([4.56, 9.12, 9.5, 11.4].map(close))
  })

  test('that was set rises by 5 % first, whatever was known before', () => {
    const limited = makeEstimate(10)
    limited.send(10, 500)
    limited.refuse()
    for (let rises = 0; rises < 3; rises += 1) limited.sendUntilRise()
    limited.setRate(4)
    expect(limited.sendUntilRise()).toEqual([150, close(4.2)])
  })

  test('is not limited any more once it has risen to 1,000 a second', () => {
    const limited = makeEstimate(952)
    expect(limited.sendUntilRise()).toEqual([9_520, close(999.6)])
    limited.setRate(1_000 / 1.05)
    expect(limited.sendUntilRise()).toEqual([9_524, undefined])
    expect(limited.estimate.isLimited).toBe(true)
  })

  test('is measured again after it was not limited any more', () => {
    const limited = makeEstimate(999)
    limited.sendUntilRise()
    limited.send(10, 100)
    limited.refuse()
    expect(limited.rate).toBeCloseTo(9.5, 9)
    expect(limited.sendUntilRise()).toEqual([150, close(10.45)])
  })

  test('can be removed', () => {
    const limited = makeEstimate(10)
    limited.send(5, 100)
    limited.setRate(undefined)
    expect(limited.estimate).toMatchObject({ rate: undefined, isLimited: false, sent: 0 })
  })
})
