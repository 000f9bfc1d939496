// The names that other folders import. `src/index.ts` has the public names.

export { AdaptiveRateLimiter, type AdaptiveRateLimiterOptions } from './adaptive-rate-limiter.ts'
export type { EndTurn, RateLimitedCall, RateLimiter, RefusedRequest } from './interface.ts'
