import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../app-env.ts'
import { HttpError } from '../http-error.ts'
import type { Service } from '../service.ts'
import type { RateLimit } from '../settings.ts'

/** Responds with 429 to requests above the limit. CORS preflights are not counted. */
export function limitRate({ settings, workspaces }: Service): MiddlewareHandler<AppEnv> {
  const { rateLimit, now } = settings
  const bucketFor = (limit: RateLimit | undefined) => limit && new TokenBucket(limit, now())
  const shared = typeof rateLimit === 'function' ? undefined : bucketFor(rateLimit)
  const buckets = new Map(
    typeof rateLimit === 'function' ? [...workspaces.keys()].map((id) => [id, bucketFor(rateLimit(id))]) : [],
  )
  return (c, next) => {
    const bucket = shared ?? buckets.get(c.get('grant')?.organizationId ?? '')
    const wait = c.req.method === 'OPTIONS' ? 0 : (bucket?.take(now()) ?? 0)
    if (wait === 0) return next()
    c.get('entry').request.fault = 'rate limit'
    const seconds = String(Math.ceil(wait / 1_000))
    throw new HttpError(429, 'rate_limited', `The rate limit is exceeded. Retry after ${seconds} s.`, {
      'retry-after': seconds,
    })
  }
}

/** A token bucket. It starts full and refills continuously. */
class TokenBucket {
  readonly #limit: RateLimit
  #available: number
  #updatedAt: number

  /** `now` is in milliseconds since the epoch. */
  constructor(limit: RateLimit, now: number) {
    this.#limit = limit
    this.#available = limit.requests
    this.#updatedAt = now
  }

  /** Takes one token. Returns 0, or the milliseconds until a token is available if there is none. */
  take(now: number): number {
    const { requests, interval } = this.#limit
    const refill = (Math.max(0, now - this.#updatedAt) * requests) / interval
    this.#available = Math.min(requests, this.#available + refill)
    this.#updatedAt = now
    // Rounding must not refuse a request that comes exactly when a token is available.
    if (this.#available < 1 - 1e-6) return ((1 - this.#available) * interval) / requests
    this.#available = Math.max(0, this.#available - 1)
    return 0
  }
}
