export interface RateLimitOptions {
  /** Maximum number of requests of a client per window. */
  limit: number
  /** Length of a window, in milliseconds. */
  window: number
}

/**
 * Returns a function that counts a request of a client. It returns the seconds to wait if the client is over its limit.
 */
export function createRateLimit({ limit, window }: RateLimitOptions): (client: string) => number | undefined {
  const counts = new Map<string, number>()
  let endsAt = 0
  return (client) => {
    const now = Date.now()
    if (now >= endsAt) {
      counts.clear()
      endsAt = now + window
    }
    const count = (counts.get(client) ?? 0) + 1
    counts.set(client, count)
    return count > limit ? Math.ceil((endsAt - now) / 1000) : undefined
  }
}
