import type { RateLimiter } from 'support-workspace-sdk'

/** A request of a connection. Times are in milliseconds. */
export interface Measurement {
  readonly key: string
  /** How long the limiter held it back. */
  readonly held: number
  /** Time from the call to the response. For a retry that includes the attempts before it. */
  readonly total: number
}

/** Passes everything on to a limiter, and measures each request. */
export function measured(limiter: RateLimiter, onRequest: (measurement: Measurement) => void): RateLimiter {
  return {
    async acquire(key, signal, call) {
      const askedAt = performance.now()
      const release = await limiter.acquire(key, signal, call)
      const held = performance.now() - askedAt
      return () => {
        release?.()
        onRequest({ key, held, total: performance.now() - call.startedAt })
      }
    },
    penalize: (...parameters) => limiter.penalize(...parameters),
  }
}
