import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../app-env.ts'
import { HttpError } from '../http.ts'
import type { RequestRate } from '../sandbox-options.ts'
import { checkValue } from '../schema.ts'
import type { Service } from '../service.ts'
import { rateSchema } from '../settings.ts'

/** Responds with 429 to requests above the limit. CORS preflights are not counted. */
export function limitRate({ settings, workspaces }: Service): MiddlewareHandler<AppEnv> {
  const { rateLimit, now } = settings
  const limitOf = typeof rateLimit === 'function' ? rateLimit : undefined
  const shared = typeof rateLimit === 'string' ? new TokenBucket(rateLimit, now()) : undefined
  const buckets = new Map(limitOf && [...workspaces.keys()].map((id) => [id, bucketFor(id, limitOf(id), now())]))
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

function bucketFor(organizationId: string, rate: RequestRate | undefined, now: number): TokenBucket | undefined {
  if (rate === undefined) return undefined
  checkValue(`The \`rateLimit\` of ${organizationId}`, rate, rateSchema)
  return new TokenBucket(rate, now)
}

const intervals: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 }

/** A token bucket. It starts full and refills continuously. */
class TokenBucket {
  readonly #requests: number
  readonly #interval: number
  #available: number
  #updatedAt: number

  /** `now` is in milliseconds since the epoch. */
  constructor(rate: RequestRate, now: number) {
    const [requests, unit = ''] = rate.split('/')
    this.#requests = Number(requests)
    this.#interval = intervals[unit] ?? 0
    this.#available = this.#requests
    this.#updatedAt = now
  }

  /** Takes one token. Returns 0, or the milliseconds until a token is available if there is none. */
  take(now: number): number {
    const refill = (Math.max(0, now - this.#updatedAt) * this.#requests) / this.#interval
    this.#available = Math.min(this.#requests, this.#available + refill)
    this.#updatedAt = now
    // Rounding must not refuse a request that comes exactly when a token is available.
    if (this.#available < 1 - 1e-6) return ((1 - this.#available) * this.#interval) / this.#requests
    this.#available = Math.max(0, this.#available - 1)
    return 0
  }
}
