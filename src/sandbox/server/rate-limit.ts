import { bearerToken } from '../incoming-request.ts'
import type { RateLimit } from '../sandbox-settings.ts'
import type { Service } from '../service.ts'
import { TokenBucket } from './token-bucket.ts'

/** Counts a request against its limit. Returns 0, or the milliseconds until it would be allowed if it is refused. */
export function createRateLimit({ settings, workspaces, grants }: Service): (headers: Headers) => number {
  const { rateLimit, now } = settings
  const bucketFor = (limit: RateLimit | undefined) => limit && new TokenBucket(limit, now())
  if (typeof rateLimit !== 'function') {
    const bucket = bucketFor(rateLimit)
    return () => bucket?.take(now()) ?? 0
  }
  const buckets = new Map([...workspaces.keys()].map((id) => [id, bucketFor(rateLimit(id))]))
  return (headers) => {
    const organizationId = grants.token(bearerToken(headers) ?? '')?.organizationId
    return buckets.get(organizationId ?? '')?.take(now()) ?? 0
  }
}
