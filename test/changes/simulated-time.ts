import { afterEach, beforeEach, vi } from 'vitest'
import { digestAtOnce } from '../journal/digest-at-once.ts'

/** The limit of a call of a storage. Its timer must not fire. */
const storageLimit = 30_000

/**
 * Lets the tests of a file run in simulated time: what waits goes on at once, and the clock is set forward. Much faster
 * than fake timers, because the timers of a feed come one after the other.
 */
export function simulateTime(): { now: number } {
  const clock = { now: 0 }
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now }
  beforeEach(() => {
    digestAtOnce()
    clock.now = Date.parse('2026-03-01')
    Date.now = () => clock.now
    const start = clock.now
    performance.now = () => clock.now - start
    const simulated = (run: () => void, duration = 0) => {
      if (duration === storageLimit) return undefined
      return setImmediate(() => {
        clock.now += duration
        run()
      })
    }
    globalThis.setTimeout = simulated as unknown as typeof setTimeout
    globalThis.clearTimeout = clearImmediate as unknown as typeof clearTimeout
  })
  afterEach(() => {
    vi.restoreAllMocks()
    Date.now = real.now
    Reflect.deleteProperty(performance, 'now')
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout })
  })
  return clock
}
