import { afterEach, beforeEach, onTestFinished, vi } from 'vitest'

/** Fakes timers and clocks in each test of a file or a `describe`, but not `setImmediate`, which `settled` waits for. */
export function fakeClock(now = Date.now()): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now }))
  afterEach(() => void vi.useRealTimers())
}

/** Sets the share of the backoff that a retry waits for, which is random, until the end of the test. */
export function jitter(share: number): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(share)
  onTestFinished(() => random.mockRestore())
}
