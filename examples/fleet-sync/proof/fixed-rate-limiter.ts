import { setTimeout } from 'node:timers/promises'
import type { RateLimiter } from 'support-workspace-sdk'

/**
 * Sends the requests of each connection at one constant rate, in each process on its own: what an app does that does not
 * know the limits and guesses. A baseline for the proof.
 */
export function createFixedRateLimiter(requestsPerSecond: number): RateLimiter {
  const nextAt = new Map<string, number>()
  return {
    async acquire(key, signal, call) {
      const now = performance.now()
      const at = Math.max(now, nextAt.get(key) ?? 0)
      if (at > now) call.onWait(at - now)
      nextAt.set(key, at + 1_000 / requestsPerSecond)
      if (at > now) await setTimeout(at - now, undefined, { signal: signal as AbortSignal })
    },
    penalize(key, duration) {
      nextAt.set(key, Math.max(nextAt.get(key) ?? 0, performance.now() + duration))
    },
  }
}
