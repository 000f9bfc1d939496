import type { SupportWorkspace } from '../client/index.ts'
import type { ClientOptions, GuardedAttempt, Middleware } from '../core/index.ts'
import { RateLimitError } from '../errors/index.ts'

/**
 * The client of a last look: it uses the token of the attempt that will send the write, reads past caches and without
 * the middleware of the caller, and sends each request once, in what is left of the call's time.
 */
export class LastLook {
  readonly client: SupportWorkspace
  /** The error of a request that the service has refused with a 429. */
  refusal: RateLimitError | undefined

  constructor(workspace: SupportWorkspace, attempt: GuardedAttempt, clock: Middleware) {
    const { accessToken, signal, timeLeft } = attempt
    const watching: Middleware = async (call, next) => {
      try {
        return await next({ ...call, signal: call.signal ?? signal })
      } catch (thrown) {
        if (thrown instanceof RateLimitError) this.refusal = thrown
        throw thrown
      }
    }
    this.client = workspace.replaceOptions((options) => ({
      accessToken:
        typeof options.accessToken === 'string'
          ? accessToken
          : { ...onInvalidTokenOf(options.accessToken), getAccessToken: () => accessToken },
      middleware: [clock, watching],
      fresh: true,
      maxRetries: 0,
      totalTimeout: Math.max(1, timeLeft),
      rateLimiter: reporting(options.rateLimiter),
    }))
  }
}

function onInvalidTokenOf(source: unknown) {
  const { onInvalidToken } = Object(source) as { onInvalidToken?: (accessToken: string) => void | Promise<void> }
  return onInvalidToken && { onInvalidToken: (token: string) => onInvalidToken.call(source, token) }
}

type RateLimiter = NonNullable<ClientOptions['rateLimiter']>

/**
 * Returns a limiter that reports requests to another one without waiting for it: the write already holds a permit, and
 * with `maxConcurrency: 1` its look would wait for that permit.
 */
function reporting(limiter: RateLimiter): RateLimiter {
  return {
    acquire(key, signal, call) {
      const granted = Promise.resolve(limiter.acquire(key, signal, { ...call, canWait: true, onWait() {} }))
      granted.catch(() => {})
      return (...outcome) => void granted.then((end) => end?.(...outcome)).catch(() => {})
    },
  }
}
