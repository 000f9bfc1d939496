import { afterEach, describe, expect, test, vi } from 'vitest'
import { PacedGate } from '../../src/core/paced-gate.ts'
import type { HeldCall } from '../../src/core/rate-queue.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Does something to a gate at a time. Returns the time afterwards. */
type Step = (gate: PacedGate, now: number) => number

const unlimited = Number.POSITIVE_INFINITY

/** Serves calls at an interval in milliseconds. Each is held back for a share of it, by default all of it. */
function calls(count: number, every: number, { held = 1, others = 0 } = {}): Step {
  return (gate, start) => {
    for (let call = 1; call <= count; call += 1) {
      const now = start + call * every
      gate.send(heldCall(gate, now - held * every), now, others)()
    }
    return start + count * every
  }
}

function heldCall(gate: PacedGate, arrivedAt: number): HeldCall {
  const call = { operation: 'GET /things', canWait: true, startedAt: arrivedAt, timeLeft: 60_000, onWait() {} }
  return { ...call, gate, arrivedAt, announcements: 0, expectedAt: arrivedAt, wake() {} }
}

function refusal(gate: PacedGate, now: number): number {
  gate.refuse(now, now)
  return now
}

function gateAfter(rate: number, ...steps: Step[]) {
  const start = 5_000
  vi.spyOn(performance, 'now').mockReturnValue(start)
  const gate = new PacedGate()
  if (rate !== unlimited) gate.setRate(rate / 1_000, start)
  return { gate, now: steps.reduce((now, step) => step(gate, now), start) }
}

/** Returns the rate of a gate after some steps. Rates are per second. */
function rateAfter(rate: number, ...steps: Step[]): number {
  return Math.round(1_000_000 / gateAfter(rate, ...steps).gate.interval) / 1_000
}

describe('a 429', () => {
  test('sets the first rate to 95 % of what was served, if that was at least ten calls', () => {
    expect(rateAfter(unlimited, calls(9, 100), refusal)).toBe(unlimited)
    expect(rateAfter(unlimited, calls(10, 100), refusal)).toBe(9.5)
  })

  test('changes no rate if calls were held back for at most 60 % of the time, but starts a new measurement', () => {
    expect(rateAfter(10, calls(10, 100, { held: 0.6 }), refusal)).toBe(10)
    const accident = [calls(10, 100, { held: 0 }), refusal]
    expect(rateAfter(unlimited, ...accident)).toBe(unlimited)
    expect(rateAfter(unlimited, ...accident, calls(20, 200), refusal)).toBe(4.75)
  })

  test('lowers the rate by 5 % if calls were held back for longer, once until a call is served', () => {
    expect(rateAfter(10, calls(10, 100, { held: 0.61 }), refusal, refusal)).toBe(9.5)
  })

  test('counts by the last minute or so', () => {
    expect(rateAfter(10, calls(10, 60_000, { held: 0 }), calls(9, 60_000), refusal)).toBe(9.5)
    expect(rateAfter(10, calls(10, 60_000), calls(9, 60_000, { held: 0.1 }), refusal)).toBe(10)
  })

  test('lowers the rate to 95 % of the last one if it has just risen, even if no call was held back since', () => {
    expect(rateAfter(10, calls(20, 50), calls(1, 60_000, { held: 0 }))).toBe(20)
    expect(rateAfter(10, calls(20, 50), calls(1, 60_000, { held: 0 }), refusal)).toBe(9.5)
  })

  test('does not lower the rate below one call a minute', () => {
    expect(gateAfter(1 / 60, calls(1, 60_000), refusal).gate.interval).toBeCloseTo(60_000)
  })
})

describe('a rate', () => {
  test('doubles with 20 calls in at least a second', () => {
    expect(rateAfter(10, calls(19, 100))).toBe(10)
    expect(rateAfter(10, calls(20, 49))).toBe(10)
    expect(rateAfter(10, calls(20, 50))).toBe(20)
    expect(rateAfter(10, calls(40, 50))).toBe(40)
  })

  test('does not rise without calls that are held back', () => {
    expect(rateAfter(10, calls(200, 100, { held: 0 }))).toBe(10)
  })

  test('rises by 5 % near the refused rate with 100 calls in at least ten seconds, and doubles 10 % above it', () => {
    const refused = [calls(1, 100), refusal]
    expect(rateAfter(10, ...refused, calls(99, 200))).toBe(9.5)
    expect(rateAfter(10, ...refused, calls(100, 99))).toBe(9.5)
    expect(rateAfter(10, ...refused, calls(100, 100))).toBe(9.975)
    expect(rateAfter(10, ...refused, calls(400, 100))).toBe(11.547)
    expect(rateAfter(10, ...refused, calls(420, 100))).toBe(23.095)
  })

  test('rises sooner while ten more calls than usual wait or are in flight', () => {
    const usual = [calls(10, 100, { others: 20 }), refusal, calls(19, 10, { others: 20 })]
    expect(rateAfter(unlimited, ...usual, calls(1, 50, { others: 30 }))).toBe(9.5)
    expect(rateAfter(unlimited, ...usual, calls(1, 50, { others: 31 }))).toBe(19)
  })

  test('is forgotten when no call was held back for more than ten minutes', () => {
    const { gate, now } = gateAfter(10, calls(1, 100))
    expect([gate.isOver(now + 600_000), gate.isOver(now + 600_001)]).toEqual([false, true])
  })
})

test('a gate without a rate is forgotten at once, even if another limit held back its calls', () => {
  const { gate, now } = gateAfter(unlimited, calls(1, 100))
  expect(gate.isOver(now)).toBe(true)
})
